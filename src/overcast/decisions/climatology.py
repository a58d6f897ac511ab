"""The climatology of past forecasts: their number, and mean and standard deviation of their means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._records import Arrays
from overcast.beliefs import Belief, NoClosedForm

# Number of means after which they are merged into the statistics: merging costs as much for many as for one.
PENDING = 128


class ForecastStatistics(NamedTuple):
    """Statistics of the means of forecasts.

    number : number of forecasts
    mean : (c,) mean of their means
    spread : (c,) standard deviation of their means
    """

    number: int
    mean: Array
    spread: Array

    def combined(self, other: ForecastStatistics) -> ForecastStatistics:
        """Combine two statistics (Chan, Golub & LeVeque, 1979), with roots instead of squares, which may overflow."""
        n = self.number + other.number
        if not n:
            return self
        p, q, gap = self.number / n, other.number / n, other.mean - self.mean
        within = np.hypot(math.sqrt(p) * self.spread, math.sqrt(q) * other.spread)
        return ForecastStatistics(n, self.mean + q * gap, np.hypot(within, math.sqrt(p * q) * gap))


def statistics_of_means(means: Array) -> ForecastStatistics:
    """Compute the statistics of means (n, c), n >= 1."""
    n = len(means)
    mean = means[0] + (means - means[0]).mean(axis=0)
    return ForecastStatistics(n, mean, np.hypot.reduce(means - mean, axis=0) / math.sqrt(n))


def known_mean(belief: Belief) -> Array | None:
    """Return the mean (c,) of a forecast; None if it does not exist or has no closed form."""
    try:
        return belief.mean() if belief.exact else None
    except NoClosedForm:
        return None


class Snapshot(NamedTuple):
    """The state of a climatology at some time, whose statistics are computed on demand.

    merged : statistics of the earlier forecasts
    pending : means of the later ones, of which the first `length` count
    """

    merged: ForecastStatistics | None
    pending: list[Array]
    length: int

    def statistics(self) -> ForecastStatistics | None:
        """Compute the statistics of the forecasts up to then; None before the first one."""
        if not self.length:
            return self.merged
        latest = statistics_of_means(np.array(self.pending[: self.length]))
        return latest if self.merged is None else self.merged.combined(latest)


class Climatology:
    """Running statistics of the means of forecasts, a function of these means and their order alone.

    Examples
    --------
    >>> climatology = Climatology()
    >>> climatology.add(np.array([1.0])), climatology.add(np.array([3.0]))
    (None, None)
    >>> climatology.snapshot().statistics()
    ForecastStatistics(number=2, mean=array([2.]), spread=array([1.]))
    """

    def __init__(self) -> None:
        self._merged: ForecastStatistics | None = None
        self._pending: list[Array] = []

    def add(self, mean: Array) -> None:
        """Add the mean (c,) of a forecast."""
        self._pending.append(mean)
        if len(self._pending) == PENDING:
            # A new list: snapshots keep the former one.
            self._merged, self._pending = self.snapshot().statistics(), []

    def add_all(self, means: Sequence[Array] | Array) -> None:
        """Add the means (n, c) of forecasts, in order."""
        for mean in means:
            self.add(mean)
        self._pending = [mean.copy() for mean in self._pending]  # rows would keep a long array alive

    def snapshot(self) -> Snapshot:
        """Return the current state, which later forecasts do not change."""
        return Snapshot(self._merged, self._pending, len(self._pending))

    def joined(self, other: Climatology) -> Climatology:
        """Return the climatology of the forecasts of both."""
        a, b, out = self.snapshot(), other.snapshot(), Climatology()
        first, second = a.statistics(), b.statistics()
        if first is None or second is None:
            out._merged, pending, length = a if second is None else b
            out._pending = pending[:length]
        else:
            out._merged = first.combined(second)
        return out

    def state(self, dim: int) -> Arrays:
        """Return the climatology as arrays; `dim` is the dimension of the forecasts."""
        number, mean, spread = self._merged or ForecastStatistics(0, np.zeros(dim), np.zeros(dim))
        pending = np.array(self._pending).reshape(len(self._pending), dim)
        return {"number": np.array(number), "mean": mean, "spread": spread, "pending": pending}

    @classmethod
    def of(cls, state: Arrays, dim: int) -> Climatology:
        """Rebuild a climatology from its `state`; raise ValueError if it does not fit this dimension."""
        out, fresh = cls(), cls().state(dim)
        if state.keys() != fresh.keys():
            raise ValueError(f"usual forecasts must hold {', '.join(fresh)}, got {', '.join(state)}")
        number = _check.integer("file", "usual.number", state["number"][()], at_least=0)
        mean, spread = (_check.vector("file", f"usual.{name}", state[name], dim) for name in ("mean", "spread"))
        if state["pending"].ndim != 2 or state["pending"].shape[1] != dim or len(state["pending"]) >= PENDING:
            raise ValueError(
                f"usual.pending must have shape (n, {dim}), n below {PENDING}, got {state['pending'].shape}"
            )
        out._merged = ForecastStatistics(number, mean, spread) if number else None
        out._pending = list(np.array(state["pending"], dtype=np.float64))
        return out
