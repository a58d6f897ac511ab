"""Beliefs shifted and stretched, coordinate by coordinate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import comb

from overcast import _check
from overcast._check import Array
from overcast.beliefs._moments import Powers
from overcast.beliefs._parts import fields, parts
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Cloud, Complex
from overcast.beliefs.mixture import nested


class Moved(Belief):
    """The distribution of shift + scale * c, where c follows another belief.

    It is exact where that belief is: E[(a + b c)^p] is the sum of comb(p, q) a^(p-q) b^q E[c^q].

    Parameters
    ----------
    belief : the belief about c
    shift : (c,) array, or one number for all dimensions
    scale : (c,) array of numbers >= 0, or one number for all dimensions

    Examples
    --------
    >>> import scipy.stats
    >>> from overcast.beliefs import as_belief
    >>> rain = Moved(as_belief(scipy.stats.gamma(2.0, scale=3.0)), shift=1.0, scale=0.5)
    >>> rain.mean(), rain.cov()
    (array([4.]), array([[4.5]]))
    """

    def __init__(self, belief: Belief, shift: ArrayLike, scale: ArrayLike) -> None:
        (self._belief,) = parts("Moved", [belief])
        self.dim = self._belief.dim
        self.exact = self._belief.exact
        self._shift = _for_all("shift", shift, self.dim)
        self._scale = _for_all("scale", scale, self.dim)
        if (self._scale < 0).any():
            at = int(np.argmax(self._scale < 0))
            raise ValueError(f"Moved: scale must be >= 0, got {self._scale[at]} at index {at}")

    @property
    def belief(self) -> Belief:
        """The belief that was moved."""
        return self._belief

    @property
    def shift(self) -> Array:
        return self._shift

    @property
    def scale(self) -> Array:
        return self._scale

    def mean(self) -> Array:
        return self._move(self._belief.mean())

    def cov(self) -> Array:
        return np.asarray(self._belief.cov() * np.outer(self._scale, self._scale))

    def variance(self) -> Array:
        return np.asarray(self._belief.variance() * self._scale**2)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return self._move(self._belief.sample(n, rng))

    def sample_mean(self, n: int, rng: np.random.Generator) -> Array:
        return self._move(self._belief.sample_mean(n, rng))

    def support(self) -> tuple[Array, Array] | None:
        finite = self._belief.support()
        return None if finite is None else (self._move(finite[0]), finite[1])

    def cloud(self) -> Cloud | None:
        cloud = self._belief.cloud()
        if cloud is None:
            return None
        spread = cloud.spread
        if spread is not None:
            spread = spread * (self._scale**2 if spread.ndim == 2 else np.outer(self._scale, self._scale))
        return Cloud(cloud.weights, self._move(cloud.centres), spread)

    def characteristic(self, frequencies: Array) -> Complex:
        inner = self._belief.characteristic(frequencies * self._scale)
        return np.asarray(np.exp(1j * (frequencies @ self._shift)) * inner)

    def moments(self, powers: Powers) -> Array:
        if not self.exact or self.support() is not None or powers.sum(axis=1).max(initial=0) <= 2:
            return super().moments(powers)
        return np.array([self._moment(row) for row in powers])

    def to_json(self) -> dict[str, Any]:
        moved = {"shift": self._shift.tolist(), "scale": self._scale.tolist()}
        return {"type": "Moved", "belief": self._belief.to_json(), **moved}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Moved:
        fields("Moved", data, ["belief", "shift", "scale"])
        return cls(nested("Moved", [data["belief"]])[0], data["shift"], data["scale"])

    def __repr__(self) -> str:
        return f"Moved({self._belief}, shift={self._shift.tolist()}, scale={self._scale.tolist()})"

    def _move(self, values: Array) -> Array:
        return np.asarray(self._shift + self._scale * values)

    def _moment(self, row: np.ndarray[Any, np.dtype[np.int64]]) -> float:
        lower = np.array(list(np.ndindex(*(row + 1))), dtype=np.int64)
        terms = comb(row, lower) * self._shift ** (row - lower) * self._scale**lower
        return float(terms.prod(axis=1) @ self._belief.moments(lower))


def _for_all(name: str, value: ArrayLike, dim: int) -> Array:
    out = _check.floats("Moved", name, value)
    return _check.checked("Moved", name, np.full(dim, out) if out.ndim == 0 else out, (dim,))
