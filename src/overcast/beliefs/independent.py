"""Products of beliefs over parts of the context."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs._moments import Powers
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Cloud, Complex, product
from overcast.beliefs.serialise import fields, nested, parts, shown

# The size of a product's support is the product of the parts' sizes.
SUPPORT_LIMIT = 100_000

Kind = TypeVar("Kind", bound=np.generic)


class Independent(Belief):
    """The product mu_1 x ... x mu_m: parts of the context that are independent of each other.

    The context is the parts' contexts, concatenated.

    Parameters
    ----------
    beliefs : one belief for each part of the context, in order

    Examples
    --------
    >>> from overcast.beliefs import Gaussian, PointMass
    >>> Independent([Gaussian([21.0], 4.0), PointMass([1.0, 0.0])]).mean()
    array([21.,  1.,  0.])
    """

    def __init__(self, beliefs: Sequence[Belief]) -> None:
        #: the parts, in order
        self.beliefs = parts("Independent", beliefs)
        self.dim = sum(belief.dim for belief in self.beliefs)
        self.exact = all(belief.exact for belief in self.beliefs)
        self._cuts = np.cumsum([belief.dim for belief in self.beliefs])[:-1].tolist()
        self.names = _concatenated(self.beliefs)

    def mean(self) -> Array:
        return np.concatenate([belief.mean() for belief in self.beliefs])

    def cov(self) -> Array:
        return np.asarray(scipy.linalg.block_diag(*(belief.cov() for belief in self.beliefs)))

    def variance(self) -> Array:
        return np.concatenate([belief.variance() for belief in self.beliefs])

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.concatenate([belief.sample(n, rng) for belief in self.beliefs], axis=1)

    def support(self) -> tuple[Array, Array] | None:
        """Return the product of the parts' supports, None where it would have more than 100,000 points."""
        finite = [belief.support() for belief in self.beliefs]
        supports = [s for s in finite if s is not None]
        sizes = [len(weights) for _, weights in supports]
        if len(supports) < len(finite) or math.prod(sizes) > SUPPORT_LIMIT:
            return None
        at = np.indices(sizes).reshape(len(sizes), -1)
        points = np.concatenate([points[i] for i, (points, _) in zip(at, supports, strict=True)], axis=1)
        return points, np.asarray(np.prod([weights[i] for i, (_, weights) in zip(at, supports, strict=True)], axis=0))

    def cloud(self) -> Cloud | None:
        """Return the product of the parts' clouds, None where it would have more than 100,000 components."""
        clouds = [belief.cloud() for belief in self.beliefs]
        known = [cloud for cloud in clouds if cloud is not None]
        small = math.prod(len(cloud.weights) for cloud in known) <= SUPPORT_LIMIT
        return product(known) if len(known) == len(clouds) and small else None

    def characteristic(self, frequencies: Array) -> Complex:
        return np.asarray(np.prod([belief.characteristic(w) for belief, w in self._split(frequencies)], axis=0))

    def moments(self, powers: Powers) -> Array:
        return np.asarray(np.prod([belief.moments(part) for belief, part in self._split(powers)], axis=0))

    def place(self, outcome: Array) -> Array:
        return np.concatenate([belief.place(part) for belief, part in self._split(outcome)], axis=1)

    def reach(self) -> Array:
        return np.concatenate([belief.reach() for belief in self.beliefs])

    def beyond(self, outcome: Array) -> NDArray[np.bool_]:
        return np.concatenate([belief.beyond(part) for belief, part in self._split(outcome)])

    def stated_error(self) -> Array:
        return np.concatenate([belief.stated_error() for belief in self.beliefs], axis=1)

    def to_json(self) -> dict[str, Any]:
        return self._json(beliefs=[belief.to_json() for belief in self.beliefs])

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Independent:
        fields("Independent", data, ["beliefs"])
        return cls(nested("Independent", data["beliefs"]))

    def __repr__(self) -> str:
        return f"Independent({shown(self.beliefs)})"

    def _cdf(self, values: Array) -> Array:
        return np.concatenate([belief.cdf(part) for belief, part in self._split(values)], axis=1)

    def _quantile(self, p: Array) -> Array:
        return np.concatenate([belief.quantile(p) for belief in self.beliefs], axis=1)

    def _moved(self, shift: Array, scale: Array, blur: Array) -> Independent:
        return Independent([belief.moved(*part) for belief, part in self._split(np.stack([shift, scale, blur]))])

    def _selected(self, order: list[int]) -> Belief:
        part = np.searchsorted(self._cuts, order, side="right")
        runs = np.split(np.arange(len(order)), np.flatnonzero(np.diff(part)) + 1)
        if len(runs) > len(np.unique(part)):  # the dimensions of a part are no longer adjacent
            return super()._selected(order)
        first = [0, *self._cuts]
        picked = [(int(part[run[0]]), [order[i] - first[part[i]] for i in run]) for run in runs]
        return Independent([self.beliefs[i].select(dimensions) for i, dimensions in picked])

    def _split(self, values: NDArray[Kind]) -> list[tuple[Belief, NDArray[Kind]]]:
        """Return each part with its columns of `values` (..., c)."""
        return list(zip(self.beliefs, np.split(values, self._cuts, axis=-1), strict=True))


def _concatenated(beliefs: Sequence[Belief]) -> tuple[str, ...] | None:
    """Return the names of all dimensions, None unless all have names."""
    each = [belief.names for belief in beliefs]
    names = tuple(name for part in each if part is not None for name in part)
    return None if None in each else _check.distinct_names("Independent", "names of beliefs", names)
