"""Beliefs shifted and stretched, coordinate by coordinate."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import comb

from overcast._check import Array
from overcast.beliefs._coordinates import for_each
from overcast.beliefs._moments import Powers
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Cloud, Complex
from overcast.beliefs.serialise import fields, nested, parts, shown


class Moved(Belief):
    """The distribution of shift + scale * c, where c follows another belief.

    It is exact if that belief is: E[(a + b c)^p] is the sum of comb(p, q) a^(p-q) b^q E[c^q].

    Parameters
    ----------
    belief : the belief about c
    shift : (c,) array, or one number for all dimensions
    scale : (c,) array of numbers >= 0, or one number for all dimensions

    Examples
    --------
    >>> import scipy.stats
    >>> from overcast.beliefs import Frozen
    >>> rain = Moved(Frozen(scipy.stats.gamma(2.0, scale=3.0)), shift=1.0, scale=0.5)
    >>> rain.mean(), rain.cov()
    (array([4.]), array([[4.5]]))
    """

    def __init__(self, belief: Belief, shift: ArrayLike, scale: ArrayLike) -> None:
        #: the belief that was moved
        (self.belief,) = parts("Moved", [belief])
        self.dim = self.belief.dim
        self.exact = self.belief.exact
        #: (c,) what is added
        self.shift = for_each("Moved", "shift", shift, self.dim)
        #: (c,) what multiplies
        self.scale = for_each("Moved", "scale", scale, self.dim, at_least=0.0)
        self.names = self.belief.names
        self._fixed = self.scale == 0.0  # coordinates that are now known exactly

    def mean(self) -> Array:
        return self._move(self.belief.mean())

    def cov(self) -> Array:
        return np.asarray(self.belief.cov() * np.outer(self.scale, self.scale))

    def variance(self) -> Array:
        return np.asarray(self.belief.variance() * self.scale**2)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return self._move(self.belief.sample(n, rng))

    def sample_mean(self, n: int, rng: np.random.Generator) -> Array:
        return self._move(self.belief.sample_mean(n, rng))

    def support(self) -> tuple[Array, Array] | None:
        finite = self.belief.support()
        return None if finite is None else (self._move(finite[0]), finite[1])

    def cloud(self) -> Cloud | None:
        cloud = self.belief.cloud()
        if cloud is None:
            return None
        cov = cloud.cov
        if cov is not None:
            cov = cov * (self.scale**2 if cov.ndim == 2 else np.outer(self.scale, self.scale))
        return Cloud(cloud.weights, self._move(cloud.centres), cov)

    def characteristic(self, frequencies: Array) -> Complex:
        inner = self.belief.characteristic(frequencies * self.scale)
        return np.asarray(np.exp(1j * (frequencies @ self.shift)) * inner)

    def moments(self, powers: Powers) -> Array:
        if not self.exact or self.support() is not None or powers.sum(axis=1).max(initial=0) <= 2:
            return super().moments(powers)
        return np.array([self._moment(row) for row in powers])

    def place(self, outcome: Array) -> Array:
        if self._simplified is not None:
            return self._simplified.place(outcome)
        if self.support() is not None:
            return super().place(outcome)
        point = np.stack([outcome > self.shift, outcome >= self.shift])
        return np.where(self._fixed, point, self.belief.place(self._back(outcome)))

    def reach(self) -> Array:
        return self.belief.reach()

    def beyond(self, outcome: Array) -> NDArray[np.bool_]:
        if self._simplified is not None:
            return self._simplified.beyond(outcome)
        return np.asarray(~self._fixed & self.belief.beyond(self._back(outcome)))

    def to_json(self) -> dict[str, Any]:
        return self._json(belief=self.belief.to_json(), shift=self.shift.tolist(), scale=self.scale.tolist())

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Moved:
        fields("Moved", data, ["belief", "shift", "scale"])
        return cls(nested("Moved", [data["belief"]])[0], data["shift"], data["scale"])

    def __repr__(self) -> str:
        return f"Moved({self.belief}, shift={shown(self.shift)}, scale={shown(self.scale)})"

    def _cdf(self, values: Array) -> Array:
        if self._simplified is not None:
            return self._simplified.cdf(values)
        if self.support() is not None:
            return super()._cdf(values)
        return np.where(self._fixed, values >= self.shift, self.belief.cdf(self._back(values)))

    def _quantile(self, p: Array) -> Array:
        return self._move(np.where(self._fixed, 0.0, self.belief.quantile(p)))

    def _moved(self, shift: Array, scale: Array, blur: Array) -> Belief:
        if blur.any():
            return super()._moved(shift, scale, blur)
        return Moved(self.belief, shift + scale * self.shift, scale * self.scale)

    def _selected(self, order: list[int]) -> Moved:
        return Moved(self.belief.select(order), self.shift[order], self.scale[order])

    @cached_property
    def _simplified(self) -> Belief | None:
        """The moved belief if its class can represent it, else None; `_back` could miss a jump by rounding."""
        moved = self.belief.moved(self.shift, self.scale)
        return None if isinstance(moved, Moved) else moved

    def _move(self, values: Array) -> Array:
        """Return shift + scale * values."""
        return np.asarray(self.shift + self.scale * values)

    def _back(self, values: Array) -> Array:
        """Undo `_move`; return anything where scale is zero."""
        return np.asarray((values - self.shift) / np.where(self._fixed, 1.0, self.scale))

    def _moment(self, row: Powers) -> float:
        """Return one raw moment by the binomial theorem."""
        lower = np.array(list(np.ndindex(*(row + 1))), dtype=np.int64)
        terms = comb(row, lower) * self.shift ** (row - lower) * self.scale**lower
        return float(terms.prod(axis=1) @ self.belief.moments(lower))
