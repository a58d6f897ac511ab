"""Where the log is kept: a SQLite file, or PostgreSQL."""

from __future__ import annotations

from overcast.service.store.base import Row, Snapshots, Store, Unavailable
from overcast.service.store.sqlite import SqliteStore

__all__ = ["Row", "Snapshots", "SqliteStore", "Store", "Unavailable", "open_store", "sqlite_path"]


def open_store(url: str) -> Store:
    """Return the store at a URL (postgresql://...), or in the SQLite file with this path (sqlite:/// may lead it)."""
    if url.startswith(("postgresql://", "postgres://")):
        try:
            from overcast.service.store.postgres import PostgresStore
        except ModuleNotFoundError as error:
            raise ImportError(
                f"serve: --db needs {error.name}; install it with pip install 'overcast[postgres]'"
            ) from None
        return PostgresStore(url)
    path = sqlite_path(url)
    if path is None:
        scheme = url.partition("://")[0]
        raise ValueError(f"serve: --db must be a path or postgresql://..., got one that starts with {scheme}://")
    if not path or (path != url and "?" in path):
        raise ValueError(f"serve: --db must name a file behind sqlite:///, without options, got {url!r}")
    if path == ":memory:":
        raise ValueError("serve: --db must name a file, got ':memory:': the log must outlive the process")
    return SqliteStore(path)


def sqlite_path(url: str) -> str | None:
    """Return the path of a SQLite file, which sqlite:/// may lead; None for any other address."""
    path = url.removeprefix("sqlite:///")
    return None if "://" in path else path
