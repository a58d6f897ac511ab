"""Beliefs published as quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.beliefs import _moments
from overcast.beliefs._moments import Powers
from overcast.beliefs._parts import fields
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Complex


class Quantiles(Belief):
    """What forecasting tools publish: values at a few levels, for each coordinate on its own.

    Each coordinate's quantile function Q(u) runs linearly between the published points and is constant
    outside the outermost levels: the tails' mass sits on the outermost values, and nothing lies beyond
    what was published. Coordinates are independent. With du the gap between two levels and a <= b the
    values there, E[c^m] = sum of du (a^0 b^m + a^1 b^(m-1) + ... + a^m b^0) / (m + 1), plus the tails.

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
        self._levels = _levels(levels)
        self._values = _values(values, self._levels)
        self.dim = self._values.shape[1]

    @property
    def levels(self) -> Array:
        """(levels,) probabilities."""
        return self._levels

    @property
    def values(self) -> Array:
        """(levels, c) the values at these levels."""
        return self._values

    def mean(self) -> Array:
        return np.asarray(self._table(self._values, 1)[1])

    def cov(self) -> Array:
        return np.diag(self.variance())

    def variance(self) -> Array:
        # Centred first: E[c^2] - E[c]^2 loses its digits when the mean is large.
        return np.asarray(self._table(self._values - self.mean(), 2)[2])

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        draws = rng.random((n, self.dim))
        for i in range(self.dim):
            draws[:, i] = np.interp(draws[:, i], self._levels, self._values[:, i])
        return draws

    def moments(self, powers: Powers) -> Array:
        return _moments.of_independent(self._table(self._values, int(powers.max(initial=0))), powers)

    def characteristic(self, frequencies: Array) -> Complex:
        """Between two published values the coordinate is uniform: E[exp(iwc)] there is exp(iw mid) sinc(w half)."""
        du = np.diff(self._levels)
        below, above = self._levels[0], 1.0 - self._levels[-1]
        a, b = self._values[:-1], self._values[1:]  # (levels - 1, c)
        w = frequencies[:, None, :]  # (m, 1, c)
        inside = np.exp(0.5j * w * (a + b)) * np.sinc(w * (b - a) / (2 * np.pi))
        ends = below * np.exp(1j * frequencies * self._values[0]) + above * np.exp(1j * frequencies * self._values[-1])
        return np.asarray((np.einsum("l,mlc->mc", du, inside) + ends).prod(axis=1))

    def to_json(self) -> dict[str, Any]:
        return {"type": "Quantiles", "levels": self._levels.tolist(), "values": self._values.tolist()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Quantiles:
        fields("Quantiles", data, ["levels", "values"])
        return cls(data["levels"], data["values"])

    def __repr__(self) -> str:
        return f"Quantiles(levels={self._levels.tolist()}, values={self._values.tolist()})"

    def _table(self, values: Array, top: int) -> Array:
        """Return E[c_i^p] for p = 0..top, shape (top + 1, c), were `values` the published ones."""
        du = np.diff(self._levels)
        below, above = self._levels[0], 1.0 - self._levels[-1]
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
    outside = (out < 0) | (out > 1)
    if outside.any():
        at = int(np.argmax(outside))
        raise ValueError(f"Quantiles: levels must lie in [0, 1], got {out[at]} at index {at}")
    falls = np.diff(out) <= 0
    if falls.any():
        at = int(np.argmax(falls))
        raise ValueError(f"Quantiles: levels must increase strictly, got {out[at + 1]} after {out[at]}")
    return out


def _values(values: ArrayLike, levels: Array) -> Array:
    out = _check.floats("Quantiles", "values", values)
    if out.ndim == 1 and len(out) == len(levels):
        out = out[:, None]
    out = _check.checked("Quantiles", "values", out, (len(levels), "c"))
    falls = np.diff(out, axis=0) < 0
    if falls.any():
        at, i = (int(j) for j in np.argwhere(falls)[0])
        raise ValueError(
            f"Quantiles: values must not decrease along levels, got {out[at + 1, i]} at level {levels[at + 1]} "
            f"after {out[at, i]} at level {levels[at]} in column {i}"
        )
    return out
