"""Which framework and server answer most requests: the same route, validated and constant, one process each.

    pip install fastapi litestar granian uvicorn httptools starlette msgspec
    python benchmarks/service_frameworks.py --keep benchmarks/service_frameworks.json

The body is a decision under a Gaussian of 15 dimensions. Every candidate decodes it into a typed object, and encodes a
typed answer. FastAPI and Litestar declare the route as their manuals do. Others may work on the machine, so the
candidates take turns, and the best of several rounds counts.

The service takes Starlette with msgspec on uvicorn with httptools. Of the frameworks it answers most, and one table of
operations then serves for routes, scopes, metrics and OpenAPI. uvloop and granian were not ahead in every run, and an
answer waits for a sync of the disk anyway; uvicorn with asyncio is the smaller dependency.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from service_load import Load, post, run

FASTAPI = """
from fastapi import FastAPI
from pydantic import BaseModel
from typing import Any
class Asked(BaseModel):
    belief: dict[str, Any]
    id: str | None = None
class Answer(BaseModel):
    id: str
    action: str
    mean: float
app = FastAPI()
@app.post("/v1/bandits/{name}/decisions", status_code=201)
async def decide(name: str, asked: Asked) -> Answer:
    return Answer(id="1", action="early", mean=0.5)
"""

LITESTAR = """
import msgspec
from litestar import Litestar, post
from typing import Any
class Asked(msgspec.Struct):
    belief: dict[str, Any]
    id: str | None = None
class Answer(msgspec.Struct):
    id: str
    action: str
    mean: float
@post("/v1/bandits/{name:str}/decisions")
async def decide(name: str, data: Asked) -> Answer:
    return Answer("1", "early", 0.5)
app = Litestar([decide])
"""

STARLETTE = """
import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from typing import Any
class Asked(msgspec.Struct):
    belief: dict[str, Any]
    id: str | None = None
class Answer(msgspec.Struct):
    id: str
    action: str
    mean: float
read = msgspec.json.Decoder(Asked).decode
async def decide(request):
    asked = read(await request.body())
    return Response(msgspec.json.encode(Answer("1", "early", 0.5)), 201, media_type="application/json")
app = Starlette(routes=[Route("/v1/bandits/{name}/decisions", decide, methods=["POST"])])
"""

APPS = {"fastapi": FASTAPI, "litestar": LITESTAR, "starlette + msgspec": STARLETTE}

UVICORN = "uvicorn app:app --port {port} --log-level error"
SERVERS = {
    "uvicorn, httptools, asyncio": f"{UVICORN} --http httptools --loop asyncio",
    "uvicorn, h11, asyncio": f"{UVICORN} --http h11 --loop asyncio",
    "uvicorn, httptools, uvloop": f"{UVICORN} --http httptools --loop uvloop",
    "granian, asyncio": "granian app:app --interface asgi --port {port} --log-level error --loop asyncio",
}
FIRST = next(iter(SERVERS))

BODY = json.dumps({"belief": {"type": "Gaussian", "mean": [0.5] * 15, "cov": [0.1] * 15}}).encode()


def script(number: int) -> Iterator[Any]:
    while True:
        yield post("/v1/bandits/one/decisions", BODY)


def measure(app: str, server: str, seconds: float) -> dict[str, Any]:
    """Return what one framework answers under one server, from 32 connections."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "app.py").write_text(APPS[app])
        command = [sys.executable, "-m", *SERVERS[server].format(port=port).split()]
        process = subprocess.Popen(command, cwd=folder, env=os.environ | {"PYTHONPATH": folder})
        found = _loaded(process, port, seconds)
    return {"app": app, "server": server, **{name: round(value, 2) for name, value in found._asdict().items()}}


def _loaded(process: subprocess.Popen[bytes], port: int, seconds: float) -> Load:
    """Return what a server answers once it listens, and end it."""
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        run(port, script, 32, 0.5)
        return run(port, script, 32, seconds)
    finally:
        process.terminate()  # granian ends its worker then
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    pairs = [(app, FIRST) for app in APPS]
    pairs += [("starlette + msgspec", server) for server in SERVERS if server != FIRST]
    tries = [measure(app, server, args.seconds) for _ in range(args.rounds) for app, server in pairs]
    best = [[one for one in tries if (one["app"], one["server"]) == pair] for pair in pairs]
    rows = [max(found, key=lambda one: float(one["rate"])) for found in best]
    for row in rows:
        print(f"{row['app']:20} {row['server']:28} {row['rate']:8.0f} a second, p99 {row['p99']:6.1f} ms")
    names = ("fastapi", "litestar", "starlette", "msgspec", "uvicorn", "httptools", "granian")
    versions = {name: version(name) for name in names} | {"python": platform.python_version()}
    if args.keep:
        args.keep.write_text(
            json.dumps({"load": os.getloadavg()[0], "versions": versions, "rows": rows}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
