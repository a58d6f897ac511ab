"""The thread that writes the log."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

import overcast
from overcast.service import Settings
from overcast.service.engine import Engine, Turn
from overcast.service.errors import Refusal
from overcast.service.store import Row, Snapshots, SqliteStore, Unavailable, open_store
from service_support import FARM, GAUSSIAN, Api, check_replay, remembered
from store_support import row


class Failing(SqliteStore):
    """A store whose disk is full now and then."""

    full = False
    commits = 0

    def commit(self, rows: Sequence[Row]) -> None:
        self.commits += 1
        if self.full:
            raise Unavailable("database: disk is full")
        super().commit(rows)


def test_an_answer_comes_after_its_commit_and_many_share_one(tmp_path: Path) -> None:
    class Slow(SqliteStore):
        batches: list[int] = []  # noqa: RUF012

        def commit(self, rows: Sequence[Row]) -> None:
            time.sleep(0.05)
            super().commit(rows)
            self.batches.append(len(rows))

    store = Slow(tmp_path / "log.db")
    api = Api(Settings(), store)
    api.post("/v1/bandits", FARM)
    answered: list[int] = []

    def ask() -> None:
        made = api.decide()
        written = {row.decision for row in store.read()}
        answered.append(made["id"] in written)

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answered == [True] * 12
    assert len(store.batches) < 2 + 12
    assert max(store.batches) > 1
    check_replay(store, api.state)
    api.stop()


def test_a_full_disk_answers_503_and_loses_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Failing(tmp_path / "log.db")
    api = Api(Settings(), store)
    api.post("/v1/bandits", FARM)
    ids = [api.decide()["id"] for _ in range(3)]
    api.outcome(ids[0], reward=1.0)
    before = remembered(api.state)
    store.full = True
    with caplog.at_level(logging.CRITICAL, "overcast.service"):
        api.refused(api.outcome(ids[1], reward=2.0), 503, "cannot be written")
        assert api.post("/v1/bandits/farm/decisions", {"belief": GAUSSIAN}).status == 503
    store.full = False
    for _ in range(100):
        if api.engine.ready:
            break
        time.sleep(0.02)
    assert remembered(api.state) == before  # what was not written was not learnt
    assert api.outcome(ids[1], reward=2.0).body["repeated"] is False
    assert api.outcome(ids[0], reward=1.0).body["repeated"] is True
    check_replay(store, api.state)
    api.stop()


def test_rows_carry_the_version(api: Api) -> None:
    assert {row.version for row in api.engine.store.read()} == {overcast.__version__}


def test_work_that_fails_is_refused_and_the_rest_goes_on(tmp_path: Path) -> None:
    engine = Engine(SqliteStore(tmp_path / "log.db"))
    engine.start()

    def wrong(turn: Turn) -> None:
        raise ValueError("library: must be right, got wrong\nsecond line")

    with pytest.raises(Refusal, match="must be right") as caught:
        engine.do(wrong)
    assert (caught.value.status, "\n" in caught.value.message) == (422, False)
    with pytest.raises(KeyError):
        engine.do(lambda turn: turn.state.lives["nobody"])
    assert engine.do(lambda turn: turn.state.position) == 0

    async def many() -> list[Any]:
        def work(i: int) -> Callable[[Turn], int]:
            return lambda turn: i

        return await asyncio.gather(*(engine.ask(work(i)) for i in range(50)))

    assert asyncio.run(many()) == list(range(50))
    engine.stop()
    with pytest.raises(Refusal) as caught:
        engine.do(lambda turn: None)
    assert caught.value.status == 503


def test_shutdown_finishes_what_was_accepted(tmp_path: Path) -> None:
    api = Api(Settings(), SqliteStore(tmp_path / "log.db"))
    api.post("/v1/bandits", FARM)
    ids: list[str] = []
    threads = [threading.Thread(target=lambda: ids.append(api.decide()["id"])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    api.stop()
    store = SqliteStore(tmp_path / "log.db")
    assert {row.decision for row in store.read() if row.kind == "decide"} == set(ids)
    assert isinstance(store.snapshots(), Snapshots)
    store.close()


def test_processes_on_one_postgres_have_the_same_state(postgres: str) -> None:
    apis = [Api(Settings(), open_store(postgres)) for _ in range(3)]
    keys = [api.key for api in apis if api.key]
    assert len(keys) == 1  # one of them made the first key
    for api in apis:
        api.key = keys[0]
    assert apis[0].post("/v1/bandits", FARM).status == 201
    made = [[api.decide()["id"] for _ in range(10)] for api in apis]

    def reward(api: Api, ids: list[str]) -> None:
        for i, id_ in enumerate(ids):
            assert api.outcome(id_, reward=float(i)).status == 200

    # Each rewards the decisions of another, all at once.
    threads = [threading.Thread(target=reward, args=(api, made[i - 1])) for i, api in enumerate(apis)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for api in apis:
        api.get("/v1/bandits")  # reads what others have written
        check_replay(api.engine.store, api.state)
    assert apis[0].state.lives["farm"].bandit.learnt.rounds == 30
    # A key that one revokes is refused by the others at once.
    extra = apis[0].new_key("admin")
    assert apis[1].get("/v1/bandits").status == 200  # reads the log
    assert apis[1].post("/v1/bandits", FARM | {"name": "b"}, key=extra).status == 201
    assert apis[2].ask("DELETE", f"/v1/keys/{extra.split('_')[1]}").status == 200
    assert apis[1].post("/v1/bandits", FARM | {"name": "c"}, key=extra).status == 401
    for api in apis:
        api.stop()


def test_reading_does_not_wait_for_the_turn_of_another_process(postgres: str) -> None:
    api, other = Api(Settings(), open_store(postgres)), open_store(postgres)
    api.post("/v1/bandits", FARM)
    position = api.state.position
    other.begin(lambda: position, lambda: None)  # takes the turn, and keeps it
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(api.decide()))
    thread.start()
    for _ in range(5):
        assert api.get("/v1/bandits/farm").status == 200
    assert made == []  # writing waits
    other.commit([row(position + 1, "")._replace(kind="revoke", body='{"event": "revoke", "id": "nobody"}')])
    thread.join()
    assert made[0]["position"] == position + 1  # decided from all that came before
    check_replay(other, api.state)
    api.stop()
    other.close()


def test_reading_goes_on_when_the_turn_does_not_come(
    postgres: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("overcast.service.store.postgres._LONGEST", 0.1)
    api, other = Api(Settings(), open_store(postgres)), open_store(postgres)
    api.post("/v1/bandits", FARM)
    position = api.state.position
    other.begin(lambda: position, lambda: None)  # takes the turn, and stops in the middle of it
    for _ in range(5):
        assert api.post("/v1/bandits/farm/decisions", {"belief": GAUSSIAN}).status == 503
        for path in ("/v1/bandits/farm", "/readyz", "/metrics"):
            assert api.get(path).status == 200
    (line,) = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert line.startswith("the log cannot be written: database: ")
    other.end()
    assert api.decide()["position"] == position
    assert caplog.records[-1].getMessage() == "the turn to write came again"
    api.stop()
    other.close()


def test_reading_goes_on_however_many_wait_for_the_turn(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overcast.service.engine.BATCH", 3)
    monkeypatch.setattr("overcast.service.engine.STUCK", 20.0)
    monkeypatch.setattr("overcast.service.store.postgres._LONGEST", 120.0)
    api, other = Api(Settings(), open_store(postgres)), open_store(postgres)
    api.post("/v1/bandits", FARM)
    position = api.state.position
    other.begin(lambda: position, lambda: None)
    made: list[Any] = []
    threads = [threading.Thread(target=lambda: made.append(api.decide())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        assert api.get("/v1/bandits/farm").status == 200
    while len(api.engine._put_off) < 5:
        assert api.get("/v1/bandits/farm").status == 200
    other.end()
    for thread in threads:
        thread.join()
    assert len({one["position"] for one in made}) == 8
    check_replay(other, api.state)
    api.stop()
    other.close()


def test_work_is_answered_from_a_state_that_is_not_too_old(tmp_path: Path) -> None:
    class Counting(SqliteStore):
        reads = 0

        def news(self, after: int) -> Sequence[Row]:
            self.reads += 1
            return ()

    store = Counting(tmp_path / "log.db")
    engine = Engine(store, max_age=0.02)
    engine.start()
    engine.do(lambda turn: None)
    ages: list[float] = []

    def look(turn: Turn) -> None:
        ages.append(engine.age)
        time.sleep(0.03)

    async def many() -> None:
        await asyncio.gather(*(engine.ask(look, writes=False) for _ in range(5)))

    before = store.reads
    asyncio.run(many())
    assert max(ages) < 0.02  # though the first had been read 0.1 seconds before the last
    assert store.reads - before >= 5
    engine.stop()


def test_a_store_that_does_not_come_back_gives_reads_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fine = threading.Event()
    fine.set()

    class Hanging(SqliteStore):
        def news(self, after: int) -> Sequence[Row]:
            fine.wait(10.0)
            return ()

    monkeypatch.setattr("overcast.service.engine.STUCK", 0.3)
    api = Api(Settings(), Hanging(tmp_path / "log.db"))
    assert api.post("/v1/bandits", FARM).status == 201
    assert api.engine.ready
    fine.clear()
    api.refused(api.get("/v1/bandits"), 503, "cannot be written or read")
    assert not api.engine.ready
    fine.set()
    assert api.get("/v1/bandits").status == 200
    assert api.engine.ready
    api.stop()


def test_a_log_that_is_shorter_than_before_is_folded_anew(postgres: str, caplog: pytest.LogCaptureFixture) -> None:
    api = Api(Settings(), open_store(postgres))
    api.post("/v1/bandits", FARM)
    for _ in range(3):
        api.decide()
    api.engine.do(lambda turn: api.engine._keep())
    with caplog.at_level(logging.CRITICAL, "overcast.service"):
        with psycopg.connect(postgres, autocommit=True) as db:
            db.execute("DELETE FROM log WHERE position > 3")  # as if a backup had been restored
        api.refused(api.post("/v1/bandits/farm/decisions", {"belief": GAUSSIAN}), 503, "cannot be")
        while not api.engine.ready:
            time.sleep(0.01)
    assert api.state.position == 3
    assert api.decide()["position"] == 3
    check_replay(api.engine.store, api.state)
    api.stop()


def test_what_happens_in_part_is_undone(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*given: Any) -> None:
        raise IndexError("shadow")

    assert api.ask("PUT", "/v1/bandits/farm/shadow", {"policy": "Greedy"}).status == 200
    api.decide(id="a")
    before = remembered(api.state)
    with monkeypatch.context() as patched, caplog.at_level(logging.CRITICAL):
        patched.setattr("overcast.service.shadow.Shadow.record_decision", broken)
        assert api.post("/v1/bandits/farm/decisions", {"belief": GAUSSIAN, "id": "b"}).status == 500
    api.engine.do(lambda turn: None)
    assert remembered(api.state) == before
    assert api.decide(id="b")["id"] == "b"
    check_replay(api.engine.store, api.state)


def test_a_snapshot_that_cannot_be_kept_does_not_end_the_writer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Odd(SqliteStore):
        def keep(self, snapshots: Snapshots) -> None:
            raise OverflowError("too large")

    api = Api(Settings(snapshot_every=1), Odd(tmp_path / "log.db"))
    with caplog.at_level(logging.WARNING, "overcast.service"):
        assert api.post("/v1/bandits", FARM).status == 201
        assert api.decide()["position"] == 2
        api.engine.do(lambda turn: None)
    assert "no snapshot was kept: too large" in caplog.text
    assert api.engine.ready
    api.stop()


def test_nothing_ends_the_writer(api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*given: Any) -> None:
        raise LookupError("out of order")

    with monkeypatch.context() as patched, caplog.at_level(logging.ERROR, "overcast.service"):
        patched.setattr("overcast.service.engine.is_due", broken)
        while "out of order" not in caplog.text:
            time.sleep(0.01)
    api.engine.do(lambda turn: None)
    assert api.decide()["position"] == 2
    check_replay(api.engine.store, api.state)
