"""The climatology of forecasts so far: their number, the mean of their means, and how far these lie apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._records import Arrays
from overcast.beliefs import Belief, NoClosedForm

# Means that are kept before they are added up: adding costs as much for many of them as for one.
PENDING = 128


class Usual(NamedTuple):
    """The usual forecast.

    number : of the forecasts that it goes by
    mean : (c,) mean of their means
    spread : (c,) standard deviation of their means
    """

    number: int
    mean: Array
    spread: Array

    def plus(self, other: Usual) -> Usual:
        """Return the usual forecast of both (Chan, Golub & LeVeque, 1979); roots, so that no square overflows."""
        n = self.number + other.number
        if not n:
            return self
        mine, theirs, gap = self.number / n, other.number / n, other.mean - self.mean
        within = np.hypot(math.sqrt(mine) * self.spread, math.sqrt(theirs) * other.spread)
        return Usual(n, self.mean + theirs * gap, np.hypot(within, math.sqrt(mine * theirs) * gap))


def of_means(means: Array) -> Usual:
    """Return the usual forecast of means (n, c), n >= 1."""
    n = len(means)
    mean = means[0] + (means - means[0]).mean(axis=0)
    return Usual(n, mean, np.hypot.reduce(means - mean, axis=0) / math.sqrt(n))


def known_mean(belief: Belief) -> Array | None:
    """Return the mean (c,) of a forecast; None if there is none, or if only many draws could tell."""
    try:
        return belief.mean() if belief.exact else None
    except NoClosedForm:
        return None


class Mark(NamedTuple):
    """A climatology as of some time; `usual` adds it up only when it is asked for."""

    added: Usual | None
    pending: list[Array]
    length: int

    def usual(self) -> Usual | None:
        """Return the usual forecast up to then; None before the first one."""
        if not self.length:
            return self.added
        latest = of_means(np.array(self.pending[: self.length]))
        return latest if self.added is None else self.added.plus(latest)


class Climatology:
    """Counts forecasts by their means. It depends on their order alone, not on what was asked in between.

    Examples
    --------
    >>> climatology = Climatology()
    >>> climatology.add(np.array([1.0])), climatology.add(np.array([3.0]))
    (None, None)
    >>> climatology.mark().usual()
    Usual(number=2, mean=array([2.]), spread=array([1.]))
    """

    def __init__(self) -> None:
        self._added: Usual | None = None
        self._pending: list[Array] = []

    def add(self, mean: Array) -> None:
        """Count a forecast with this mean (c,)."""
        self._pending.append(mean)
        if len(self._pending) == PENDING:
            # A new list: marks keep the former one.
            self._added, self._pending = self.mark().usual(), []

    def add_all(self, means: Sequence[Array] | Array) -> None:
        """Count forecasts with these means (n, c), in order."""
        for mean in means:
            self.add(mean)
        self._pending = [mean.copy() for mean in self._pending]  # rows of a long array would keep all of it

    def mark(self) -> Mark:
        """Return the climatology as of now."""
        return Mark(self._added, self._pending, len(self._pending))

    def joined(self, other: Climatology) -> Climatology:
        """Return the climatology of both."""
        mine, theirs, out = self.mark(), other.mark(), Climatology()
        one, two = mine.usual(), theirs.usual()
        if one is None or two is None:
            out._added, pending, length = mine if two is None else theirs
            out._pending = pending[:length]
        else:
            out._added = one.plus(two)
        return out

    def state(self, dim: int) -> Arrays:
        """Return the climatology of forecasts of this dimension as arrays."""
        number, mean, spread = self._added or Usual(0, np.zeros(dim), np.zeros(dim))
        pending = np.array(self._pending).reshape(len(self._pending), dim)
        return {"number": np.array(number), "mean": mean, "spread": spread, "pending": pending}

    @classmethod
    def of(cls, state: Arrays, dim: int) -> Climatology:
        """Return the climatology that `state` came from; raise ValueError if it does not fit this dimension."""
        out, fresh = cls(), cls().state(dim)
        if state.keys() != fresh.keys():
            raise ValueError(f"usual forecasts must hold {', '.join(fresh)}, got {', '.join(state)}")
        number = _check.integer("file", "usual.number", state["number"][()], at_least=0)
        mean, spread = (_check.vector("file", f"usual.{name}", state[name], dim) for name in ("mean", "spread"))
        if state["pending"].ndim != 2 or state["pending"].shape[1] != dim or len(state["pending"]) >= PENDING:
            raise ValueError(
                f"usual.pending must have shape (n, {dim}), n below {PENDING}, got {state['pending'].shape}"
            )
        out._added = Usual(number, mean, spread) if number else None
        out._pending = list(np.array(state["pending"], dtype=np.float64))
        return out
