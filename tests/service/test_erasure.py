"""Erasing entries of the log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from overcast.service import Settings, erasure
from overcast.service.engine import started
from overcast.service.erasure import erase_before, keep_for
from overcast.service.fold import folded, replayable
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


def check_age(opened: Callable[[], Store]) -> None:
    """Check that old entries are gone, and that nothing else changes, to the byte."""
    api = Api(Settings(), opened())
    middle, still_open = lived(api)
    before = remembered(api.state)
    assert erase_before(api.engine.store, "farm", middle) == 24  # one row of 25 holds the base
    rows = list(api.engine.store.read())
    assert [row.kind for row in rows if row.bandit == "farm" and row.time < middle] == ["base"]
    assert sum(row.bandit == "other" for row in rows) == 2
    assert remembered(folded(rows)) == before
    assert erase_before(api.engine.store, "farm", middle) == 0
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
    assert remembered(started(store).state) == remembered(folded(store.read()))
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
        assert erase_before(api.engine.store, "farm", time.time()) > 20
        assert not found()


def test_a_reader_in_the_middle_of_an_erasure_comes_to_the_same_state(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        middle, _ = lived(api)
        store = api.engine.store
        before, whole = remembered(api.state), list(store.read())
        erase_before(store, "farm", middle)
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
            task = asyncio.create_task(keep_for(api.engine, 1.0))
            while any(row.kind == "decide" for row in api.engine.store.read()):
                await asyncio.sleep(0.01)
            task.cancel()

        asyncio.run(run())
        assert remembered(folded(api.engine.store.read())) == before
