"""Outcomes with bounds, such as rain, as a censored normal variable.

With one bound the variable is the root of the distance from the bound, which is less skewed than the distance; with two
bounds it is the outcome itself. Values of the variable beyond a bound give the bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from overcast import _check
from overcast._check import Array

Pair = tuple[float | None, float | None]


class Range(NamedTuple):
    """The values that an outcome can take."""

    low: float = -np.inf
    high: float = np.inf

    @property
    def free(self) -> bool:
        """Whether there are no bounds."""
        return self.low == -np.inf and self.high == np.inf

    @property
    def rooted(self) -> bool:
        """Whether there is exactly one bound, so that the normal variable is a root."""
        return (self.low > -np.inf) != (self.high < np.inf)

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds of the normal variable."""
        if not self.rooted:
            return self.low, self.high
        return (0.0, np.inf) if self.low > -np.inf else (-np.inf, 0.0)

    def inward(self, value: float) -> float:
        """Convert an outcome to the normal variable, after clipping it to the bounds."""
        value = min(max(value, self.low), self.high)
        if not self.rooted:
            return value
        return math.sqrt(value - self.low) if self.low > -np.inf else -math.sqrt(self.high - value)

    def spread(self, m: float, s: float) -> float:
        """Return the spread of the normal variable for a forecast with the mean `m` and the spread `s`."""
        return s if not self.rooted else 0.5 * (self.inward(m + s) - self.inward(m - s))

    def outward(self, values: Array) -> Array:
        """Convert values of the normal variable to outcomes within the bounds."""
        seen = np.clip(values, *self.limits)
        if not self.rooted:
            return np.asarray(seen)
        return np.asarray(self.low + seen**2 if self.low > -np.inf else self.high - seen**2)

    def pair(self) -> Pair:
        """Return the bounds as JSON data, None for no bound."""
        return (None if self.low == -np.inf else self.low), (None if self.high == np.inf else self.high)


def ranges(bounds: Any) -> tuple[Range, ...]:
    """Return one range for each pair of bounds; a single pair is for all dimensions, None gives no range."""
    if bounds is None:
        return ()
    expected = "a pair (low, high), None for no bound, or one such pair per dimension"
    if not isinstance(bounds, Sequence) or isinstance(bounds, str) or not len(bounds):
        raise ValueError(f"Recalibrated: bounds must be {expected}, got {_check.short(bounds)}")
    pairs = [bounds] if all(bound is None or np.ndim(bound) == 0 for bound in bounds) else list(bounds)
    out = []
    for pair in pairs:
        if pair is None:
            pair = (None, None)
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"Recalibrated: bounds must be {expected}, got {_check.short(bounds)}")
        low, high = (None if bound is None else _check.number("Recalibrated", "bounds", bound) for bound in pair)
        limits = Range(-np.inf if low is None else low, np.inf if high is None else high)
        if not limits.low < limits.high:
            raise ValueError(f"Recalibrated: bounds must be low < high, got {_check.short(pair)}")
        out.append(limits)
    return tuple(out)
