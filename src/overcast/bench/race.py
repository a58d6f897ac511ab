"""A race: entries take turns on the same rounds, and each is timed on its own."""

from __future__ import annotations

import importlib.metadata
import statistics
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from overcast.bench.tasks import Task

# Rounds per turn, and seconds after which an entry leaves the race.
TURN, BUDGET = 20, 20.0


class Racer(ABC):
    """One package at work on a task."""

    def __init__(self, task: Task) -> None:
        self.task = task

    @abstractmethod
    def start(self) -> None:
        """Learn from the rounds before the first (`Task.first`); this is not timed."""

    @abstractmethod
    def step(self, t: int) -> int:
        """Choose an action, learn from the reward that it pays, and return its index."""


@dataclass(frozen=True)
class Entry:
    """A way to solve tasks of some kinds.

    package : name of the distribution; None for the bare calls
    rule : how it chooses
    same : whether it does the same work as the bare calls, so that it must choose the same actions
    """

    label: str
    package: str | None
    rule: str
    kinds: tuple[str, ...]
    make: Callable[[Task], Racer]
    same: bool = True

    @property
    def version(self) -> str:
        return importlib.metadata.version(self.package) if self.package else ""


class Result(NamedTuple):
    """How an entry did.

    seconds : per round, the median over turns
    agreement : share of rounds in which it chose what the bare calls chose
    """

    task: str
    label: str
    version: str
    rule: str
    same: bool
    seconds: float
    agreement: float
    rounds: int


def race(task: Task, entries: Iterable[Entry], said: Callable[[int], object] = lambda rounds: None) -> list[Result]:
    """Return how entries did on a task, in their order; the first is the one whose choices others are compared with.

    Entries take turns of a few rounds, so that a busy machine slows all of them, on one thread. One that is slow leaves
    when its time is up; its median counts for the rounds that it did. `said` is told the rounds that were done.
    """
    running = [_Running(entry, task) for entry in entries if task.kind in entry.kinds]
    with threadpool_limits(limits=1):
        for one in running:
            one.racer.start()
        for turn in _turns(task.steps):
            for one in running:
                one.take(turn)
            said(len(turn))
    chosen = running[0].chosen if running else []
    return [one.result(chosen) for one in running]


def _turns(steps: int) -> Iterator[range]:
    for start in range(0, steps, TURN):
        yield range(start, min(start + TURN, steps))


class _Running:
    def __init__(self, entry: Entry, task: Task) -> None:
        self.entry, self.task, self.racer = entry, task, entry.make(task)
        self.chosen: list[int] = []
        self.times: list[float] = []

    def take(self, turn: range) -> None:
        if sum(self.times) * TURN > BUDGET:
            return
        start, step = time.perf_counter(), self.racer.step
        done = [step(t) for t in turn]
        self.times.append((time.perf_counter() - start) / len(turn))
        self.chosen += done

    def result(self, reference: list[int]) -> Result:
        entry, n = self.entry, len(self.chosen)
        same = float(np.mean(np.equal(self.chosen, reference[:n])))
        middle = statistics.median(self.times)
        return Result(self.task.name, entry.label, entry.version, entry.rule, entry.same, middle, same, n)
