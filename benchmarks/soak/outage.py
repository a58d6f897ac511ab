"""PostgreSQL stops and comes back under load: 503 while it is away, nothing lost, and no restart of the service."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from overcast.service.store import open_store
from soak.books import Books, check, load
from soak.postgres import database
from soak.process import FARM, Process, first_key, once, wait_ready


def stopped(server: Any, folder: Path, times: int, seconds: float = 0.5) -> dict[str, Any]:
    """Return what is wrong after so many outages, and how the service answered meanwhile."""
    db, books = database(server.get_uri()), Books()
    process = Process(db, folder)
    key = first_key(folder / "overcast.key")
    assert once(process.port, key, "POST", "/v1/bandits", FARM)[0] == 201
    stop = threading.Event()
    threads = load(process.port, key, books, 4, 0, stop)
    reads, longest = [], 0.0
    for _ in range(times):
        time.sleep(seconds)
        server.stop()
        reads += [once(process.port, key, "GET", path)[0] for path in ("/v1/bandits/farm", "/readyz")]
        time.sleep(seconds)
        server.start()
        longest = max(longest, wait_ready(process.port))
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    alive = process.alive
    process.stop()
    store = open_store(db)
    wrong = check(store, books)
    store.close()
    return {
        "outages": times,
        "outcomes": len(books.rewarded),
        "unavailable": books.unavailable,
        "reads_meanwhile": sorted(set(reads)),
        "seconds_until_ready": round(longest, 3),
        "alive": alive,
        "refused": len(books.refused),
        **wrong,
    }
