"""A warning for corrections that put probability below zero where nothing was ever negative, as for rain."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping

import numpy as np

from overcast._check import Array
from overcast.beliefs import Belief

#: outcomes of a dimension before it counts as never negative
ENOUGH = 20
#: a correction may put this much probability below zero
SHARE = 0.01


class Watch:
    """Remember which dimensions were never negative, and warn once if a correction goes below zero there.

    Files do not hold it: a loaded corrector starts a new one.
    """

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._negative: set[int] = set()
        self._warned = False

    def take(self, i: int, forecast: float, outcome: float) -> None:
        """Record the mean of a forecast, and the outcome, of dimension i."""
        self._seen[i] = self._seen.get(i, 0) + 1
        if min(forecast, outcome) < 0.0:
            self._negative.add(i)

    def check(self, belief: Belief, margins: Mapping[int, tuple[float, float]], moved: Mapping[int, float]) -> None:
        """Warn if a correction goes below zero, and the belief itself does not.

        margins : mean and deviation of corrected dimensions without bounds
        moved : for dimensions that keep their shape, the value that the correction moves to zero
        """
        if self._warned:
            return
        for i, (mean, deviation) in margins.items():
            if i in self._negative or self._seen.get(i, 0) < ENOUGH or _below(mean, deviation) <= SHARE:
                continue
            if _mass(belief, i, 0.0) > 0.0:
                self._negative.add(i)
                continue
            share = _mass(belief, i, moved[i]) if i in moved else _below(mean, deviation)
            if share > SHARE:
                self._warn_of_mass_below_zero(belief, i, share)
                return

    def _warn_of_mass_below_zero(self, belief: Belief, i: int, share: float) -> None:
        """Warn that a correction puts this share of dimension i below zero."""
        self._warned = True
        pairs = ["(0, None)" if j == i else "None" for j in range(belief.dim)]
        bounds = f"[{', '.join(pairs)}]" if belief.dim > 1 else pairs[0]
        where = repr(belief.names[i]) if belief.names else f"dimension {i}"
        problem = f"the correction puts {share:.0%} of the probability of {where} below zero, where nothing ever was"
        write = f"write Recalibrated(bounds={bounds}) if it cannot be negative"
        warnings.warn(f"Recalibrated: {problem}; {write}", stacklevel=4)


def _below(mean: float, deviation: float) -> float:
    """Return the probability below zero of a normal variable."""
    return 0.5 * math.erfc(mean / (deviation * math.sqrt(2.0))) if deviation > 0.0 else float(mean < 0.0)


def _mass(belief: Belief, i: int, value: float) -> float:
    """Return the probability, as far as published, that a dimension of a belief lies below a value."""
    at: Array = np.zeros(belief.dim)
    at[i] = np.nextafter(value, -np.inf)
    return float(belief.place(at)[0, i])
