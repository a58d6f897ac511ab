"""The log in a SQLite file."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from overcast.service.store import Row, SqliteStore, Unavailable, open_store
from overcast.service.store.base import CHUNK
from overcast.service.store.sqlite import STEPS
from store_support import check_erasure, check_store, row
from support import refused


def test_it_is_a_store(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    check_store(lambda: SqliteStore(path))


def test_rows_are_erased(tmp_path: Path) -> None:
    check_erasure(lambda: SqliteStore(tmp_path / "log.db"))


def test_many_rows_are_read_in_order(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.db")
    rows = [row(i) for i in range(1, 2 * CHUNK + 5)]
    store.commit(rows)
    assert list(store.read()) == rows
    assert list(store.read(CHUNK)) == rows[CHUNK:]
    store.close()


def test_a_second_process_is_refused_in_one_line(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.db")
    with refused(OSError, "serve", "in use by another process", "PostgreSQL"):
        SqliteStore(tmp_path / "log.db")
    program = f"from overcast.service.store import SqliteStore; SqliteStore({str(tmp_path / 'log.db')!r})"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "in use by another process" in other.stderr
    store.close()
    SqliteStore(tmp_path / "log.db").close()


def test_every_commit_is_synced(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.db")
    assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "log.db").close()
    assert stat.S_IMODE(os.stat(tmp_path / "log.db").st_mode) == 0o600


@pytest.mark.parametrize("version", [0, *STEPS])
def test_a_file_of_every_version_is_brought_up_to_date(version: int, tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    db = sqlite3.connect(path)
    for number in range(1, version + 1):
        for statement in STEPS[number]:
            db.execute(statement)
    db.execute(f"PRAGMA user_version = {version}")
    if version:
        db.execute("INSERT INTO log VALUES (1, 0.5, 'farm', 'decide', 'x', '0', '{}', NULL)")
    db.commit()
    db.close()
    store = SqliteStore(path)
    assert [one.decision for one in store.read()] == ["x"] * (version > 0)
    assert store._db.execute("PRAGMA user_version").fetchone() == (max(STEPS),)
    store.close()


def test_a_file_from_the_future_and_other_files_are_refused(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "new.db")
    db.execute("PRAGMA user_version = 99")
    db.close()
    with refused(ValueError, "serve", "got 99"):
        SqliteStore(tmp_path / "new.db")
    (tmp_path / "text.db").write_text("this is no database at all, only text\n" * 100)
    with refused(OSError, "serve", "must be a database of overcast serve"):
        SqliteStore(tmp_path / "text.db")
    with refused(OSError, "serve", "can be written to"):
        SqliteStore(tmp_path / "no" / "folder" / "log.db")


def test_a_failed_commit_writes_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.db")
    store.commit([row(1)])
    with pytest.raises(Unavailable):
        store.commit([row(2), row(1)])  # a position that is taken
    assert [one.position for one in store.read()] == [1]
    store.commit([row(2)])
    store.close()


def test_urls(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path / 'log.db'}").close()
    with refused(ValueError, "serve", "mysql://"):
        open_store("mysql://host/name")
    assert isinstance(row(1), Row)
