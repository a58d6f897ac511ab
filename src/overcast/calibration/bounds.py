"""Outcomes with bounds, such as rain, as the visible part of a normal variable.

With one bound the variable is the root of the distance from it, which is less skewed than the distance; with two bounds
it is the outcome itself. Values beyond a bound mean the bound.
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
        """Whether there is one bound, so that the normal variable is a root."""
        return (self.low > -np.inf) != (self.high < np.inf)

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds of the normal variable."""
        if not self.rooted:
            return self.low, self.high
        return (0.0, np.inf) if self.low > -np.inf else (-np.inf, 0.0)

    def inward(self, value: float) -> float:
        """Return the normal variable that shows this value, or the nearest one within the bounds."""
        value = min(max(value, self.low), self.high)
        if not self.rooted:
            return value
        return math.sqrt(value - self.low) if self.low > -np.inf else -math.sqrt(self.high - value)

    def spread(self, m: float, s: float) -> float:
        """Return the spread of the normal variable for a forecast with the mean `m` and the spread `s`."""
        return s if not self.rooted else 0.5 * (self.inward(m + s) - self.inward(m - s))

    def outward(self, values: Array) -> Array:
        """Return the outcomes that values of the normal variable show."""
        seen = np.clip(values, *self.limits)
        if not self.rooted:
            return np.asarray(seen)
        return np.asarray(self.low + seen**2 if self.low > -np.inf else self.high - seen**2)

    def pair(self) -> Pair:
        """Return the bounds as JSON data, None for no bound."""
        return (None if self.low == -np.inf else self.low), (None if self.high == np.inf else self.high)


def ranges(given: Any) -> tuple[Range, ...]:
    """Return the range of each dimension, a single one for all dimensions, none if nothing is given."""
    if given is None:
        return ()
    expected = "a pair (low, high), None for no bound, or one such pair per dimension"
    if not isinstance(given, Sequence) or isinstance(given, str) or not len(given):
        raise ValueError(f"Recalibrated: bounds must be {expected}, got {_check.short(given)}")
    pairs = [given] if all(one is None or np.ndim(one) == 0 for one in given) else list(given)
    out = []
    for pair in pairs:
        if pair is None:
            pair = (None, None)
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"Recalibrated: bounds must be {expected}, got {_check.short(given)}")
        low, high = (None if one is None else _check.number("Recalibrated", "bounds", one) for one in pair)
        found = Range(-np.inf if low is None else low, np.inf if high is None else high)
        if not found.low < found.high:
            raise ValueError(f"Recalibrated: bounds must be low < high, got {_check.short(pair)}")
        out.append(found)
    return tuple(out)
