"""The server dies by SIGKILL at random moments under load, again and again, on one database."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from overcast.service.store import open_store
from soak.books import Books, check, load
from soak.process import FARM, Client, Process, first_key


def killed(db: str, folder: Path, times: int, callers: int = 6, seed: int = 0) -> dict[str, Any]:
    """Return what is wrong after so many deaths, and how much was acknowledged.

    After each death the callers send again what was not acknowledged, so that the same outcome may come twice.
    """
    rng, books, key = np.random.default_rng(seed), Books(), ""
    for time_ in range(times):
        process = Process(db, folder, environment={"OVERCAST_SNAPSHOT_EVERY": "500"})
        if not key:
            key = first_key(folder / ("overcast.key" if "://" in db else f"{Path(db).name}.key"))
            client = Client(process.port, key)
            assert client.post("/v1/bandits", FARM)[0] == 201
            client.close()
        stop = threading.Event()
        threads = load(process.port, key, books, callers, seed * 10_000 + time_, stop)
        time.sleep(float(rng.uniform(0.05, 0.6)))
        process.kill()
        stop.set()
        for thread in threads:
            thread.join()
    store = open_store(db)
    wrong = check(store, books)
    store.close()
    return {
        "deaths": times,
        "decisions_acknowledged": len(books.decided),
        "outcomes_acknowledged": len(books.rewarded),
        "sent_again_and_known": books.repeated,
        "refused": len(books.refused),
        **wrong,
    }
