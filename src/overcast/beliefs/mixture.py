"""Mixtures of beliefs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.beliefs._moments import Powers
from overcast.beliefs._parts import fields, parts
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Cloud, Complex, mixed


class Mixture(Belief):
    """The distribution sum_j weights_j mu_j: one of several beliefs is right, but not known which.

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
        self._beliefs = parts("Mixture", beliefs)
        self.dim = self._beliefs[0].dim
        for at, belief in enumerate(self._beliefs):
            if belief.dim != self.dim:
                raise ValueError(
                    f"Mixture: beliefs must have equal dimension, got {belief.dim} at index {at} after {self.dim}"
                )
        self._weights = _check.weights("Mixture", weights, len(self._beliefs))
        self.exact = all(belief.exact for belief in self._beliefs)

    @property
    def beliefs(self) -> tuple[Belief, ...]:
        """The beliefs mixed."""
        return self._beliefs

    @property
    def weights(self) -> Array:
        return self._weights

    def mean(self) -> Array:
        return np.asarray(self._weights @ self._means())

    def cov(self) -> Array:
        """Return the mean of the covariances plus the covariance of the means (law of total variance)."""
        means = self._means()
        centred = means - self._weights @ means
        within = sum(w * belief.cov() for w, belief in zip(self._weights, self._beliefs, strict=True))
        return np.asarray(within + (centred * self._weights[:, None]).T @ centred)

    def variance(self) -> Array:
        means = self._means()
        within = np.stack([belief.variance() for belief in self._beliefs])
        return np.asarray(self._weights @ (within + (means - self._weights @ means) ** 2))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        counts = rng.multinomial(n, self._weights)
        draws = np.concatenate([belief.sample(int(k), rng) for k, belief in zip(counts, self._beliefs, strict=True)])
        # Without the shuffle the first rows would all come from the first belief.
        return draws[rng.permutation(n)]

    def support(self) -> tuple[Array, Array] | None:
        finite = [belief.support() for belief in self._beliefs]
        found = [s for s in finite if s is not None]
        if len(found) < len(finite):
            return None
        points = np.concatenate([points for points, _ in found])
        return points, np.concatenate([w * inner for w, (_, inner) in zip(self._weights, found, strict=True)])

    def cloud(self) -> Cloud | None:
        clouds = [belief.cloud() for belief in self._beliefs]
        found = [cloud for cloud in clouds if cloud is not None]
        return mixed(found, self._weights) if len(found) == len(clouds) else None

    def characteristic(self, frequencies: Array) -> Complex:
        return np.asarray(self._weights @ np.stack([belief.characteristic(frequencies) for belief in self._beliefs]))

    def moments(self, powers: Powers) -> Array:
        return np.asarray(self._weights @ np.stack([belief.moments(powers) for belief in self._beliefs]))

    def to_json(self) -> dict[str, Any]:
        beliefs = [belief.to_json() for belief in self._beliefs]
        return {"type": "Mixture", "beliefs": beliefs, "weights": self._weights.tolist()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Mixture:
        fields("Mixture", data, ["beliefs"], ["weights"])
        return cls(nested("Mixture", data["beliefs"]), data.get("weights"))

    def __repr__(self) -> str:
        return f"Mixture({list(self._beliefs)}, weights={self._weights.tolist()})"

    def _means(self) -> Array:
        return np.stack([belief.mean() for belief in self._beliefs])


def nested(owner: str, data: object) -> list[Belief]:
    """Return the beliefs inside the JSON form of a belief made of others."""
    # Imported here because the table of all beliefs there needs this module first.
    from overcast.beliefs.serialise import belief_from_json

    if not isinstance(data, list):
        raise ValueError(f"{owner}: beliefs must be a list of beliefs, got {_check.short(data)}")
    return [belief_from_json(item) for item in data]
