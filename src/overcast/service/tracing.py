"""Spans around requests, where OpenTelemetry is installed; nothing happens where it is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import overcast


class Tracing:
    """Makes a span for each request, as a part of the trace that the caller names in `traceparent`.

    The program that runs the service sets up where spans go, such as `opentelemetry-instrument overcast serve`.
    """

    def __init__(self) -> None:
        self._tracer: Any = None
        try:
            from opentelemetry import propagate, trace
        except ImportError:
            return
        self._extract, self._kind = propagate.extract, trace.SpanKind.SERVER
        self._error = trace.StatusCode.ERROR
        self._provider, self._nobody = trace.get_tracer_provider, trace.ProxyTracerProvider
        self._tracer = trace.get_tracer("overcast.service", overcast.__version__)

    def span(self, route: str, headers: Mapping[bytes, bytes]) -> AbstractContextManager[dict[str, Any]]:
        """Return a context manager for a request; what is put into its dictionary become attributes of the span."""
        if self._tracer is None or isinstance(self._provider(), self._nobody):  # nobody set up where spans go
            return nullcontext({})
        return self._recorded(route, headers)

    @contextmanager
    def _recorded(self, route: str, headers: Mapping[bytes, bytes]) -> Iterator[dict[str, Any]]:
        method, _, path = route.partition(" ")
        told: dict[str, Any] = {"http.request.method": method, "http.route": path}
        carrier = {
            name: headers[name.encode()].decode("latin-1")
            for name in ("traceparent", "tracestate")
            if name.encode() in headers
        }
        with self._tracer.start_as_current_span(route, self._extract(carrier), self._kind) as span:
            yield told
            span.set_attributes({name: value for name, value in told.items() if value is not None})
            if told.get("http.response.status_code", 0) >= 500:
                span.set_status(self._error)
