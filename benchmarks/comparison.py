"""Two sides timed in turns in one run, and their ratio against its limit."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Measured(NamedTuple):
    """Microseconds per step of both sides, and their ratio, with its limit."""

    name: str
    ours: float
    floor: float
    ratio: float
    limit: float


@dataclass(frozen=True)
class Comparison:
    """`ours` against `floor`: functions that do `steps` steps per call.

    The sides take turns: floor, ours, floor, ours, ..., floor. Each turn of ours is divided by the mean of the two
    turns of the floor around it, so that a machine that is busy for a while slows both. The median of these ratios
    counts, so that a pause that hits one side alone does not.
    """

    name: str
    ours: Callable[[], object]
    floor: Callable[[], object]
    steps: int
    limit: float
    rounds: int = 21

    def measure(self) -> Measured:
        self.ours()  # what a first call prepares is not timed
        floor, ours = [_seconds(self.floor)], []
        for _ in range(self.rounds):
            ours.append(_seconds(self.ours))
            floor.append(_seconds(self.floor))
        ratios = [2.0 * own / (a + b) for own, a, b in zip(ours, floor, floor[1:], strict=False)]
        mine, theirs = (statistics.median(side) / self.steps * 1e6 for side in (ours, floor))
        return Measured(self.name, mine, theirs, statistics.median(ratios), self.limit)


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def report(comparisons: Iterable[Comparison], others: Iterable[Callable[[], Measured]] = ()) -> int:
    """Print a table; return 1 if a ratio is above its limit."""
    print(f"{'':50}{'ours':>10}{'floor':>11}{'ratio':>8}{'limit':>8}")
    slow = 0
    for measure in [*(comparison.measure for comparison in comparisons), *others]:
        name, ours, floor, ratio, limit = measure()
        slow += ratio > limit
        print(f"{name:50}{ours:7.1f} µs{floor:8.1f} µs{ratio:8.2f}{limit:8.2f}", flush=True)
    return 1 if slow else 0
