"""Two sides timed in the same run, and their ratio against its limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """`ours` against `floor`: functions that do `steps` steps a call.

    Every number is the least of several rounds that alternate between the two sides, so that a busy machine slows both.
    """

    name: str
    ours: Callable[[], object]
    floor: Callable[[], object]
    steps: int
    limit: float
    rounds: int = 15

    def measure(self) -> tuple[str, float, float, float]:
        """Return name, microseconds a step of both sides, and limit."""
        best = [float("inf"), float("inf")]
        for _ in range(self.rounds):
            for side, run in enumerate((self.ours, self.floor)):
                start = time.perf_counter()
                run()
                best[side] = min(best[side], time.perf_counter() - start)
        return self.name, best[0] / self.steps * 1e6, best[1] / self.steps * 1e6, self.limit


def report(comparisons: Iterable[Comparison], measured: Iterable[tuple[str, float, float, float]] = ()) -> int:
    """Print a table; return 1 where a ratio is above its limit."""
    print(f"{'':48}{'ours':>10}{'floor':>11}{'ratio':>8}{'limit':>8}")
    slow = 0
    for result in [*(comparison.measure for comparison in comparisons), *(lambda m=m: m for m in measured)]:
        name, ours, floor, limit = result()
        slow += ours / floor > limit
        print(f"{name:48}{ours:7.1f} µs{floor:8.1f} µs{ours / floor:8.2f}{limit:8.2f}", flush=True)
    return 1 if slow else 0
