"""The log in a SQLite file, of which one process has the lock."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from overcast.service.store.base import (
    CHUNK,
    ERASED,
    Row,
    Snapshots,
    Steps,
    Unavailable,
    grouped,
    listed,
    pending,
)

T = TypeVar("T")

#: the schema, step by step; a release never changes a step, it appends one
STEPS: Steps = {
    1: (
        "CREATE TABLE log (position INTEGER PRIMARY KEY, time REAL NOT NULL, bandit TEXT NOT NULL, kind TEXT NOT NULL,"
        " decision TEXT, version TEXT NOT NULL, body TEXT NOT NULL, detail BLOB) STRICT",
        "CREATE INDEX log_decision ON log (decision, bandit) WHERE decision IS NOT NULL",
        "CREATE TABLE snapshots (name TEXT PRIMARY KEY, position INTEGER NOT NULL, version TEXT NOT NULL,"
        " content BLOB NOT NULL) STRICT",
        "CREATE TABLE secret (one INTEGER PRIMARY KEY CHECK (one = 1), value BLOB NOT NULL) STRICT",
    ),
    2: (
        "CREATE TABLE sessions (digest TEXT PRIMARY KEY, key TEXT NOT NULL, expires REAL NOT NULL)"
        " STRICT, WITHOUT ROWID",
    ),
}

_ROWS = "SELECT position, time, bandit, kind, decision, version, body, detail FROM log"
_PLAIN = _ROWS.replace("detail", "NULL")


class SqliteStore:
    """A log in one file, durable when `commit` returns: a write-ahead log, synced at every commit.

    Parameters
    ----------
    path : of the file, which is made with mode 0600 unless it exists
    """

    #: what a power cut may take with it: nothing that was committed
    synchronous = "FULL"
    #: pages after which the write-ahead log goes into the file
    checkpoint = 1000

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()  # of the connection, which the writer and readers share
        self._claim = _claimed(self.path)
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            kept = f"synchronous={self.synchronous}", f"wal_autocheckpoint={self.checkpoint:d}"
            for pragma in ("journal_mode=WAL", *kept, "busy_timeout=5000", "secure_delete=ON"):
                self._db.execute(f"PRAGMA {pragma}")
            self._migrate()
        except sqlite3.Error as error:
            self._claim.close()
            raise OSError(
                f"serve: {self.path} must be a database of overcast serve, got one that fails: {error}"
            ) from None
        except BaseException:
            self._claim.close()
            raise

    def _migrate(self) -> None:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        for number, statements in pending(STEPS, version):
            self._db.execute("BEGIN IMMEDIATE")
            for statement in statements:
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {number:d}")
            self._db.execute("COMMIT")
        self._db.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (secrets.token_bytes(32),))

    def begin(self, after: Callable[[], int], meanwhile: Callable[[], None]) -> Sequence[Row]:
        return ()  # nobody else writes

    def commit(self, rows: Sequence[Row]) -> None:
        def write() -> None:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._db.execute("COMMIT")

        self._safely(write)

    def end(self) -> None:
        pass

    def news(self, after: int) -> Sequence[Row]:
        return ()

    def read(self, after: int = 0) -> Iterator[Row]:
        while rows := self._rows(f"{_ROWS} WHERE position > ? ORDER BY position LIMIT {CHUNK:d}", after):
            yield from rows
            after = rows[-1].position

    def find(self, bandit: str, decision: str) -> Sequence[Row]:
        return self._rows(f"{_ROWS} WHERE decision = ? AND bandit = ? ORDER BY position", decision, bandit)

    def latest(self, bandit: str, kinds: Sequence[str], after: int, until: int, limit: int) -> Sequence[Row]:
        marks = ", ".join("?" * len(kinds))
        where = f"position > ? AND position <= ? AND bandit = ? AND kind IN ({marks})"
        query = f"{_PLAIN} WHERE {where} ORDER BY position DESC LIMIT ?"
        return self._rows(query, after, until, bandit, *kinds, limit)[::-1]

    def snapshots(self) -> Snapshots | None:
        return grouped(self._fetch("SELECT name, position, version, content FROM snapshots"))

    def keep(self, snapshots: Snapshots) -> None:
        def write() -> None:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM snapshots")
            self._db.executemany("INSERT INTO snapshots VALUES (?, ?, ?, ?)", listed(snapshots))
            self._db.execute("COMMIT")

        self._safely(write)

    def last(self) -> int:
        return int(self._fetch("SELECT coalesce(max(position), 0) FROM log")[0][0])

    def erase(self, bandit: str, until: int, base: Row | None) -> int:
        if base is not None:
            change = "UPDATE log SET kind = ?, decision = NULL, version = ?, body = ?, detail = ? WHERE position = ?"
            self._fetch(change, base.kind, base.version, base.body, base.detail, base.position)
        below, count = until + 1 if base is None else base.position, 0
        chosen = "SELECT position FROM log WHERE bandit = ? AND position < ? ORDER BY position DESC LIMIT ?"
        delete = f"DELETE FROM log WHERE position IN ({chosen}) RETURNING position"
        while gone := self._fetch(delete, bandit, below, ERASED):
            below, count = min(gone)[0], count + len(gone)
        if base is None:
            self._fetch("DELETE FROM snapshots WHERE name = ? AND position <= ?", bandit, until)
        self._fetch("PRAGMA wal_checkpoint(TRUNCATE)")  # the write-ahead log holds what was erased, too
        return count

    def shrink(self) -> None:
        """Give the space of erased rows back to the system, by writing the file anew."""
        self._fetch("VACUUM")
        self._fetch("PRAGMA wal_checkpoint(TRUNCATE)")

    def secret(self) -> bytes:
        return bytes(self._fetch("SELECT value FROM secret")[0][0])

    def begin_session(self, digest: str, key: str, expires: float, now: float) -> None:
        self._fetch("DELETE FROM sessions WHERE expires <= ?", now)
        self._fetch("INSERT INTO sessions VALUES (?, ?, ?)", digest, key, expires)

    def find_session(self, digests: Sequence[str], now: float) -> tuple[str, str] | None:
        marks = ", ".join("?" * len(digests))
        query = f"SELECT digest, key FROM sessions WHERE digest IN ({marks}) AND expires > ? LIMIT 1"
        found = self._fetch(query, *digests, now)
        return tuple(found[0]) if found else None

    def end_session(self, digest: str) -> None:
        self._fetch("DELETE FROM sessions WHERE digest = ?", digest)

    def close(self) -> None:
        self._db.close()
        self._claim.close()

    def _rows(self, query: str, *values: Any) -> list[Row]:
        return [Row(*row) for row in self._fetch(query, *values)]

    def _fetch(self, query: str, *values: Any) -> list[Any]:
        return self._safely(lambda: self._db.execute(query, values).fetchall())

    def _safely(self, call: Callable[[], T]) -> T:
        """Make a call and return its result; undo its changes if it fails."""
        with self._lock:
            try:
                return call()
            except (sqlite3.Error, OSError) as error:
                with contextlib.suppress(sqlite3.Error):
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
                raise Unavailable(f"database: {error}") from error


def _claimed(path: Path) -> Any:
    """Return a lock on the database that ends with the process.

    It is on a file beside the database: whoever closes a second handle of the database itself loses SQLite's own locks.
    """
    beside = path.with_name(f"{path.name}.lock")
    try:
        file = open(os.open(beside, os.O_CREAT | os.O_RDWR, 0o600), "rb")  # noqa: SIM115
    except OSError as error:
        raise OSError(f"serve: --db must be a file that can be written to, got {path}: {error.strerror}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise OSError(
            f"serve: {path} is in use by another process; several processes need PostgreSQL (--db postgresql://...)"
        ) from None
    return file
