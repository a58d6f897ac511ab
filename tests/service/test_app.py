"""The application as a whole."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from overcast.service import Settings, create_app
from service_support import Api


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nothing", 404), ("PUT", "/healthz", 405)])
def test_what_no_operation_takes_has_the_same_shape(api: Api, method: str, path: str, status: int) -> None:
    api.refused(api.ask(method, path), status, "GET /docs lists them")


def test_a_refused_method_names_those_that_the_path_takes(api: Api) -> None:
    for path, methods in {"/v1/bandits": "GET, HEAD, POST", "/v1/bandits/farm": "DELETE, GET, HEAD, PATCH"}.items():
        answer = api.ask("PUT", path)
        assert answer.status == 405
        assert ", ".join(sorted(answer.headers["allow"].split(", "))) == methods
    assert api.ask("HEAD", "/healthz").status == 200


def test_an_operation_is_found_without_starlette_and_with_it(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application finds it by itself; one that is mounted below a path leaves that to Starlette."""
    api.decide(id="a")
    asked: list[str] = []
    original = Starlette.__call__

    async def counted(self: Starlette, scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["path"])
        await original(self, scope, receive, send)

    with monkeypatch.context() as patched:
        patched.setattr(Starlette, "__call__", counted)
        assert api.get("/v1/bandits/farm/decisions/a").status == 200
        assert asked == []
        assert api.get("/nothing").status == 404
        assert asked == ["/nothing"]
    before = api.get("/v1/bandits/farm").body
    monkeypatch.setattr(api.app, "operations", {})
    assert api.get("/v1/bandits/farm").body == before
    assert api.decide(id="a")["id"] == "a"


def test_start_and_stop_run_the_engine(tmp_path: Path) -> None:
    async def live() -> list[bool]:
        seen = []
        app = create_app(Settings(db=str(tmp_path / "log.db")))
        async with app.router.lifespan_context(app):
            await app.state.service.engine.ask(lambda turn: None)
            seen.append(app.state.service.engine.ready)
        return [*seen, app.state.service.engine.ready]

    for _ in range(2):  # the lock is given back
        assert asyncio.run(live()) == [True, False]
