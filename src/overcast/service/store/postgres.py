"""The log in PostgreSQL, to which several processes may write in turns."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, LiteralString, TypeVar

import psycopg

from overcast.service.store.base import CHUNK, Row, Snapshots, Unavailable, grouped, listed, pending

T = TypeVar("T")

#: the schema, step by step; a release never changes a step, it appends one
STEPS: dict[int, tuple[LiteralString, ...]] = {
    1: (
        "CREATE TABLE log (position BIGINT PRIMARY KEY, time DOUBLE PRECISION NOT NULL, bandit TEXT NOT NULL,"
        " kind TEXT NOT NULL, decision TEXT, version TEXT NOT NULL, body TEXT NOT NULL, detail BYTEA)",
        "CREATE INDEX log_decision ON log (decision, bandit) WHERE decision IS NOT NULL",
        "CREATE TABLE snapshots (name TEXT PRIMARY KEY, position BIGINT NOT NULL, version TEXT NOT NULL,"
        " content BYTEA NOT NULL)",
        "CREATE TABLE secret (one INTEGER PRIMARY KEY CHECK (one = 1), value BYTEA NOT NULL)",
    ),
}

# Names of advisory locks: of the turn to write, and of snapshots.
_TURN, _SNAPSHOTS = 0x6F766572, 0x63617374

_ROWS: LiteralString = "SELECT position, time, bandit, kind, decision, version, body, detail FROM log"


class PostgresStore:
    """A log that processes write to in turns.

    A turn is a transaction that holds an advisory lock. The lock is given back after the commit can be seen, so that
    whoever has the turn sees every row before its own, and positions become visible in order.

    Parameters
    ----------
    url : e.g. postgresql://user@host/name; a password comes from PGPASSWORD or a password file
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.RLock()
        self._db: psycopg.Connection[Any] | None = None
        try:
            self._safely(self._migrate)
        except Unavailable as error:
            raise OSError(f"serve: --db must be a database that answers, got one that fails: {error}") from None
        except ValueError:
            self.close()
            raise

    def _connection(self) -> psycopg.Connection[Any]:
        if self._db is None or self._db.closed:
            self._db = psycopg.connect(self._url, autocommit=True, connect_timeout=5)
            self._db.execute("SET synchronous_commit = on")
            self._db.execute("SET lock_timeout = '10s'")
            self._db.execute("SET idle_in_transaction_session_timeout = '30s'")
        return self._db

    def _migrate(self) -> None:
        db = self._connection()
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_TURN,))
            db.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
            found = db.execute("SELECT max(version) FROM schema_version").fetchone()
            for number, statements in pending(STEPS, (found and found[0]) or 0):
                for statement in statements:
                    db.execute(statement)
                db.execute("INSERT INTO schema_version VALUES (%s)", (number,))
            db.execute("INSERT INTO secret VALUES (1, %s) ON CONFLICT DO NOTHING", (secrets.token_bytes(32),))

    def begin(self, after: int) -> Sequence[Row]:
        def take() -> Sequence[Row]:
            db = self._connection()
            db.execute("BEGIN")
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_TURN,))
            return self._after(after)

        return self._safely(take)

    def commit(self, rows: Sequence[Row]) -> None:
        def write() -> None:
            db = self._connection()
            with db.cursor() as cursor:
                cursor.executemany("INSERT INTO log VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", rows)
            db.execute("COMMIT")

        self._safely(write)

    def end(self) -> None:
        self._safely(lambda: self._connection().execute("ROLLBACK"))

    def news(self, after: int) -> Sequence[Row]:
        return self._safely(lambda: self._after(after))

    def read(self, after: int = 0) -> Iterator[Row]:
        while rows := self._rows(f"{_ROWS} WHERE position > %s ORDER BY position LIMIT %s", after, CHUNK):
            yield from rows
            after = rows[-1].position

    def find(self, bandit: str, decision: str) -> Sequence[Row]:
        return self._rows(f"{_ROWS} WHERE decision = %s AND bandit = %s ORDER BY position", decision, bandit)

    def snapshots(self) -> Snapshots | None:
        return grouped(self._fetch("SELECT name, position, version, content FROM snapshots"))

    def keep(self, snapshots: Snapshots) -> None:
        def write() -> None:
            db = self._connection()
            with db.transaction(), db.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_SNAPSHOTS,))
                latest = cursor.execute("SELECT max(position) FROM snapshots").fetchone()
                if latest is not None and (latest[0] or 0) > snapshots.position:
                    return
                cursor.execute("DELETE FROM snapshots")
                cursor.executemany("INSERT INTO snapshots VALUES (%s, %s, %s, %s)", listed(snapshots))

        self._safely(write)

    def secret(self) -> bytes:
        return bytes(self._fetch("SELECT value FROM secret")[0][0])

    def close(self) -> None:
        if self._db is not None:
            self._db.close()

    def _after(self, position: int) -> list[Row]:
        return list(self.read(position))

    def _rows(self, query: LiteralString, *values: Any) -> list[Row]:
        return [Row(*row) for row in self._fetch(query, *values)]

    def _fetch(self, query: LiteralString, *values: Any) -> list[Any]:
        return self._safely(lambda: self._connection().execute(query, values).fetchall())

    def _safely(self, call: Callable[[], T]) -> T:
        """Return what a call returns; if it fails, start with a fresh connection next time."""
        with self._lock:
            try:
                return call()
            except (psycopg.Error, OSError) as error:
                if self._db is not None:
                    with contextlib.suppress(psycopg.Error, OSError):
                        self._db.close()
                reason = (str(error).splitlines() or [type(error).__name__])[0]
                raise Unavailable(f"database: {reason}") from error
