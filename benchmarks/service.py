"""What the service answers on loopback, durably, against its floors: the framework alone, and the syncs alone.

    PYTHONPATH=benchmarks python benchmarks/service.py [--part loaded|untuned|memory|starts]

One process on SQLite; k = 100 actions, d = 15 features, ridge given; 32 connections; keys, validation, metrics and logs
on. Load and server share the machine, so the figures come with the load average, and with the processor time that the
server spent per pair, which hardly depends on who else works here. `make soak` keeps them.
"""

from __future__ import annotations

import os

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import overcast
from overcast.service import spec
from overcast.service.engine import Engine
from overcast.service.fold import folded
from overcast.service.messages import NewDecision, NewOutcome
from overcast.service.routes.decisions import decide_one
from overcast.service.routes.outcomes import take_outcome
from overcast.service.settings import Limits
from overcast.service.store import Row, Snapshots, SqliteStore
from service_load import Finished, Load, post, run
from soak.process import Client, Process, first_key, wait_ready

K, C, CONNECTIONS = 100, 5, 32
BANDITS = "/v1/bandits"


def bandit(rng: np.random.Generator, tuned: bool = True) -> dict[str, Any]:
    """Return a bandit; without a ridge and a beta unless it is tuned."""
    actions = {f"action {i}": rng.normal(size=C).tolist() for i in range(K)}
    out: dict[str, Any] = {"name": "one", "actions": actions, "features": "Quadratic"}
    return out | ({"ridge": 1.0, "policy": {"type": "UCB", "beta": 2.0}} if tuned else {})


def belief(rng: np.random.Generator) -> dict[str, Any]:
    return {"type": "Gaussian", "mean": rng.normal(size=C).tolist(), "cov": rng.uniform(0.1, 1.0, size=C).tolist()}


class Server(Process):
    """`overcast serve` as a process, with one bandit."""

    def __init__(self, folder: Path, tuned: bool = True) -> None:
        super().__init__(str(folder / "log.db"), folder)
        self.key = first_key(folder / "log.db.key")
        self.seen = psutil.Process(self.process.pid)
        client = Client(self.port, self.key)
        assert client.post(BANDITS, bandit(np.random.default_rng(0), tuned))[0] == 201
        client.close()

    def spent(self) -> float:
        """Return the seconds of processor time so far."""
        times = self.seen.cpu_times()
        return float(times.user + times.system)

    @property
    def megabytes(self) -> float:
        """Memory that the process holds."""
        return float(self.seen.memory_info().rss / 2**20)


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


def load_figures(load: Load, per: int = 1) -> dict[str, float]:
    """Return rate, latencies and failures of a load; `per` requests count as one."""
    return {
        "a_second": round(load.rate / per, 1),
        "p50_ms": round(load.p50, 2),
        "p99_ms": round(load.p99, 2),
        "failures": load.failures,
    }


def loaded(folder: Path, seconds: float = 10.0) -> dict[str, Any]:
    """Return the figures of a server under load, and its floors."""
    out = {"floor: constants": constants(folder / "a", seconds), "floor: syncs": syncs(folder, seconds)}
    server = _server(folder / "b")
    run(server.port, pairs(server.key), CONNECTIONS, 1.0)
    out["pairs"] = _pairs(server, seconds)
    out["pairs at 400 a second"] = load_figures(run(server.port, pairs(server.key), CONNECTIONS, seconds, 800.0), 2)
    out["batches of 100"] = batched(server)
    server.stop()
    return out


def untuned(folder: Path, seconds: float = 10.0) -> dict[str, Any]:
    """Return what the default reaches, which learns noise and ridge from the rewards."""
    server = _server(folder / "untuned", tuned=False)
    run(server.port, pairs(server.key), CONNECTIONS, 1.0)
    out = _pairs(server, seconds)
    server.stop()
    return out


def memory(folder: Path, count: int = 360_000, parts: int = 12) -> dict[str, Any]:
    """Return how memory grows over the pairs of an hour at 100 a second, sent as fast as they are answered."""
    server, sizes, sent, begun = _server(folder / "memory"), [], 0, time.perf_counter()
    run(server.port, pairs(server.key), CONNECTIONS, 2.0)
    first = server.megabytes
    while sent < count:
        left = count // parts
        load = run(server.port, pairs(server.key), CONNECTIONS, 600.0, most=2 * left)
        assert load.failures == 0
        sent += load.answers // 2
        sizes.append(round(server.megabytes, 1))
    seconds = time.perf_counter() - begun
    server.stop()
    return {
        "pairs": sent,
        "pairs_a_second": round(sent / seconds, 1),
        "megabytes_at_first": round(first, 1),
        "megabytes": sizes,
        "megabytes_grown_over_the_last_half": round(sizes[-1] - sizes[len(sizes) // 2 - 1], 1),
    }


def _server(folder: Path, tuned: bool = True) -> Server:
    folder.mkdir()
    return Server(folder, tuned)


def _pairs(server: Server, seconds: float) -> dict[str, float]:
    before = server.spent()
    load = run(server.port, pairs(server.key), CONNECTIONS, seconds)
    spent = (server.spent() - before) / (load.answers / 2)
    return load_figures(load, 2) | {"processor_ms_per_pair": round(1000 * spent, 3)}


def constants(folder: Path, seconds: float) -> dict[str, float]:
    """Return what the same framework answers if nothing is to be done."""
    server = _server(folder)

    def script(number: int) -> Iterator[Any]:
        while True:
            yield b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"

    before = server.spent()
    load = run(server.port, script, CONNECTIONS, seconds)
    spent = (server.spent() - before) / load.answers
    server.stop()
    return load_figures(load) | {"processor_ms": round(1000 * spent, 3)}


def syncs(folder: Path, seconds: float) -> dict[str, float]:
    """Return how many durable commits of one row there are in a second."""
    store, position, begun = SqliteStore(folder / "syncs.db"), 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        position += 1
        store.commit([Row(position, 0.0, "one", "decide", str(position), "0", "{}" * 400, b"0" * 1200)])
    store.close()
    return {"commits_a_second": round(position / (time.perf_counter() - begun), 1)}


def logged(path: Path, outcomes: int, like: int = 1000) -> None:
    """Write a log with so many decisions and their outcomes: some real ones, again and again under new ids."""
    store = SqliteStore(path)
    engine, rng = Engine(store, snapshot_every=10**9), np.random.default_rng(0)
    given = bandit(rng)
    model, policy = spec.model_of("Quadratic", None, None, 1.0), spec.policy_of(given["policy"])
    config = spec.configuration(given["actions"], model, policy)
    engine.start()
    engine.do(lambda turn: turn.append("one", "create", {"event": "create", "config": config, "terms": {}}))
    beliefs, rewards = [belief(rng) for _ in range(like)], rng.normal(size=like)

    def work(turn: Any) -> None:
        for i, one in enumerate(beliefs):
            decided = decide_one(turn, "one", NewDecision(one, id=f"{i:032x}"), None, Limits())
            take_outcome(turn, "one", decided.id, NewOutcome(float(rewards[i])))

    engine.do(work)
    rows = list(store.read(1))
    for copy in range(1, -(-outcomes // like)):
        store.commit([_renamed(row, copy, like) for row in rows[: 2 * min(like, outcomes - copy * like)]])
    engine.stop()
    store = SqliteStore(path)
    store.keep(Snapshots(0, "", {}))
    store.close()


def _renamed(row: Row, copy: int, like: int) -> Row:
    """Return the same row later in the log, about a decision with another id."""
    assert row.decision is not None
    other = f"{int(row.decision, 16) + copy * like:032x}"
    body = row.body.replace(row.decision, other)
    return row._replace(position=row.position + 2 * copy * like, decision=other, body=body)


def starts(folder: Path, outcomes: int = 1_000_000) -> dict[str, float]:
    """Return how long a start takes with so many outcomes in the log, with snapshots and without; and with a tenth."""
    out: dict[str, float] = {}
    for count in (outcomes // 10, outcomes):
        path = folder / f"{count}.db"
        logged(path, count)
        store, begun = SqliteStore(path), time.perf_counter()
        state = folded(store.read())
        anew = time.perf_counter() - begun
        assert state.lives["one"].counts.outcomes == count
        store.keep(Snapshots(state.position, overcast.__version__, state.contents()))
        store.close()
        begun = time.perf_counter()
        process = Process(str(path), folder)
        wait_ready(process.port)
        kept = time.perf_counter() - begun
        process.stop()
        os.remove(path)
        out |= {
            f"{count} outcomes: seconds_from_snapshot": round(kept, 3),
            f"{count} outcomes: seconds_without": round(anew, 3),
            f"{count} outcomes: folded_a_second": round(count / anew, 1),
        }
    return out


PARTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "loaded": loaded,
    "untuned": untuned,
    "memory": memory,
    "starts": starts,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, default="loaded")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {"load_before": os.getloadavg()[0]} | PARTS[args.part](Path(folder))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
