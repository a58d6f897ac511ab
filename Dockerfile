# The decision service, built from the package in this folder:
#   docker build --tag overcast . && docker run --publish 127.0.0.1:8765:8765 --volume overcast:/var/lib/overcast overcast
# The first key is in /var/lib/overcast/overcast.db.key, or overcast.key with PostgreSQL.

FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN pip wheel --no-cache-dir --constraint constraints.txt --wheel-dir /wheels '.[parquet,postgres]'

FROM python:3.11-slim
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/overcast overcast
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index /wheels/*.whl
USER 10001
WORKDIR /var/lib/overcast
VOLUME /var/lib/overcast
ENV OVERCAST_HOST=0.0.0.0 OPENBLAS_NUM_THREADS=1
EXPOSE 8765
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8765/readyz', timeout=2)"]
CMD ["overcast", "serve"]
