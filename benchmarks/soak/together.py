"""Several processes on one PostgreSQL, and outcomes for one bandit that reach them in random order."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import overcast
from overcast.service.fold import folded, replayable
from overcast.service.store import open_store
from soak.books import digest, remembered
from soak.process import BELIEF, FARM, Client, Process, first_key, once

BATCH = 200
DECISIONS = "/v1/bandits/farm/decisions"


def together(db: str, folder: Path, outcomes: int, processes: int = 4, seed: int = 0) -> dict[str, Any]:
    """Return whether all processes and the fold of the log come to the same state, to the byte."""
    rng, begun = np.random.default_rng(seed), time.perf_counter()
    files = [folder / f"state-{i}.json" for i in range(processes)]
    servers = [Process(db, folder, "--out", str(file), module="soak.replica") for file in files]
    key = first_key(folder / "overcast.key")
    client = Client(servers[0].port, key)
    assert client.post("/v1/bandits", FARM)[0] == 201
    ids: list[str] = []
    while len(ids) < outcomes:
        asked = [{"belief": BELIEF} for _ in range(min(BATCH, outcomes - len(ids)))]
        status, made = client.post("/v1/bandits/farm/decisions", {"decisions": asked})
        assert status == 200, made
        ids += [one["id"] for one in made["decisions"]]
    client.close()
    order, rewards = rng.permutation(outcomes), rng.normal(size=outcomes)
    shares = [[(ids[i], float(rewards[i])) for i in part] for part in np.array_split(order, processes)]
    reading = _Reader([server.port for server in servers], key)
    reading.start()
    wrong: list[Any] = []
    threads = [
        threading.Thread(target=_report, args=(server.port, key, share, np.random.default_rng([seed, i]), wrong))
        for i, (server, share) in enumerate(zip(servers, shares, strict=True))
    ]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    reading.done.set()
    reading.join()
    for server in servers:
        client = Client(server.port, key)
        assert client.ask("GET", "/v1/bandits/farm")[1]["outcomes"] == outcomes
        client.close()
        server.stop()
    store = open_store(db)
    rows = list(store.read())
    store.close()
    state = folded(rows)
    states = [json.loads(file.read_text())["digest"] for file in files]
    return {
        "processes": processes,
        "outcomes": outcomes,
        "refused": len(wrong),
        "same_in_all": all(one == states[0] for one in states),
        "same_as_the_fold": states[0] == digest(state),
        "same_as_replay": remembered(state.lives["farm"].bandit)
        == remembered(overcast.replay(*replayable(rows, "farm"))),
        "outcomes_a_second": round(outcomes / seconds, 1),
        "seconds": round(time.perf_counter() - begun, 1),
        **reading.figures(),
    }


def _report(
    port: int, key: str, share: Sequence[tuple[str, float]], rng: np.random.Generator, wrong: list[Any]
) -> None:
    """Send a process its share of the outcomes, in batches of random size, some of them twice."""
    client, at = Client(port, key), 0
    while at < len(share):
        size = int(rng.integers(1, 20))
        items = [{"id": id_, "reward": reward} for id_, reward in share[at : at + size]]
        for _ in range(2 if rng.random() < 0.1 else 1):
            status, body = client.post("/v1/bandits/farm/outcomes", {"outcomes": items})
            if status != 200 or any(one["status"] != 200 for one in body["outcomes"]):
                wrong.append(body)
        at += size
    client.close()


class _Reader(threading.Thread):
    """Lets one process decide, and at once asks another whether it knows of it."""

    def __init__(self, ports: Sequence[int], key: str) -> None:
        super().__init__(daemon=True)
        self._ports, self._key = ports, key
        self.done = threading.Event()
        self._behind: list[int] = []
        self._seconds: list[float] = []

    def run(self) -> None:
        rng = np.random.default_rng(0)
        while not self.done.is_set():
            one, other = (self._ports[i] for i in rng.choice(len(self._ports), 2, replace=False))
            _, made = once(one, self._key, "POST", DECISIONS, {"belief": BELIEF})
            begun = time.perf_counter()
            _, seen = once(other, self._key, "GET", "/v1/bandits/farm")
            self._seconds.append(time.perf_counter() - begun)
            self._behind.append(max(0, made["position"] + 1 - seen["position"]))
            once(one, self._key, "DELETE", f"{DECISIONS}/{made['id']}")

    def figures(self) -> dict[str, Any]:
        return {
            "reads": len(self._behind),
            "reads_behind_what_was_acknowledged": sum(behind > 0 for behind in self._behind),
            "read_p99_ms": round(1000.0 * float(np.quantile(self._seconds, 0.99)), 1) if self._seconds else None,
        }
