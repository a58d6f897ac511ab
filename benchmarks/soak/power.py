"""The power fails at random moments: what was not synced is gone, all of it or some sectors of it."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from overcast.service.store import SqliteStore
from soak.books import Books, check, load
from soak.disk import Disk, Platter
from soak.process import FARM, Client, Process, first_key


def cut(synchronous: str, lives: int, cuts: int, seconds: float, seed: int = 0) -> dict[str, Any]:
    """Return in how many of the cuts something was wrong, and what.

    lives : of servers, each with an empty folder, under load for some seconds
    cuts : in each life at random moments, half of which lose all that was not synced, the others some of it
    """
    out: dict[str, Any] = {"cuts": 0, "wrong": 0, "unreadable": 0, "lost": 0, "twice": 0, "apart": 0, "outcomes": 0}
    for life in range(lives):
        with tempfile.TemporaryDirectory() as home:
            _one(synchronous, Path(home), cuts, seconds, np.random.default_rng([seed, life]), out)
    return out


def _one(
    synchronous: str, home: Path, cuts: int, seconds: float, rng: np.random.Generator, out: dict[str, Any]
) -> None:
    disk, books = Disk(home), Books()
    db = disk.folder / "log.db"
    process = Process(str(db), home, "--synchronous", synchronous, module="soak.server", environment=disk.environment)
    key = first_key(Path(f"{db}.key"))
    client = Client(process.port, key)
    assert client.post("/v1/bandits", FARM)[0] == 201
    client.close()
    begun, stop = time.monotonic(), threading.Event()
    threads = load(process.port, key, books, 4, int(rng.integers(1000)), stop)
    time.sleep(seconds)
    ended = time.monotonic()
    process.kill()
    stop.set()
    for thread in threads:
        thread.join()
    out["outcomes"] += len(books.rewarded)
    assert not books.refused, books.refused[:3]
    moments = np.sort(rng.uniform(begun, ended, cuts))
    platter, number = Platter(), 0
    for event in disk.events():
        while number < cuts and event.time > moments[number]:
            _judge(platter, home / f"cut-{number}", books, float(moments[number]), rng if number % 2 else None, out)
            number += 1
        platter.happen(event)


def _judge(
    platter: Platter, folder: Path, books: Books, moment: float, rng: np.random.Generator | None, out: dict[str, Any]
) -> None:
    platter.cut(folder, rng)
    out["cuts"] += 1
    try:
        store = SqliteStore(folder / "log.db")
        try:
            found = check(store, books, moment)
        finally:
            store.close()
    except Exception:  # a file that cannot be read at all is a finding, whatever it raises
        out["unreadable"] += 1
        out["wrong"] += 1
        return
    out["wrong"] += any(found.values())
    for name, count in found.items():
        out[name] += count
