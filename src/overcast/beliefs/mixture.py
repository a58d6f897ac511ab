"""Mixtures of beliefs."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs._coordinates import bisect
from overcast.beliefs._moments import Powers
from overcast.beliefs.base import Belief, NoClosedForm, check_moments
from overcast.beliefs.cloud import Cloud, Complex, mixture
from overcast.beliefs.names import arranged
from overcast.beliefs.serialise import fields, nested, parts, shown


class Mixture(Belief):
    """The distribution sum_j weights_j mu_j: one of several beliefs is right, with these probabilities.

    Parameters
    ----------
    beliefs : beliefs mu_j of equal dimension
    weights : probability of each, all equal for None

    Examples
    --------
    >>> from overcast.beliefs import Gaussian, PointMass
    >>> rain = Mixture([PointMass([0.0]), Gaussian([8.0], 4.0)], weights=[0.75, 0.25])
    >>> rain.mean()
    array([2.])
    >>> rain.cov()
    array([[13.]])
    """

    def __init__(self, beliefs: Sequence[Belief], weights: ArrayLike | None = None) -> None:
        components = parts("Mixture", beliefs)
        self.dim = components[0].dim
        for at, belief in enumerate(components):
            if belief.dim != self.dim:
                got = f"{belief.dim} at index {at} after {self.dim}"
                raise ValueError(f"Mixture: beliefs must have equal dimension, got {got}")
        self.names = next((belief.names for belief in components if belief.names is not None), None)
        #: the beliefs mu_j, with dimensions in the order of the first one that has names
        self.beliefs = tuple(arranged("Mixture", "beliefs", belief, self.names) for belief in components)
        #: (j,) the probability of each
        self.weights = _check.weights("Mixture", weights, len(self.beliefs))
        self.exact = all(belief.exact for belief in self.beliefs)
        if self.exact:
            with contextlib.suppress(NoClosedForm):
                check_moments(self, "beliefs", self._means())

    def mean(self) -> Array:
        return np.asarray(self.weights @ self._means())

    def cov(self) -> Array:
        """Return the mean of the covariances plus the covariance of the means (law of total variance)."""
        means = self._means()
        centred = means - self.weights @ means
        within = sum(w * belief.cov() for w, belief in zip(self.weights, self.beliefs, strict=True))
        return np.asarray(within + (centred * self.weights[:, None]).T @ centred)

    def variance(self) -> Array:
        means = self._means()
        within = np.stack([belief.variance() for belief in self.beliefs])
        return np.asarray(self.weights @ (within + (means - self.weights @ means) ** 2))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        counts = rng.multinomial(n, self.weights)
        draws = np.concatenate([belief.sample(int(k), rng) for k, belief in zip(counts, self.beliefs, strict=True)])
        # Without the permutation the first rows would all come from the first belief.
        return draws[rng.permutation(n)]

    def support(self) -> tuple[Array, Array] | None:
        finite = [belief.support() for belief in self.beliefs]
        supports = [s for s in finite if s is not None]
        if len(supports) < len(finite):
            return None
        points = np.concatenate([points for points, _ in supports])
        return points, np.concatenate([w * inner for w, (_, inner) in zip(self.weights, supports, strict=True)])

    def cloud(self) -> Cloud | None:
        clouds = [belief.cloud() for belief in self.beliefs]
        known = [cloud for cloud in clouds if cloud is not None]
        return mixture(known, self.weights) if len(known) == len(clouds) else None

    def characteristic(self, frequencies: Array) -> Complex:
        return np.asarray(self.weights @ np.stack([belief.characteristic(frequencies) for belief in self.beliefs]))

    def moments(self, powers: Powers) -> Array:
        return np.asarray(self.weights @ np.stack([belief.moments(powers) for belief in self.beliefs]))

    def place(self, outcome: Array) -> Array:
        return np.asarray(np.einsum("j,jkc->kc", self.weights, [belief.place(outcome) for belief in self.beliefs]))

    def reach(self) -> Array:
        return np.asarray(self.weights @ np.array([belief.reach() for belief in self.beliefs]))

    def beyond(self, outcome: Array) -> NDArray[np.bool_]:
        return np.asarray(np.all([belief.beyond(outcome) for belief in self.beliefs], axis=0))

    def to_json(self) -> dict[str, Any]:
        beliefs = [belief.to_json() for belief in self.beliefs]
        return self._json(beliefs=beliefs, weights=self.weights.tolist())

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Mixture:
        beliefs, weights = fields("Mixture", data, ["beliefs"], ["weights"])
        return cls(nested("Mixture", beliefs), weights)

    def __repr__(self) -> str:
        return f"Mixture({shown(self.beliefs)}, weights={shown(self.weights)})"

    def _cdf(self, values: Array) -> Array:
        return np.asarray(np.einsum("j,jmc->mc", self.weights, [belief.cdf(values) for belief in self.beliefs]))

    def _quantile(self, p: Array) -> Array:
        """Bisect between the least and the greatest quantile of the mixed beliefs."""
        each = [belief.quantile(p) for belief, w in zip(self.beliefs, self.weights, strict=True) if w > 0.0]
        low, high = np.min(each, axis=0), np.max(each, axis=0)
        ends = p[:, None]
        return bisect(self._cdf, p, np.where(ends == 1.0, high, low), np.where(ends == 0.0, low, high))

    def _moved(self, shift: Array, scale: Array, blur: Array) -> Mixture:
        return Mixture([belief.moved(shift, scale, blur) for belief in self.beliefs], self.weights)

    def _selected(self, order: list[int]) -> Mixture:
        return Mixture([belief.select(order) for belief in self.beliefs], self.weights)

    def _means(self) -> Array:
        return np.stack([belief.mean() for belief in self.beliefs])
