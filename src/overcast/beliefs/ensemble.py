"""Beliefs with finite support: forecast members, users of a group."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.beliefs._parts import fields
from overcast.beliefs.base import Belief


class Ensemble(Belief):
    """The distribution sum_j weights_j delta(points_j) on finitely many contexts.

    It is the distribution itself, not a sample of another one: `cov` divides by no n - 1.

    Parameters
    ----------
    points : (n, c) array, one row for each forecast member
    weights : (n,) probabilities, all equal for None

    Examples
    --------
    >>> members = Ensemble([[19.0, 0.1], [23.0, 0.3]], weights=[0.25, 0.75])
    >>> members.mean()
    array([22.  ,  0.25])
    """

    def __init__(self, points: ArrayLike, weights: ArrayLike | None = None) -> None:
        array = _check.floats("Ensemble", "points", points)
        if array.ndim == 1 and len(array):
            n = len(array)
            raise ValueError(
                f"Ensemble: points must have shape (n, c), got ({n},); reshape to ({n}, 1) or (1, {n}), "
                f"or use PointMass for one context"
            )
        self._points = _check.checked("Ensemble", "points", array, ("n", "c"))
        n, self.dim = self._points.shape
        self._weights = _check.weights("Ensemble", weights, n)
        self._uniform = weights is None or bool((self._weights == self._weights[0]).all())

    def mean(self) -> Array:
        return self._mean

    def cov(self) -> Array:
        return self._cov

    def variance(self) -> Array:
        return np.diagonal(self._cov)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        if self._uniform:
            at = (rng.random(n) * len(self._points)).astype(np.intp)  # thrice as fast as rng.integers
        else:
            at = np.searchsorted(self._cumulative, rng.random(n), side="right")
        return self._points.take(at, axis=0)

    def support(self) -> tuple[Array, Array]:
        return self._points, self._weights

    def to_json(self) -> dict[str, Any]:
        weights = None if self._uniform else self._weights.tolist()
        return {"type": "Ensemble", "points": self._points.tolist(), "weights": weights}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Ensemble:
        fields("Ensemble", data, ["points"], ["weights"])
        return cls(data["points"], data.get("weights"))

    def __repr__(self) -> str:
        n = len(self._points)
        return f"Ensemble({n} points, dim={self.dim}{'' if self._uniform else ', weighted'})"

    @cached_property
    def _mean(self) -> Array:
        return _check.read_only(self._weights @ self._points)

    @cached_property
    def _cov(self) -> Array:
        centred = self._points - self._mean
        return _check.read_only((centred * self._weights[:, None]).T @ centred)

    @cached_property
    def _cumulative(self) -> Array:
        # The last entry must be one exactly: a draw above it would point past the end.
        total = self._weights.cumsum()
        return np.asarray(total / total[-1])
