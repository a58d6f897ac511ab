"""Beliefs with finite support: forecast members, users of a group."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from overcast import _check
from overcast._check import Array
from overcast.beliefs._coordinates import place_among
from overcast.beliefs.base import Belief, check_moments
from overcast.beliefs.serialise import fields

# From this many effective members on, 1 / sum(weights^2), an ensemble is a sample. With fewer, the rank of an outcome
# among them says nothing, and the weighted points are the distribution itself.
SAMPLE = 2.0
# Number of equally likely quantiles that approximate a normal distribution around each of several blurred members, and
# around a single member.
NODES, ALONE = 10, 50


class Ensemble(Belief):
    """The distribution sum_j weights_j delta(points_j) on finitely many contexts.

    Expectations take it as the distribution itself: `cov` divides by n, not by n - 1. `place`, `reach` and
    `stated_error` take the members, if effectively two or more, as draws from the distribution of the context.

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
            use = f"reshape to ({n}, 1) or (1, {n}), or use PointMass for one context"
            raise ValueError(f"Ensemble: points must have shape (n, c), got ({n},); {use}")
        #: (n, c) the points
        self.points = _check.checked("Ensemble", "points", array, ("n", "c"))
        n, self.dim = self.points.shape
        self.members = n
        #: (n,) their probabilities
        self.weights = _check.weights("Ensemble", weights, n)
        effective = float(1.0 / (self.weights @ self.weights))
        self.sample_size = effective if effective >= SAMPLE else np.inf
        self._uniform = weights is None or bool((self.weights == self.weights[0]).all())
        check_moments(self, "points", self.points)

    def mean(self) -> Array:
        return self._mean

    def cov(self) -> Array:
        return self._cov

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        if self._uniform:
            at = (rng.random(n) * len(self.points)).astype(np.intp)  # thrice as fast as rng.integers
        else:
            at = np.searchsorted(self._cumulative, rng.random(n), side="right")
        return self.points.take(at, axis=0)

    def support(self) -> tuple[Array, Array]:
        return self.points, self.weights

    def place(self, outcome: Array) -> Array:
        return place_among(self.points, self.weights, outcome, self.sample_size)

    def reach(self) -> Array:
        """Return (n - 1) / (n + 1), the probability between the outermost of n members, shape (c,)."""
        n = self.sample_size
        return np.full(self.dim, (n - 1.0) / (n + 1.0) if n < np.inf else 1.0)

    def beyond(self, outcome: Array) -> NDArray[np.bool_]:
        points = self.points[self.weights > 0.0]
        return np.asarray((outcome < points.min(axis=0)) | (outcome > points.max(axis=0)))

    def stated_error(self) -> Array:
        """Return the mean of n members and the standard deviation of the context about that mean, shape (2, c).

        It is sqrt((n + 1) / (n - 1)) times that of the members, so that good ensembles need no correction.
        """
        mean, deviation = super().stated_error()
        mean = np.where(deviation == 0.0, self.points[np.argmax(self.weights)], mean)  # averaging one number rounds it
        n = self.sample_size
        return np.stack([mean, deviation * np.sqrt((n + 1) / (n - 1)) if n < np.inf else deviation])

    def to_json(self) -> dict[str, Any]:
        weights = None if self._uniform else self.weights.tolist()
        return self._json(points=self.points.tolist(), weights=weights)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Ensemble:
        return cls(*fields("Ensemble", data, ["points"], ["weights"]))

    def __repr__(self) -> str:
        return f"Ensemble({len(self.points)} points, dim={self.dim}{'' if self._uniform else ', weighted'})"

    def _placed(self, points: Array) -> Ensemble:
        """Return the ensemble of these points, with the weights of the members that they replace."""
        weights = self.weights[self.weights > 0.0]
        copies, rest = divmod(len(points), len(weights))
        if self._uniform or rest:
            return Ensemble(points)
        return Ensemble(points, np.repeat(weights / copies, copies))

    def _moved(self, shift: Array, scale: Array, blur: Array) -> Ensemble:
        """Move every member, then blur it along each dimension in turn, which adds the variances."""
        points, weights, at = shift + scale * self.points, self.weights, np.flatnonzero(blur)
        if not len(at):
            return Ensemble(points, weights)
        if len(at) == self.dim:  # all members are the same
            points, weights = points[:1], np.ones(1)
        count = NODES if len(points) > 1 else ALONE
        nodes = ndtri((np.arange(count) + 0.5) / count)
        nodes *= np.sqrt(len(at) / np.mean(nodes**2))
        blurred = np.repeat(points, count * len(at), axis=0)
        for i, dimension in enumerate(at):
            steps = np.zeros((len(at), count))
            steps[i] = nodes * blur[dimension]
            blurred[:, dimension] += np.tile(steps.ravel(), len(points))
        return Ensemble(blurred, np.repeat(weights / (count * len(at)), count * len(at)))

    def _selected(self, order: list[int]) -> Ensemble:
        return Ensemble(self.points[:, order], None if self._uniform else self.weights)

    @cached_property
    def _mean(self) -> Array:
        return _check.read_only(self.weights @ self.points)

    @cached_property
    def _cov(self) -> Array:
        centred = self.points - self._mean
        return _check.read_only((centred * self.weights[:, None]).T @ centred)

    @cached_property
    def _cumulative(self) -> Array:
        # The last entry must be one exactly: a draw above it would point past the end.
        total = self.weights.cumsum()
        return np.asarray(total / total[-1])
