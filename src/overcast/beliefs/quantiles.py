"""Beliefs published as quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs import _moments, _runs
from overcast.beliefs._moments import Powers
from overcast.beliefs.base import Belief, check_moments
from overcast.beliefs.cloud import Complex
from overcast.beliefs.independent import Independent
from overcast.beliefs.point import PointMass
from overcast.beliefs.serialise import fields, shown

# The default is "none" from so many levels on, if they leave at most this share on either side.
MANY, SHORT = 20, 0.05


class Quantiles(Belief):
    """Quantiles of each coordinate at a few levels, as forecasting tools publish them.

    Coordinates are independent. With normal tails the quantile function of each is linear in the normal score of the
    level, between the published values and beyond them: quantiles of a normal distribution then give its standard
    deviation, and those of other shapes come close. Without tails it is linear in the level, and the mass of the tails
    sits on the outermost values, which suits many levels. `place`, `reach` and `beyond` judge by what was published.

    Parameters
    ----------
    levels : (levels,) increasing probabilities in [0, 1]
    values : (levels, c) values that do not decrease along the levels; (levels,) for one dimension
    tails : "normal" or "none", or a pair of them for the lower and the upper tail: ("none", "normal") for rain, which
        does not fall below its lowest quantile. None for "normal" if there are fewer than 20 levels, or if they end
        inside 5 to 95 %, and for "none" otherwise; levels 0 and 1 leave no tails

    Examples
    --------
    >>> Quantiles([0.1, 0.5, 0.9], [10.0, 20.0, 30.0]).variance()  # (10 / 1.2816)^2, as of a normal distribution
    array([60.88745604])
    >>> Quantiles([0.1, 0.5, 0.9], [0.0, 2.0, 8.0], tails="none").mean()
    array([3.2])
    """

    def __init__(self, levels: ArrayLike, values: ArrayLike, tails: str | Sequence[str] | None = None) -> None:
        #: (levels,) probabilities
        self.levels = _levels(levels)
        #: (levels, c) the values at these levels
        self.values = _values(values, self.levels)
        #: of the lower and the upper end, "normal" or "none"
        self.tails = _tails(tails, self.levels)
        self.dim = self.values.shape[1]
        self._run = _runs.run_through(self.levels, self.tails)
        check_moments(self, "values", self.values)

    def mean(self) -> Array:
        return np.asarray(self._run.table(self.values, 1)[1])

    def cov(self) -> Array:
        return np.diag(self.variance())

    def variance(self) -> Array:
        # Centred first: E[c^2] - E[c]^2 loses its digits when the mean is large.
        return np.asarray(self._run.table(self.values - self.mean(), 2)[2])

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return self._run.sample(self.values, n, rng)

    def place(self, outcome: Array) -> Array:
        """Return the place; beyond the outermost values it is the whole probability there."""
        lower, upper = super().place(outcome)
        below, above = outcome < self.values[0], outcome > self.values[-1]
        lower = np.where(below, 0.0, np.where(above, self.levels[-1], lower))
        return np.stack([lower, np.where(above, 1.0, np.where(below, self.levels[0], upper))])

    def reach(self) -> Array:
        """Return the probability of the widest central interval between two levels, shape (c,)."""
        return np.full(self.dim, max(0.0, 1.0 - 2.0 * max(self.levels[0], 1.0 - self.levels[-1])))

    def beyond(self, outcome: Array) -> NDArray[np.bool_]:
        return np.asarray((outcome < self.values[0]) | (outcome > self.values[-1]))

    def moments(self, powers: Powers) -> Array:
        return _moments.of_independent(self._run.table(self.values, int(powers.max(initial=0))), powers)

    def characteristic(self, frequencies: Array) -> Complex:
        return np.asarray(self._run.characteristic(self.values, frequencies).prod(axis=1))

    def to_json(self) -> dict[str, Any]:
        return self._json(levels=self.levels.tolist(), values=self.values.tolist(), tails=list(self.tails))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Quantiles:
        levels, values, tails = fields("Quantiles", data, ["levels", "values"], ["tails"])
        return cls(levels, values, "none" if tails is None else tails)  # earlier releases had none

    def __repr__(self) -> str:
        return f"Quantiles(levels={shown(self.levels)}, values={shown(self.values)})"

    def _cdf(self, values: Array) -> Array:
        return self._run.cdf(self.values, values)

    def _quantile(self, p: Array) -> Array:
        return self._run.quantile(self.values, p)

    def _moved(self, shift: Array, scale: Array, blur: Array) -> Belief:
        if not blur.any():
            return Quantiles(self.levels, shift + scale * self.values, self.tails)
        # Coordinates are independent; a blurred one becomes normal, as its tails lie beyond all published levels.
        columns = zip(self.values.T, blur, strict=True)
        known = [PointMass(column[0]) if sd else Quantiles(self.levels, column, self.tails) for column, sd in columns]
        return Independent(known).moved(shift, scale, blur)

    def _selected(self, order: list[int]) -> Quantiles:
        return Quantiles(self.levels, self.values[:, order], self.tails)


def _levels(levels: ArrayLike) -> Array:
    """Return the levels as floats; raise ValueError unless they increase within [0, 1]."""
    out = _check.vector("Quantiles", "levels", levels, "levels")
    for at in np.flatnonzero((out < 0) | (out > 1)):
        write = "; write np.divide(levels, 100) for percents" if out.min() >= 0 and 1 < out.max() <= 100 else ""
        raise ValueError(f"Quantiles: levels must lie in [0, 1], got {out[at]} at index {at}{write}")
    for at in np.flatnonzero(np.diff(out) <= 0):
        raise ValueError(f"Quantiles: levels must increase strictly, got {out[at + 1]} after {out[at]}")
    return out


def _values(values: ArrayLike, levels: Array) -> Array:
    """Return the values as (levels, c); raise ValueError if they decrease along the levels."""
    out = _check.floats("Quantiles", "values", values)
    if out.ndim == 1 and len(out) == len(levels):
        out = out[:, None]
    out = _check.checked("Quantiles", "values", out, (len(levels), "c"))
    for at, i in np.argwhere(out[1:] < out[:-1])[:1].tolist():
        got = f"{out[at + 1, i]} at level {levels[at + 1]} after {out[at, i]} at level {levels[at]} in column {i}"
        raise ValueError(f"Quantiles: values must not decrease along levels, got {got}")
    return out


def _tails(tails: Any, levels: Array) -> tuple[str, str]:
    """Return the kinds of both tails, with the default for None."""
    ended = bool(levels[0] == 0.0 or levels[-1] == 1.0)
    if tails is None:
        few = len(levels) < MANY or levels[0] > SHORT or levels[-1] < 1.0 - SHORT
        tails = "normal" if few and not ended and len(levels) > 1 else "none"
    pair = (tails, tails) if isinstance(tails, str) else tuple(tails) if isinstance(tails, (list, tuple)) else ()
    if len(pair) != 2 or any(tail not in ("normal", "none") for tail in pair):
        got = _check.short(tails)
        raise ValueError(f'Quantiles: tails must be "normal", "none", a pair of them, or None, got {got}')
    if ended and "normal" in pair:
        raise ValueError(
            'Quantiles: tails must be "none" with levels 0 or 1, beyond which there is nothing, got "normal"'
        )
    return pair[0], pair[1]
