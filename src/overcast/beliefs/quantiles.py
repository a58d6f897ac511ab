"""Beliefs published as quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs import _moments
from overcast.beliefs._moments import Powers
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Complex
from overcast.beliefs.independent import Independent
from overcast.beliefs.point import PointMass
from overcast.beliefs.serialise import fields, shown


class Quantiles(Belief):
    """Values at a few levels for each coordinate on its own, as forecasting tools publish them.

    Coordinates are independent. The quantile function of each runs linearly between the published points; the mass
    of the tails sits on the outermost values. With du the gap between two levels and a <= b the values there,
    E[c^m] = sum of du (a^0 b^m + a^1 b^(m-1) + ... + a^m b^0) / (m + 1), plus the tails.

    Parameters
    ----------
    levels : (levels,) increasing probabilities in [0, 1]
    values : (levels, c) values that do not decrease along the levels; (levels,) for one dimension

    Examples
    --------
    >>> rain = Quantiles([0.1, 0.5, 0.9], [0.0, 2.0, 8.0])
    >>> rain.mean()
    array([3.2])
    """

    def __init__(self, levels: ArrayLike, values: ArrayLike) -> None:
        #: (levels,) probabilities
        self.levels = _levels(levels)
        #: (levels, c) the values at these levels
        self.values = _values(values, self.levels)
        self.dim = self.values.shape[1]

    def mean(self) -> Array:
        return np.asarray(self._table(self.values, 1)[1])

    def cov(self) -> Array:
        return np.diag(self.variance())

    def variance(self) -> Array:
        # Centred first: E[c^2] - E[c]^2 loses its digits when the mean is large.
        return np.asarray(self._table(self.values - self.mean(), 2)[2])

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        draws = rng.random((n, self.dim))
        for i in range(self.dim):
            draws[:, i] = np.interp(draws[:, i], self.levels, self.values[:, i])
        return draws

    def place(self, outcome: Array) -> Array:
        """Return the place; an outcome beyond the outermost values shares the probability that they leave over."""
        lower, upper = super().place(outcome)
        below, above = outcome < self.values[0], outcome > self.values[-1]
        return np.stack([np.where(above, self.levels[-1], lower), np.where(below, self.levels[0], upper)])

    def reach(self) -> Array:
        """Return the probability of the widest central interval between two levels, shape (c,)."""
        return np.full(self.dim, max(0.0, 1.0 - 2.0 * max(self.levels[0], 1.0 - self.levels[-1])))

    def beyond(self, outcome: Array) -> NDArray[np.bool_]:
        return np.asarray((outcome < self.values[0]) | (outcome > self.values[-1]))

    def moments(self, powers: Powers) -> Array:
        return _moments.of_independent(self._table(self.values, int(powers.max(initial=0))), powers)

    def characteristic(self, frequencies: Array) -> Complex:
        """Between two published values the coordinate is uniform: E[exp(iwc)] there is exp(iw mid) sinc(w half)."""
        du = np.diff(self.levels)
        below, above = self.levels[0], 1.0 - self.levels[-1]
        a, b = self.values[:-1], self.values[1:]  # (levels - 1, c)
        w = frequencies[:, None, :]  # (m, 1, c)
        inside = np.exp(0.5j * w * (a + b)) * np.sinc(w * (b - a) / (2 * np.pi))
        ends = below * np.exp(1j * frequencies * self.values[0]) + above * np.exp(1j * frequencies * self.values[-1])
        return np.asarray((np.einsum("l,mlc->mc", du, inside) + ends).prod(axis=1))

    def to_json(self) -> dict[str, Any]:
        return self._json(levels=self.levels.tolist(), values=self.values.tolist())

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Quantiles:
        return cls(*fields("Quantiles", data, ["levels", "values"]))

    def __repr__(self) -> str:
        return f"Quantiles(levels={shown(self.levels)}, values={shown(self.values)})"

    def _cdf(self, values: Array) -> Array:
        # Where neighbours are equal, interp takes the last one: the distribution function jumps there.
        columns = zip(values.T, self.values.T, strict=True)
        inside = np.stack([np.interp(v, known, self.levels) for v, known in columns], axis=1)
        return np.where(values < self.values[0], 0.0, np.where(values >= self.values[-1], 1.0, inside))

    def _quantile(self, p: Array) -> Array:
        return np.stack([np.interp(p, self.levels, known) for known in self.values.T], axis=1)

    def _moved(self, shift: Array, scale: Array, blur: Array) -> Belief:
        if not blur.any():
            return Quantiles(self.levels, shift + scale * self.values)
        # Coordinates are independent; a blurred one becomes normal, as its tails lie beyond all published levels.
        columns = zip(self.values.T, blur, strict=True)
        known = [PointMass(column[0]) if sd else Quantiles(self.levels, column) for column, sd in columns]
        return Independent(known).moved(shift, scale, blur)

    def _selected(self, order: list[int]) -> Quantiles:
        return Quantiles(self.levels, self.values[:, order])

    def _table(self, values: Array, top: int) -> Array:
        """Return E[c_i^p] for p = 0..top, shape (top + 1, c), if `values` were the published ones."""
        du = np.diff(self.levels)
        below, above = self.levels[0], 1.0 - self.levels[-1]
        a, b = values[:-1], values[1:]
        sums = np.ones_like(a)  # a^0 b^p + ... + a^p b^0
        table = np.empty((top + 1, values.shape[1]))
        table[0] = 1.0
        for p in range(1, top + 1):
            sums = a * sums + b**p
            table[p] = du @ sums / (p + 1) + below * values[0] ** p + above * values[-1] ** p
        return table


def _levels(levels: ArrayLike) -> Array:
    out = _check.vector("Quantiles", "levels", levels, "levels")
    for at in np.flatnonzero((out < 0) | (out > 1)):
        raise ValueError(f"Quantiles: levels must lie in [0, 1], got {out[at]} at index {at}")
    for at in np.flatnonzero(np.diff(out) <= 0):
        raise ValueError(f"Quantiles: levels must increase strictly, got {out[at + 1]} after {out[at]}")
    return out


def _values(values: ArrayLike, levels: Array) -> Array:
    out = _check.floats("Quantiles", "values", values)
    if out.ndim == 1 and len(out) == len(levels):
        out = out[:, None]
    out = _check.checked("Quantiles", "values", out, (len(levels), "c"))
    for at, i in np.argwhere(np.diff(out, axis=0) < 0)[:1].tolist():
        got = f"{out[at + 1, i]} at level {levels[at + 1]} after {out[at, i]} at level {levels[at]} in column {i}"
        raise ValueError(f"Quantiles: values must not decrease along levels, got {got}")
    return out
