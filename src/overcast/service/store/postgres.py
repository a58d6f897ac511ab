"""The log in PostgreSQL, to which several processes may write in turns."""

from __future__ import annotations

import contextlib
import secrets
import select
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, LiteralString, TypeVar

import psycopg

from overcast.service.store.base import (
    CHUNK,
    ERASED,
    Replaced,
    Row,
    Snapshots,
    Unavailable,
    grouped,
    listed,
    pending,
)

T = TypeVar("T")
_Connection = psycopg.Connection[Any]

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
    2: ("CREATE TABLE sessions (digest TEXT PRIMARY KEY, key TEXT NOT NULL, expires DOUBLE PRECISION NOT NULL)",),
}

# Names of advisory locks: of the turn to write, and of snapshots.
_TURN, _SNAPSHOTS = 0x6F766572, 0x63617374

# Seconds after which somebody who waits for the turn looks for something else to do, and after which it gives up.
_PATIENCE, _LONGEST = 0.02, 10.0

# A database that no longer answers is given up after some seconds.
_ALIVE: dict[str, Any] = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}

_ROWS: LiteralString = "SELECT position, time, bandit, kind, decision, version, body, detail FROM log"
_PLAIN: LiteralString = "SELECT position, time, bandit, kind, decision, version, body, NULL FROM log"


class PostgresStore:
    """A log that processes write to in turns.

    A turn is a transaction that holds an advisory lock. The lock is given back after the commit can be seen, so that
    whoever has the turn sees every row before its own, and positions become visible in order. Reading has a connection
    of its own and never waits for a turn.

    Parameters
    ----------
    url : e.g. postgresql://user@host/name; a password comes from PGPASSWORD or a password file
    """

    def __init__(self, url: str) -> None:
        self._writing, self._reading = _Link(url), _Link(url)
        try:
            self._writing.call(_migrate)
        except Unavailable as error:
            raise OSError(f"serve: --db must be a database that answers, got one that fails: {error}") from None
        except ValueError:
            self.close()
            raise

    def begin(self, after: Callable[[], int], meanwhile: Callable[[], None]) -> Sequence[Row]:
        def take(db: _Connection) -> list[Row]:
            db.execute("BEGIN")
            _lock(db, meanwhile)
            return _after(db, after())

        return self._writing.call(take)

    def commit(self, rows: Sequence[Row]) -> None:
        def write(db: _Connection) -> None:
            with db.cursor() as cursor:
                cursor.executemany("INSERT INTO log VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", rows)
            db.execute("COMMIT")

        self._writing.call(write)

    def end(self) -> None:
        if self._writing.open:
            self._writing.call(lambda db: db.execute("ROLLBACK"))

    def news(self, after: int) -> Sequence[Row]:
        return self._reading.call(lambda db: _after(db, after))

    def read(self, after: int = 0) -> Iterator[Row]:
        def chunk(db: _Connection) -> list[Row]:
            return _chunk(db, after + 1)

        while rows := self._reading.call(chunk):
            yield from rows
            after = rows[-1].position

    def find(self, bandit: str, decision: str) -> Sequence[Row]:
        query: LiteralString = f"{_ROWS} WHERE decision = %s AND bandit = %s ORDER BY position"
        return [Row(*row) for row in self._fetch(query, decision, bandit)]

    def latest(self, bandit: str, kinds: Sequence[str], after: int, until: int, limit: int) -> Sequence[Row]:
        where: LiteralString = "position > %s AND position <= %s AND bandit = %s AND kind = ANY(%s)"
        query: LiteralString = f"{_PLAIN} WHERE {where} ORDER BY position DESC LIMIT %s"
        return [Row(*row) for row in self._fetch(query, after, until, bandit, list(kinds), limit)][::-1]

    def snapshots(self) -> Snapshots | None:
        return grouped(self._fetch("SELECT name, position, version, content FROM snapshots"))

    def keep(self, snapshots: Snapshots) -> None:
        def write(db: _Connection) -> None:
            with db.transaction(), db.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_SNAPSHOTS,))
                latest = cursor.execute("SELECT max(position) FROM snapshots").fetchone()
                if latest is not None and (latest[0] or 0) > snapshots.position:
                    return
                cursor.execute("DELETE FROM snapshots")
                cursor.executemany("INSERT INTO snapshots VALUES (%s, %s, %s, %s)", listed(snapshots))

        self._writing.call(write)

    def last(self) -> int:
        return int(self._fetch("SELECT coalesce(max(position), 0) FROM log")[0][0])

    def erase(self, bandit: str, until: int, base: Row | None) -> int:
        if base is not None:
            change: LiteralString = "SET kind = %s, decision = NULL, version = %s, body = %s, detail = %s"
            update: LiteralString = f"UPDATE log {change} WHERE position = %s RETURNING position"
            self._fetch(update, base.kind, base.version, base.body, base.detail, base.position)
        below, count = until + 1 if base is None else base.position, 0
        chosen: LiteralString = (
            "SELECT position FROM log WHERE bandit = %s AND position < %s ORDER BY position DESC LIMIT %s"
        )
        delete: LiteralString = f"DELETE FROM log WHERE position IN ({chosen}) RETURNING position"
        while gone := self._fetch(delete, bandit, below, ERASED):
            below, count = min(gone)[0], count + len(gone)
        if base is None:
            drop: LiteralString = "DELETE FROM snapshots WHERE name = %s AND position <= %s RETURNING position"
            self._fetch(drop, bandit, until)
        return count

    def secret(self) -> bytes:
        return bytes(self._fetch("SELECT value FROM secret")[0][0])

    def begin_session(self, digest: str, key: str, expires: float, now: float) -> None:
        self._fetch("DELETE FROM sessions WHERE expires <= %s RETURNING digest", now)
        self._fetch("INSERT INTO sessions VALUES (%s, %s, %s) RETURNING digest", digest, key, expires)

    def find_session(self, digests: Sequence[str], now: float) -> tuple[str, str] | None:
        query: LiteralString = "SELECT digest, key FROM sessions WHERE digest = ANY(%s) AND expires > %s LIMIT 1"
        found = self._fetch(query, list(digests), now)
        return found[0] if found else None

    def end_session(self, digest: str) -> None:
        self._fetch("DELETE FROM sessions WHERE digest = %s RETURNING digest", digest)

    def close(self) -> None:
        self._writing.close()
        self._reading.close()

    def _fetch(self, query: LiteralString, *values: Any) -> list[Any]:
        return self._reading.call(lambda db: db.execute(query, values).fetchall())


class _Link:
    """A connection that is made anew after a failure; threads wait for each other."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.RLock()
        self._db: _Connection | None = None

    @property
    def open(self) -> bool:
        return self._db is not None and not self._db.closed

    def call(self, work: Callable[[_Connection], T]) -> T:
        """Run work, and return its result."""
        with self._lock:
            try:
                return work(self._connection())
            except BaseException as error:
                self.close()  # what was begun ends with the connection
                if not isinstance(error, (psycopg.Error, OSError)):
                    raise
                reason = (str(error).splitlines() or [type(error).__name__])[0]
                raise Unavailable(f"database: {reason}") from error

    def _connection(self) -> _Connection:
        if self._db is None or self._db.closed:
            self._db = psycopg.connect(self._url, autocommit=True, connect_timeout=5, **_ALIVE)
            self._db.execute("SET synchronous_commit = on")
            self._db.execute("SELECT set_config('lock_timeout', %s, false)", (f"{1000.0 * _LONGEST:.0f}ms",))
            self._db.execute("SET idle_in_transaction_session_timeout = '30s'")
        return self._db

    def close(self) -> None:
        if self._db is not None:
            with contextlib.suppress(psycopg.Error, OSError):
                self._db.close()


def _migrate(db: _Connection) -> None:
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_TURN,))
        db.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
        found = db.execute("SELECT max(version) FROM schema_version").fetchone()
        for number, statements in pending(STEPS, (found and found[0]) or 0):
            for statement in statements:
                db.execute(statement)
            db.execute("INSERT INTO schema_version VALUES (%s)", (number,))
        db.execute("INSERT INTO secret VALUES (1, %s) ON CONFLICT DO NOTHING", (secrets.token_bytes(32),))


def _lock(db: _Connection, meanwhile: Callable[[], None]) -> None:
    """Wait in line for the turn, and do something else meanwhile."""
    free = db.execute("SELECT pg_try_advisory_xact_lock(%s)", (_TURN,)).fetchone()
    if free is not None and free[0]:
        return
    connection = db.pgconn
    connection.send_query(b"SELECT pg_advisory_xact_lock(%d)" % _TURN)
    while connection.is_busy():
        if select.select([connection.socket], [], [], _PATIENCE)[0]:
            connection.consume_input()
        else:
            meanwhile()
    while (result := connection.get_result()) is not None:
        if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
            raise psycopg.OperationalError(result.error_message.decode(errors="replace") or "the turn did not come")


def _chunk(db: _Connection, start: int) -> list[Row]:
    query: LiteralString = f"{_ROWS} WHERE position >= %s ORDER BY position LIMIT %s"
    return [Row(*row) for row in db.execute(query, (start, CHUNK)).fetchall()]


def _after(db: _Connection, position: int) -> list[Row]:
    """Return all rows after a position, which must be in the log."""
    rows = _chunk(db, position)
    if not rows and position:
        raise Replaced(f"database: the log must go on from position {position}, got one that ends before it")
    out = [row for row in rows if row.position > position]
    while len(rows) == CHUNK:
        rows = _chunk(db, rows[-1].position + 1)
        out += rows
    return out
