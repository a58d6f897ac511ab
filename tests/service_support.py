"""The service without a network: requests go to the application itself."""

from __future__ import annotations

import asyncio
import copy
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest

import overcast as oc
from memory_support import memory_of
from overcast.service import Settings, create_app
from overcast.service.engine import Engine
from overcast.service.fold import Life, State, folded, replayable
from overcast.service.serve import first_key
from overcast.service.store import Store

GAUSSIAN = {"type": "Gaussian", "mean": [20.0, 1.0], "cov": [4.0, 0.1]}
FARM = {
    "name": "farm",
    "actions": {"early": [1.0, 0.0], "late": [0.0, 1.0], "never": [0.5, 0.5]},
    "features": "Bilinear",
    "ridge": 1.0,
    "policy": {"type": "UCB", "beta": 2.0},
}


class Answer(NamedTuple):
    """The answer to a request."""

    status: int
    body: Any
    headers: dict[str, str]


class Api:
    """An application with its engine running, and a key for all requests."""

    def __init__(self, settings: Settings, store: Store | None = None) -> None:
        self.app = create_app(settings, store)
        self.engine: Engine = self.app.state.service.engine
        self.engine.start()
        key = self.engine.do(lambda turn: first_key(turn, self.engine.secret))
        self.key = key or ""

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        headers: dict[str, str] | None = None,
        scheme: str = "http",
    ) -> Answer:
        """Send a request; a body of bytes is sent as it is, any other as JSON."""
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        sent = {"content-type": "application/json", "content-length": str(len(raw))}
        given = self.key if key is None else key
        sent |= {"authorization": f"Bearer {given}"} if given else {}
        sent |= {name.lower(): value for name, value in (headers or {}).items()}
        scope = {
            "type": "http",
            "method": method,
            "scheme": scheme,
            "path": unquote(path.partition("?")[0]),
            "raw_path": path.partition("?")[0].encode(),
            "query_string": path.partition("?")[2].encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
        }
        out: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": raw, "more_body": False}

        async def send(message: Any) -> None:
            out.append(message)

        asyncio.run(self.app(scope, receive, send))
        heads = {name.decode(): value.decode() for name, value in out[0]["headers"]}
        content = b"".join(one.get("body", b"") for one in out[1:])
        is_json = heads.get("content-type", "") == "application/json"
        is_text = heads.get("content-type", "").startswith("text/")
        body = json.loads(content) if is_json else content.decode() if is_text else content
        return Answer(out[0]["status"], body, heads)

    def get(self, path: str, **options: Any) -> Answer:
        return self.ask("GET", path, **options)

    def post(self, path: str, body: Any, **options: Any) -> Answer:
        return self.ask("POST", path, body, **options)

    def new_key(self, *scopes: str, **options: Any) -> str:
        """Return a new key."""
        made = self.post("/v1/keys", {"name": "test", "scopes": list(scopes), **options})
        assert made.status == 201, made.body
        return str(made.body["key"])

    def decide(self, **body: Any) -> Any:
        """Return a decision of the farm."""
        answer = self.post("/v1/bandits/farm/decisions", {"belief": GAUSSIAN, **body})
        assert answer.status == 201, answer.body
        return answer.body

    def outcome(self, id_: str, **body: Any) -> Answer:
        return self.post(f"/v1/bandits/farm/decisions/{id_}/outcome", body)

    @property
    def state(self) -> State:
        assert self.engine.state is not None
        return self.engine.state

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Check that nothing is written and nothing learnt."""
        before = self.state.position, remembered(self.state), self.state.contents()
        yield
        assert (self.state.position, remembered(self.state), self.state.contents()) == before

    def refused(self, answer: Answer, status: int, word: str) -> None:
        """Check that an answer is an error in the one shape, on one line."""
        assert answer.status == status, answer.body
        assert answer.body.keys() == {"error"}
        assert {"code", "message"} <= answer.body["error"].keys() <= {"code", "message", "field"}
        message = answer.body["error"]["message"]
        assert word in message
        assert "\n" not in message
        assert "Traceback" not in message

    def stop(self) -> None:
        self.engine.stop()


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the clock of this process forward."""
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + seconds)


@contextmanager
def served(folder: Path, **options: Any) -> Iterator[Api]:
    """Return the service on a file in a folder."""
    api = Api(Settings(db=str(folder / "log.db"), **options))
    try:
        yield api
    finally:
        api.stop()


def remembered(state: State) -> dict[str, Any]:
    """Return all of a state in a form that compares by value."""
    lives = {
        name: (memory_of(life.bandit), life.open, life.counts, life.terms, life.retired, life.position, _shadow(life))
        for name, life in state.lives.items()
    }
    return copy.deepcopy(lives | {"": state.keys})


def _shadow(life: Life) -> Any:
    return None if life.shadow is None else (memory_of(life.shadow.bandit), life.shadow.to_data())


def check_replay(store: Store, state: State) -> None:
    """Check that a state is the fold of the log, and each of its bandits the library's replay of it, to the byte."""
    rows = list(store.read())
    assert [row.position for row in rows] == list(range(1, len(rows) + 1))
    assert remembered(folded(rows)) == remembered(state)
    for name, life in state.lives.items():
        assert memory_of(oc.replay(*replayable(rows, name))) == memory_of(life.bandit)
