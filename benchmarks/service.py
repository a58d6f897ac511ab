"""What the service answers on loopback, durably, against its floors: the framework alone, and the syncs alone.

    python benchmarks/service.py --keep benchmarks/service.json

One process on SQLite; k = 100 actions, d = 15 features, ridge given; 32 connections; keys, validation, metrics and logs
on. Load and server share the machine, so the file also holds the load average, and the processor time that the server
spent per pair, which hardly depends on who else works here.
"""

from __future__ import annotations

import os

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from overcast.service import spec
from overcast.service.engine import Engine, started
from overcast.service.fold import State, folded
from overcast.service.messages import NewDecision, NewOutcome
from overcast.service.routes.decisions import made
from overcast.service.routes.outcomes import taken
from overcast.service.settings import Limits
from overcast.service.store import Row, SqliteStore
from service_load import Finished, Load, post, run

K, C, CONNECTIONS = 100, 5, 32
BANDITS = "/v1/bandits"


def bandit(rng: np.random.Generator) -> dict[str, Any]:
    actions = {f"action {i}": rng.normal(size=C).tolist() for i in range(K)}
    policy = {"type": "UCB", "beta": 2.0}
    return {"name": "one", "actions": actions, "features": "Quadratic", "ridge": 1.0, "policy": policy}


def belief(rng: np.random.Generator) -> dict[str, Any]:
    return {"type": "Gaussian", "mean": rng.normal(size=C).tolist(), "cov": rng.uniform(0.1, 1.0, size=C).tolist()}


class Server:
    """`overcast serve` as a process, with one bandit."""

    def __init__(self, folder: str) -> None:
        self.log = open(Path(folder, "requests.log"), "w")  # noqa: SIM115
        command = [sys.executable, "-m", "overcast.cli", "serve", "--db", f"{folder}/log.db", "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().split("127.0.0.1:")[1].split()[0])
        self.process.stdout.readline()
        self.key = Path(f"{folder}/log.db.key").read_text().strip()
        self.seen = psutil.Process(self.process.pid)
        body = json.dumps(bandit(np.random.default_rng(0))).encode()

        def create(number: int) -> Iterator[Any]:
            yield post(BANDITS, body, self.key)
            raise Finished

        run(self.port, create, 1, 60.0)

    def spent(self) -> float:
        """Return the seconds of processor time so far."""
        times = self.seen.cpu_times()
        return float(times.user + times.system)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.log.close()


def pairs(key: str) -> Any:
    """Return the script of a connection: a decision, then its outcome."""

    def script(number: int) -> Any:
        rng = np.random.default_rng(number)
        bodies = [json.dumps({"belief": belief(rng)}).encode() for _ in range(50)]
        while True:
            _, content = yield post(f"{BANDITS}/one/decisions", bodies[int(rng.integers(50))], key)
            path = f"{BANDITS}/one/decisions/{json.loads(content)['id']}/outcome"
            yield post(path, json.dumps({"reward": float(rng.normal())}).encode(), key)

    return script


def batched(server: Server, size: int = 100, each: int = 10) -> dict[str, float]:
    """Return how many outcomes a second are taken in batches from four connections, of decisions made beforehand."""
    made_before: list[str] = []
    rng = np.random.default_rng(0)

    def decide(number: int) -> Any:
        body = json.dumps({"decisions": [{"belief": belief(rng)} for _ in range(size)]}).encode()
        while True:
            _, content = yield post(f"{BANDITS}/one/decisions", body, server.key)
            made_before.extend(one["id"] for one in json.loads(content)["decisions"])

    def reward(number: int) -> Any:
        while made_before:
            taken_now = [made_before.pop() for _ in range(min(size, len(made_before)))]
            outcomes = [{"id": id_, "reward": 1.0} for id_ in taken_now]
            yield post(f"{BANDITS}/one/outcomes", json.dumps({"outcomes": outcomes}).encode(), server.key)
        raise Finished

    while len(made_before) < size * each:
        run(server.port, decide, 4, 0.5)
    count, before = len(made_before), server.spent()
    load = run(server.port, reward, 4, 60.0)
    return {
        "outcomes_a_second": round(count / load.seconds, 1),
        "p99_ms": round(load.p99, 2),
        "processor_ms_per_outcome": round(1000 * (server.spent() - before) / count, 4),
        "failures": load.failures,
    }


def told(load: Load, per: int = 1) -> dict[str, float]:
    """Return a load as figures; `per` requests make one of what is counted."""
    return {
        "a_second": round(load.rate / per, 1),
        "p50_ms": round(load.p50, 2),
        "p99_ms": round(load.p99, 2),
        "failures": load.failures,
    }


def served(folder: str, seconds: float) -> dict[str, Any]:
    """Return the figures of a server under load."""
    server = Server(folder)
    try:
        run(server.port, pairs(server.key), CONNECTIONS, 1.0)
        before, memory = server.spent(), server.seen.memory_info().rss
        full = run(server.port, pairs(server.key), CONNECTIONS, seconds)
        spent = (server.spent() - before) / (full.answers / 2)
        grown = server.seen.memory_info().rss - memory
        half = run(server.port, pairs(server.key), CONNECTIONS, seconds, 800.0)
        many = batched(server)
    finally:
        server.stop()
    return {
        "pairs": told(full, 2) | {"processor_ms_per_pair": round(1000 * spent, 3), "memory_grown_mb": grown / 2**20},
        "pairs at 400 a second": told(half, 2),
        "batches of 100": many,
    }


def constants(folder: str, seconds: float) -> dict[str, float]:
    """Return what the same framework answers if nothing is to be done."""
    server = Server(folder)

    def script(number: int) -> Iterator[Any]:
        while True:
            yield b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"

    try:
        before = server.spent()
        load = run(server.port, script, CONNECTIONS, seconds)
        spent = (server.spent() - before) / load.answers
    finally:
        server.stop()
    return told(load) | {"processor_ms": round(1000 * spent, 3)}


def syncs(folder: str, seconds: float) -> dict[str, float]:
    """Return how many durable commits of one row there are in a second."""
    store, position, begun = SqliteStore(f"{folder}/syncs.db"), 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        position += 1
        store.commit([Row(position, 0.0, "one", "decide", str(position), "0", "{}" * 400, b"0" * 1200)])
    store.close()
    return {"commits_a_second": round(position / (time.perf_counter() - begun), 1)}


def starts(folder: str, logged: int) -> dict[str, float]:
    """Return how long a start takes with so many outcomes in the log, with snapshots and without."""
    store = SqliteStore(f"{folder}/starts.db")
    engine, rng = Engine(store, snapshot_every=10**9), np.random.default_rng(0)
    given = bandit(rng)
    model, policy = spec.model_of("Quadratic", None, None, 1.0), spec.policy_of(given["policy"])
    config = spec.configuration(given["actions"], model, policy, None, 0, False)
    engine.start()
    engine.do(lambda turn: turn.append("one", "create", {"event": "create", "config": config, "terms": {}}))
    beliefs = [belief(rng) for _ in range(100)]

    def work(turn: Any) -> None:
        for one in beliefs:
            decided = made(turn, "one", NewDecision(one), None, Limits())
            taken(turn, "one", decided.id, NewOutcome(1.0))

    for _ in range(logged // 100):
        engine.do(work)
    engine.stop()  # keeps the state
    store = SqliteStore(f"{folder}/starts.db")
    begun = time.process_time()
    state, position = started(store)
    kept = time.process_time() - begun
    begun = time.process_time()
    again: State = folded(store.read())
    anew = time.process_time() - begun
    assert state.position == again.position == position == 2 * logged + 1
    store.close()
    return {
        "outcomes": logged,
        "seconds_from_snapshot": round(kept, 3),
        "seconds_without": round(anew, 3),
        "outcomes_folded_a_second": round(logged / anew, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--logged", type=int, default=20_000)
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    figures: dict[str, Any] = {"python": platform.python_version(), "load_before": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder:
        figures["floor: constants"] = constants(folder, args.seconds)
        figures["floor: syncs"] = syncs(folder, args.seconds)
    with tempfile.TemporaryDirectory() as folder:
        figures |= served(folder, args.seconds)
        figures["start"] = starts(folder, args.logged)
    figures["load_after"] = os.getloadavg()[0]
    print(json.dumps(figures, indent=1))
    if args.keep:
        args.keep.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
