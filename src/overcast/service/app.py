"""The application, made by a factory: no state outside of it."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from overcast.service import dashboard
from overcast.service.apidocs import page
from overcast.service.engine import Engine
from overcast.service.erasure import upkeep
from overcast.service.errors import CODES, Failure, Fault
from overcast.service.http import ALWAYS, Call, Endpoint, Operation, Reply, Service
from overcast.service.metrics import Metrics
from overcast.service.openapi import document
from overcast.service.routes import actions, bandits, decisions, erasure, health, keys, log, outcomes, shadow
from overcast.service.settings import Settings
from overcast.service.store import Store, open_store

OPERATIONS: list[Operation] = [
    *bandits.OPERATIONS,
    *actions.OPERATIONS,
    *decisions.OPERATIONS,
    *outcomes.OPERATIONS,
    *shadow.OPERATIONS,
    *erasure.OPERATIONS,
    *log.OPERATIONS,
    *keys.OPERATIONS,
    *health.OPERATIONS,
]


def create_app(settings: Settings, store: Store | None = None) -> Starlette:
    """Return the application; its engine runs from its start-up to its shut-down, as `app.state.service.engine`.

    Parameters
    ----------
    store : of the log; None for the one that `settings.db` names
    """
    opened = open_store(settings.db) if store is None else store
    engine = Engine(opened, settings.snapshot_every, settings.max_age)
    service = Service(engine, settings, Metrics(engine))
    described = document(OPERATIONS)
    schema, shown = msgspec.json.encode(described), page(described)

    async def openapi(call: Call) -> Reply:
        return Reply(200, content=schema)

    async def docs(call: Call) -> Reply:
        return Reply(200, content=shown, kind=b"text/html; charset=utf-8")

    pages = [
        Operation("GET", "/openapi.json", openapi, "This description", None, {200: None}),
        Operation("GET", "/docs", docs, "This description as a page", None, {200: None}),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        engine.start()
        keeping = asyncio.create_task(upkeep(engine, settings.keep_days))
        try:
            yield
        finally:
            keeping.cancel()
            engine.stop()

    paths: dict[str, dict[str, Endpoint]] = {}
    for one in (*OPERATIONS, *pages):
        paths.setdefault(one.path, {})[one.method] = Endpoint(one, service)
    routes = [Route(path, _Methods(endpoints), methods=list(endpoints)) for path, endpoints in paths.items()]
    shown_pages = dashboard.routes(service, OPERATIONS)
    app = _App(routes=[*routes, *shown_pages], lifespan=lifespan, exception_handlers={HTTPException: _refused})
    for route, endpoints in zip(routes, paths.values(), strict=True):
        app.operations.setdefault(route.path.count("/"), []).append((route.path_regex, endpoints))
    app.router.redirect_slashes = False
    app.state.service = service
    return app


class _App(Starlette):
    """An application that finds the endpoint of an operation by itself; Starlette finds all else, and refuses the rest.

    An endpoint answers its own errors, so that what Starlette wraps around each request would have nothing to do.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        #: patterns of paths and their endpoints by method, by the number of slashes in the path
        self.operations: dict[int, list[tuple[re.Pattern[str], dict[str, Endpoint]]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not scope.get("root_path"):
            path, method = scope["path"], scope["method"]
            for pattern, endpoints in self.operations.get(path.count("/"), ()):
                match = pattern.match(path)
                if match is not None and method in endpoints:
                    scope["path_params"] = match.groupdict()
                    await endpoints[method](scope, receive, send)
                    return
        await super().__call__(scope, receive, send)


class _Methods:
    """All methods of one path, so that a refusal of others names them all; HEAD is GET without the body."""

    def __init__(self, endpoints: dict[str, Endpoint]) -> None:
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        await self._endpoints["GET" if method == "HEAD" else method](scope, receive, send)


def _refused(request: Request, error: Exception) -> Response:
    """Answer what no operation takes: unknown paths and methods."""
    assert isinstance(error, HTTPException)
    message = "path: must be one that exists; GET /docs lists them"
    if error.status_code == 405:
        message = "method: must be one that the path takes; GET /docs lists them"
    fault = Failure(Fault(CODES.get(error.status_code, "bad_request"), message))
    headers = {name.decode(): value.decode() for name, value in ALWAYS} | dict(error.headers or {})
    return Response(msgspec.json.encode(fault), error.status_code, headers, "application/json")
