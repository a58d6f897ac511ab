"""What callers were told, against what the log holds."""

from __future__ import annotations

import hashlib
import http.client
import json
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import overcast
from overcast.bandit import Bandit, files
from overcast.service.fold import State, folded, replayable
from overcast.service.start import read_state
from overcast.service.store import Store
from soak.process import BELIEF, Client


@dataclass
class Books:
    """What was asked for and what was acknowledged, each with the time of its acknowledgement.

    decided : ids of decisions
    rewarded : rewards of outcomes by the id of the decision
    again : outcomes that were sent and not acknowledged, to be sent again with the same body
    refused : answers that were neither what was asked for nor 503
    unavailable : how many answers were 503
    """

    decided: dict[str, float] = field(default_factory=dict)
    rewarded: dict[str, tuple[float, float]] = field(default_factory=dict)
    again: list[tuple[str, float]] = field(default_factory=list)
    refused: list[Any] = field(default_factory=list)
    unavailable: int = 0
    repeated: int = 0

    def acknowledged(self, until: float = np.inf) -> tuple[set[str], dict[str, float]]:
        """Return the decisions and the rewards that were acknowledged by some time."""
        decided = {id_ for id_, at in self.decided.items() if at <= until}
        return decided, {id_: reward for id_, (reward, at) in self.rewarded.items() if at <= until}


class Caller(threading.Thread):
    """Asks for decisions and reports their outcomes, alone and in batches, until the server is gone or told to stop."""

    def __init__(self, port: int, key: str, books: Books, seed: int, stop: threading.Event | None = None) -> None:
        super().__init__(daemon=True)
        self._client, self._books = Client(port, key), books
        self._rng = np.random.default_rng(seed)
        self.stop = threading.Event() if stop is None else stop

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                try:
                    waiting = self._books.again.pop()
                except IndexError:
                    self._batch() if self._rng.random() < 0.2 else self._pair()
                else:
                    self._reward(*waiting)
        except (OSError, http.client.HTTPException):
            pass  # the server is gone
        finally:
            self._client.close()

    def _pair(self) -> None:
        id_ = uuid.UUID(bytes=self._rng.bytes(16)).hex
        status, body = self._client.post("/v1/bandits/farm/decisions", {"belief": BELIEF, "id": id_})
        if self._fine(status, (201,), body):
            self._books.decided[id_] = time.monotonic()
            self._reward(id_, float(self._rng.normal()))

    def _reward(self, id_: str, reward: float) -> None:
        with self._sent_again({id_: reward}) as open_:
            status, body = self._client.post(f"/v1/bandits/farm/decisions/{id_}/outcome", {"reward": reward})
            if self._fine(status, (200,), body):
                self._books.rewarded[id_] = open_.pop(id_), time.monotonic()
                self._books.repeated += body["repeated"]

    def _batch(self) -> None:
        ids = [uuid.UUID(bytes=self._rng.bytes(16)).hex for _ in range(5)]
        asked = [{"belief": BELIEF, "id": id_} for id_ in ids]
        status, body = self._client.post("/v1/bandits/farm/decisions", {"decisions": asked})
        if not self._fine(status, (200,), body):
            return
        self._books.decided |= dict.fromkeys(ids, time.monotonic())
        with self._sent_again({id_: float(self._rng.normal()) for id_ in ids}) as open_:
            outcomes = [{"id": id_, "reward": reward} for id_, reward in open_.items()]
            status, body = self._client.post("/v1/bandits/farm/outcomes", {"outcomes": outcomes})
            if not self._fine(status, (200,), body):
                return
            now = time.monotonic()
            for verdict in body["outcomes"]:
                if self._fine(verdict["status"], (200,), verdict):
                    self._books.rewarded[verdict["id"]] = open_.pop(verdict["id"]), now

    @contextmanager
    def _sent_again(self, rewards: dict[str, float]) -> Iterator[dict[str, float]]:
        """Take note of the outcomes that are still in the dictionary at the end: they were not acknowledged."""
        try:
            yield rewards
        finally:
            self._books.again.extend(rewards.items())

    def _fine(self, status: int, expected: tuple[int, ...], body: Any) -> bool:
        if status in expected:
            return True
        if status == 503:
            self._books.unavailable += 1
            time.sleep(0.05)
        else:
            self._books.refused.append((status, body))
        return False


def load(port: int, key: str, books: Books, callers: int, seed: int, stop: threading.Event) -> list[Caller]:
    """Start some callers."""
    out = [Caller(port, key, books, seed * 1000 + i, stop) for i in range(callers)]
    for one in out:
        one.start()
    return out


def check(store: Store, books: Books, until: float = np.inf) -> dict[str, int]:
    """Check a log against what was acknowledged by some time; return what is wrong with it, as counts.

    lost : acknowledged and not in the log, or with another reward
    twice : decisions or outcomes that are there more than once
    apart : bandits whose estimates are not those of a replay of the log, to the byte
    """
    decided, rewarded = books.acknowledged(until)
    rows = list(store.read())
    made = [row.decision for row in rows if row.kind == "decide"]
    learnt = [(row.decision, json.loads(row.body)["reward"]) for row in rows if row.kind == "learn"]
    found = dict(learnt)
    state = read_state(store)[0]
    replayed = {name: overcast.replay(*replayable(rows, name)) for name in state.lives}
    apart = sum(remembered(life.bandit) != remembered(replayed[name]) for name, life in state.lives.items())
    apart += digest(state) != digest(folded(rows))
    apart += sum(life.bandit.learnt.rounds for life in state.lives.values()) != len(learnt)
    apart += [row.position for row in rows] != list(range(1, len(rows) + 1))
    return {
        "lost": len(decided - set(made)) + sum(found.get(id_) != reward for id_, reward in rewarded.items()),
        "twice": len(made) - len(set(made)) + len(learnt) - len(found),
        "apart": apart,
    }


def remembered(bandit: Bandit) -> str:
    """Return a hash of all that a bandit remembers, without the marks of the instance."""
    header, arrays = files.written(bandit.state)
    hashed = hashlib.blake2b(json.dumps({k: v for k, v in header.items() if k != files.MARKS}, sort_keys=True).encode())
    for name in sorted(arrays):
        hashed.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        hashed.update(np.ascontiguousarray(arrays[name]).tobytes())
    return hashed.hexdigest()


def digest(state: State) -> dict[str, str]:
    """Return a hash of every bandit, with its open decisions and counts."""
    out = {}
    for name, life in state.lives.items():
        rest = hashlib.blake2b(repr((life.open, life.counts, life.terms)).encode())
        out[name] = f"{remembered(life.bandit)} {rest.hexdigest()}"
    return out
