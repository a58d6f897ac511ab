"""The disk is full, read-only, or fails: 503 while it lasts, nothing acknowledged is lost, and all works afterwards."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from overcast.service.store import SqliteStore
from soak.books import Books, check, load
from soak.disk import Disk
from soak.process import BELIEF, FARM, Process, first_key, once, wait_ready

#: seconds after which answers that were under way at the beginning of a fault have arrived
SETTLED = 0.3
DECISIONS = "/v1/bandits/farm/decisions"
KINDS = {"full": "f", "read-only": "r", "writes fail": "w", "syncs fail": "s", "all fails": "a"}


def failed(home: Path, rounds: int = 1, seconds: float = 0.4) -> dict[str, Any]:
    """Return what is wrong after each kind of fault, and how the service answered while it lasted."""
    disk, books = Disk(home), Books()
    db = disk.folder / "log.db"
    process = Process(str(db), home, module="soak.server", environment=disk.environment)
    key = first_key(Path(f"{db}.key"))
    assert once(process.port, key, "POST", "/v1/bandits", FARM)[0] == 201
    stop = threading.Event()
    threads = load(process.port, key, books, 4, 0, stop)
    kinds: dict[str, Any] = {}
    for _ in range(rounds):
        for name, kind in KINDS.items():
            time.sleep(seconds)
            before = books.unavailable
            disk.fail(kind)
            time.sleep(SETTLED)
            acknowledged = len(books.rewarded)
            time.sleep(seconds)
            during = len(books.rewarded) - acknowledged
            disk.fail("")
            back = wait_ready(process.port)
            status, _ = once(process.port, key, "POST", DECISIONS, {"belief": BELIEF})
            one = kinds.setdefault(name, {"times": 0, "acknowledged_meanwhile": 0, "unavailable": 0, "works_again": 0})
            one["times"] += 1
            one["acknowledged_meanwhile"] += during
            one["unavailable"] += books.unavailable - before
            one["works_again"] += status == 201
            one["seconds_until_ready"] = round(max(back, one.get("seconds_until_ready", 0.0)), 3)
    stop.set()
    for thread in threads:
        thread.join()
    alive = process.alive
    process.kill()
    store = SqliteStore(db)
    wrong = check(store, books)
    store.close()
    return {"kinds": kinds, "alive": alive, "outcomes": len(books.rewarded), "refused": len(books.refused), **wrong}
