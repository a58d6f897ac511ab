"""Time entries that take turns on the same rounds."""

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
        """Learn from the initial rounds (`Task.first`); this is not timed."""

    @abstractmethod
    def step(self, t: int) -> int:
        """Choose an action, learn from its reward, and return its index."""


@dataclass(frozen=True)
class Entry:
    """A participant: a package and a rule for tasks of some kinds.

    package : name of the distribution; None for the bare calls
    rule : the rule by which it chooses
    same : whether it does the same computation as the bare calls, and so must choose the same actions
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
    """The result of an entry.

    seconds : median seconds per round over turns
    agreement : share of rounds with the choice of the bare calls
    """

    task: str
    label: str
    version: str
    rule: str
    same: bool
    seconds: float
    agreement: float
    rounds: int


def race(task: Task, entries: Iterable[Entry], done: Callable[[int], object] = lambda rounds: None) -> list[Result]:
    """Race entries on a task; return their results in order. Choices are compared with those of the first entry.

    Entries take turns of a few rounds on one thread, so that a busy machine slows all of them. A slow entry leaves when
    its time is up, with the median of its rounds. `done` is called with the number of rounds after each turn.
    """
    running = [_Running(entry, task) for entry in entries if task.kind in entry.kinds]
    with threadpool_limits(limits=1):
        for runner in running:
            runner.racer.start()
        for turn in _turns(task.steps):
            for runner in running:
                runner.run_turn(turn)
            done(len(turn))
    chosen = running[0].chosen if running else []
    return [runner.result(chosen) for runner in running]


def _turns(steps: int) -> Iterator[range]:
    for start in range(0, steps, TURN):
        yield range(start, min(start + TURN, steps))


class _Running:
    def __init__(self, entry: Entry, task: Task) -> None:
        self.entry, self.task, self.racer = entry, task, entry.make(task)
        self.chosen: list[int] = []
        self.times: list[float] = []

    def run_turn(self, turn: range) -> None:
        """Run and time some rounds, unless the entry's time is up."""
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
