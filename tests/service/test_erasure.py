"""Erasing entries of the log."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from overcast.service import Settings, erasure, transfer
from overcast.service.dashboard.window import latest
from overcast.service.engine import Engine
from overcast.service.erasure import Span, erase_before, upkeep
from overcast.service.fold import folded, replayable
from overcast.service.start import read_state
from overcast.service.store import Row, SqliteStore, Store, open_store
from service_support import FARM, GAUSSIAN, Api, remembered, served
from support import refused


def lived(api: Api) -> tuple[float, list[str]]:
    """Let two bandits live; return a time in the middle, and decisions that were open then."""
    api.post("/v1/bandits", FARM)
    api.post("/v1/bandits", FARM | {"name": "other"})
    for i in range(10):
        api.outcome(api.decide()["id"], reward=float(i))
    api.post("/v1/bandits/other/decisions", {"belief": GAUSSIAN})
    still_open = [api.decide()["id"] for _ in range(3)]
    api.outcome(still_open[0], reward=1.0, final=False, part="a")
    time.sleep(0.01)
    middle = time.time()
    api.outcome(still_open[0], reward=2.0)
    for i in range(5):
        api.outcome(api.decide()["id"], reward=float(i))
    return middle, still_open


def erased(api: Api, before: float, *names: str) -> dict[str, int]:
    """Erase the entries of some bandits, of the farm unless told; return how many of each."""
    spans = {name: Span.of(api.state.lives[name]) for name in names or ("farm",)}
    return erase_before(api.engine.store, spans, before)


def check_age(opened: Callable[[], Store]) -> None:
    """Check that old entries are gone, and that nothing else changes, to the byte."""
    api = Api(Settings(), opened())
    middle, still_open = lived(api)
    before = remembered(api.state)
    assert erased(api, middle) == {"farm": 24}  # one row of 25 holds the base
    rows = list(api.engine.store.read())
    assert [row.kind for row in rows if row.bandit == "farm" and row.time < middle] == ["base"]
    assert sum(row.bandit == "other" for row in rows) == 2
    assert remembered(folded(rows)) == before
    assert erased(api, middle) == {}
    assert api.outcome(still_open[0], reward=2.0).body["repeated"] is True  # of this the entry is still there
    assert api.outcome(still_open[1], reward=3.0).body == {
        "id": still_open[1],
        "repeated": False,
        "final": True,
        "total": 3.0,
    }
    api.refused(api.get(f"/v1/bandits/farm/decisions/{still_open[2]}"), 404, "must be one of the bandit")
    with refused(ValueError, "log", "erased in part"):
        replayable(rows, "farm")
    assert remembered(folded(api.engine.store.read())) == remembered(api.state)
    api.stop()
    store = opened()
    assert remembered(read_state(store).state) == remembered(folded(store.read()))
    store.close()


def test_old_entries_are_erased_from_sqlite(tmp_path: Path) -> None:
    check_age(lambda: SqliteStore(tmp_path / "log.db"))
    content = b"".join(path.read_bytes() for path in tmp_path.glob("log.db*"))
    assert b'"event":"base"' in content


def test_old_entries_are_erased_from_postgres(postgres: str) -> None:
    check_age(lambda: open_store(postgres))


def test_what_is_erased_is_not_in_the_file_any_more(tmp_path: Path) -> None:
    def found() -> bool:
        return any(b"somebodys-name" in path.read_bytes() for path in tmp_path.glob("log.db*"))

    with served(tmp_path) as api:
        lived(api)
        api.outcome(api.decide(id="somebodys-name")["id"], reward=1.0)
        assert found()
        time.sleep(0.01)
        assert erased(api, time.time())["farm"] > 20
        assert not found()


def test_a_reader_in_the_middle_of_an_erasure_comes_to_the_same_state(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        middle, _ = lived(api)
        store = api.engine.store
        before, whole = remembered(api.state), list(store.read())
        erased(api, middle)
        base = next(row for row in store.read() if row.kind == "base")
        # Rows before the base go from the last to the first: any number of the first may still be there.
        old: list[Row] = [row for row in whole if row.position < base.position]
        rest: list[Row] = [row for row in whole if row.position > base.position]
        for left in range(len(old) + 1):
            kept = [row for i, row in enumerate(old) if i < left or row.bandit != "farm"]
            assert remembered(folded([*kept, base, *rest])) == before


def test_entries_are_kept_for_some_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasure, "DAY", 1e-9)
    with served(tmp_path) as api:
        lived(api)
        before = remembered(api.state)

        async def run() -> None:
            task = asyncio.create_task(upkeep(api.engine, 1.0))
            while any(row.kind == "decide" for row in api.engine.store.read()):
                await asyncio.sleep(0.01)
            task.cancel()

        asyncio.run(run())
        assert remembered(folded(api.engine.store.read())) == before


def test_an_import_of_old_entries_lets_the_young_ones_of_others_be(tmp_path: Path) -> None:
    day = 86_400.0
    with served(tmp_path) as api:
        api.post("/v1/bandits", FARM)
        ids = [api.decide()["id"] for _ in range(5)]
        api.outcome(ids[0], reward=1.0)
        rows = transfer.from_jsonl(api.get("/v1/bandits/farm/log").body)
        old = b"".join(transfer.to_jsonl([row._replace(time=row.time - 100 * day) for row in rows]))
        answer = api.post("/v1/bandits/copy/log", old, headers={"content-type": "application/x-ndjson"})
        assert answer.status == 201
        before, moment = remembered(api.state), time.time() - 30 * day
        assert erased(api, moment, "farm", "copy") == {"copy": len(rows) - 1}
        assert erased(api, moment, "farm", "copy") == {}
        assert api.get(f"/v1/bandits/farm/decisions/{ids[3]}").status == 200
        assert remembered(folded(api.engine.store.read())) == before


def test_the_log_is_read_once_and_no_further_than_old_entries_go(tmp_path: Path) -> None:
    class Counting(SqliteStore):
        seen = 0

        def read(self, after: int = 0) -> Iterator[Row]:
            for row in super().read(after):
                self.seen += 1
                yield row

    store = Counting(tmp_path / "log.db")
    api = Api(Settings(), store)
    middle, _ = lived(api)
    young = next(row.position for row in store.read() if row.time >= middle)
    other = api.state.lives["other"].position
    assert other < young
    store.seen = 0
    assert erased(api, middle, "farm", "other").keys() == {"farm", "other"}
    assert store.seen <= young  # rows from the first of a bandit to the first young one, and one more
    api.stop()


def test_upkeep_goes_on_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[float] = []

    def broken(*given: Any) -> dict[str, int]:
        calls.append(time.time())
        raise KeyError("farm")

    monkeypatch.setattr(erasure, "RETRY", 0.01)
    monkeypatch.setattr(erasure, "erase_before", broken)

    async def run(engine: Engine) -> None:
        task = asyncio.create_task(upkeep(engine, 1.0))
        while len(calls) < 3:
            await asyncio.sleep(0.01)
        task.cancel()

    with served(tmp_path) as api, caplog.at_level(logging.ERROR, "overcast.service"):
        asyncio.run(run(api.engine))
    assert "it is tried again: 'farm'" in caplog.text


class Killed(Exception):  # noqa: N818 - it names an event
    """Stands for the end of the process."""


def killed(store: Any, statements: int) -> Any:
    """Let a store do some more statements, and no more."""
    fetch, left = store._fetch, [statements]

    def some(query: str, *values: Any) -> Any:
        if query.startswith("DELETE"):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
        return fetch(query, *values)

    store._fetch = some
    store.keep = lambda snapshots: None
    return store


def interrupted(opened: Callable[[], Any], statements: int, caplog: pytest.LogCaptureFixture) -> Api:
    """Return a service whose former process was killed in the middle of an erasure of the farm."""
    api = Api(Settings(), opened())
    key = api.key
    api.post("/v1/bandits", FARM)
    api.post("/v1/bandits", FARM | {"name": "other"})
    api.decide(id="d1")
    api.stop()  # keeps snapshots
    store = opened()
    api = Api(Settings(), store)
    api.key = key
    for i in range(2, 6):
        api.outcome(api.decide(id=f"d{i}")["id"], reward=1.0)
    api.ask("DELETE", "/v1/bandits/farm")
    killed(store, statements)
    with caplog.at_level(logging.CRITICAL):
        assert api.post("/v1/bandits/farm/erase", {"before": None}).status == 500
    api.stop()
    api = Api(Settings(), opened())
    api.key = key
    assert api.get("/v1/bandits").body["bandits"][0]["name"] == "other"
    return api


def check_interrupted(opened: Callable[[], Any], statements: int, caplog: pytest.LogCaptureFixture) -> None:
    """Check that an interrupted erasure does not touch a new bandit of the same name, and is finished."""
    api = interrupted(opened, statements, caplog)
    until = api.state.erasing["farm"]
    assert api.post("/v1/bandits", FARM).status == 201
    moved = {"type": "Gaussian", "mean": [5.0, 3.0], "cov": [1.0, 0.1]}
    assert api.decide(id="d1", belief=moved)["position"] > until  # the id is new
    assert api.get("/v1/bandits/farm/decisions/d1").body["status"] == "open"
    api.refused(api.get("/v1/bandits/farm/decisions/d2"), 404, "must be one of the bandit")
    lines = [json.loads(line) for line in api.get("/v1/bandits/farm/log").body.splitlines()]
    assert [line["kind"] for line in lines] == ["create", "decide", "close"]
    assert len(latest(api.engine.store, "farm", api.state.lives["farm"].position).decisions) == 1
    api.engine.do(lambda turn: api.engine._keep())  # these snapshots are of the new bandit
    before = remembered(api.state)

    async def run() -> None:
        task = asyncio.create_task(upkeep(api.engine, None))
        while api.state.erasing:
            await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(run())
    rows = list(api.engine.store.read())
    assert [row.kind for row in rows if row.bandit == "farm"] == ["create", "decide"]
    assert remembered(folded(rows)) == before == remembered(api.state)
    api.stop()
    store = opened()
    assert remembered(read_state(store).state) == before
    store.close()


@pytest.mark.parametrize("statements", range(6))
def test_an_interrupted_erasure_is_finished_on_sqlite(
    statements: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("overcast.service.store.sqlite.ERASED", 3)
    check_interrupted(lambda: SqliteStore(tmp_path / "log.db"), statements, caplog)


@pytest.mark.parametrize("statements", [0, 1, 3, 5])
def test_an_interrupted_erasure_is_finished_on_postgres(
    statements: int, postgres: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("overcast.service.store.postgres.ERASED", 3)
    check_interrupted(lambda: open_store(postgres), statements, caplog)


def test_an_interrupted_erasure_is_finished_by_asking_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("overcast.service.store.sqlite.ERASED", 3)
    api = interrupted(lambda: SqliteStore(tmp_path / "log.db"), 1, caplog)
    assert api.post("/v1/bandits/farm/erase", {"before": None}).body == {"entries": 8}  # of 11
    assert not any(row.bandit == "farm" for row in api.engine.store.read())
    assert api.state.erasing == {}
    api.refused(api.post("/v1/bandits/farm/erase", {"before": None}), 404, "must be one that exists")
    api.stop()


def test_an_interrupted_erasure_by_age_is_finished_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("overcast.service.store.sqlite.ERASED", 3)
    store = SqliteStore(tmp_path / "log.db")
    api = Api(Settings(), store)
    middle, _ = lived(api)
    before, fetch = remembered(api.state), store._fetch
    killed(store, 2)
    with pytest.raises(Killed):
        erased(api, middle)
    assert remembered(folded(store.read())) == before
    store._fetch = fetch  # type: ignore[method-assign]
    assert erased(api, middle) == {"farm": 18}
    assert remembered(folded(store.read())) == before
    api.stop()


def test_upkeep_waits_a_second_for_a_log_that_is_not_folded_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then entries that are too old are erased at once, not an hour later."""
    with served(tmp_path) as api:
        lived(api)
    monkeypatch.setattr(erasure, "DAY", 1e-9)
    engine, pauses = Engine(SqliteStore(tmp_path / "log.db")), list[float]()

    async def paused(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) > 1:
            raise asyncio.CancelledError
        engine.start()
        await engine.ask(lambda turn: None)

    assert engine.state is None
    monkeypatch.setattr(asyncio, "sleep", paused)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(upkeep(engine, 1.0))
    assert pauses == [1.0, erasure.EVERY]
    assert not any(row.kind == "decide" for row in engine.store.read())
    engine.stop()
