"""Contexts that are known exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.beliefs._moments import Powers
from overcast.beliefs.base import Belief
from overcast.beliefs.gaussian import Gaussian
from overcast.beliefs.serialise import fields, shown


class PointMass(Belief):
    """The Dirac distribution: the context is known to be `c`.

    With it the method is the ordinary contextual bandit (the paper's "exact" setting).

    Parameters
    ----------
    c : (c,) array, or one number for a context of dimension one

    Examples
    --------
    >>> PointMass([21.0, 0.4]).mean()
    array([21. ,  0.4])
    """

    certain = True

    def __init__(self, c: ArrayLike) -> None:
        #: (c,) the context
        self.point = _check.vector("PointMass", "c", c, "c")
        self.dim = len(self.point)

    def mean(self) -> Array:
        return self.point

    def cov(self) -> Array:
        return np.zeros((self.dim, self.dim))

    def variance(self) -> Array:
        return np.zeros(self.dim)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.tile(self.point, (n, 1))

    def support(self) -> tuple[Array, Array]:
        return self.point[None, :], np.ones(1)

    def moments(self, powers: Powers) -> Array:
        return np.asarray(np.prod(self.point**powers, axis=1))

    def to_json(self) -> dict[str, Any]:
        return self._json(c=self.point.tolist())

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> PointMass:
        return cls(*fields("PointMass", data, ["c"]))

    def __repr__(self) -> str:
        return f"PointMass({shown(self.point)})"

    def _moved(self, shift: Array, scale: Array, blur: Array) -> Belief:
        centre = shift + scale * self.point
        return Gaussian(centre, blur**2) if blur.any() else PointMass(centre)

    def _selected(self, order: list[int]) -> PointMass:
        return PointMass(self.point[order])
