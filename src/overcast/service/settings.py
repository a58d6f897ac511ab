"""Settings of the service."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a request may ask for.

    body : bytes of a request
    depth : of nested lists and objects in a request
    batch : decisions or outcomes in a request
    actions : of a bandit
    dimensions : of an action, of a context, and of the features of both
    rate : requests per second of one key; None for no limit
    """

    body: int = 1_000_000
    depth: int = 40
    batch: int = 1000
    actions: int = 10_000
    dimensions: int = 2000
    rate: float | None = None


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings.

    db : path of a SQLite file, or postgresql://...
    host, port : to listen on
    limits : of requests
    snapshot_every : rows of the log after which the state is kept
    log_requests : whether every request is a line in the log of the process
    """

    db: str = "overcast.db"
    host: str = "127.0.0.1"
    port: int = 8765
    limits: Limits = Limits()
    snapshot_every: int = 10_000
    log_requests: bool = True
