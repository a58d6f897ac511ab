"""Beliefs about some of the dimensions of another, in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.beliefs._coordinates import order as checked_order
from overcast.beliefs._moments import Powers
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Cloud, Complex
from overcast.beliefs.serialise import fields, nested, parts


class Selected(Belief):
    """The distribution of some coordinates of c, where c follows another belief.

    `Belief.select` returns it for beliefs that do not stay of their kind. It is exact if that belief is.

    Parameters
    ----------
    belief : the belief about c
    order : indices of the coordinates, each at most once

    Examples
    --------
    >>> import scipy.stats
    >>> from overcast.beliefs import Frozen
    >>> both = Frozen(scipy.stats.multivariate_t([1.0, 2.0], [[1.0, 0.5], [0.5, 3.0]], df=4))
    >>> Selected(both, [1]).mean(), Selected(both, [1]).cov()
    (array([2.]), array([[6.]]))
    """

    def __init__(self, belief: Belief, order: Sequence[int]) -> None:
        #: the belief about all coordinates
        (self.belief,) = parts("Selected", [belief])
        #: (c,) indices of the coordinates
        self.order = checked_order("Selected", order, self.belief.dim, self.belief.names)
        self.dim = len(self.order)
        self.exact = self.belief.exact
        if self.belief.names is not None:
            self.names = tuple(self.belief.names[i] for i in self.order)

    def mean(self) -> Array:
        return self.belief.mean()[self.order]

    def cov(self) -> Array:
        return self.belief.cov()[np.ix_(self.order, self.order)]

    def variance(self) -> Array:
        return self.belief.variance()[self.order]

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.belief.sample(n, rng)[:, self.order]

    def sample_mean(self, n: int, rng: np.random.Generator) -> Array:
        return self.belief.sample_mean(n, rng)[self.order]

    def support(self) -> tuple[Array, Array] | None:
        finite = self.belief.support()
        return None if finite is None else (finite[0][:, self.order], finite[1])

    def cloud(self) -> Cloud | None:
        cloud = self.belief.cloud()
        if cloud is None:
            return None
        cov = cloud.cov
        if cov is not None:
            cov = cov[:, self.order] if cov.ndim == 2 else cov[:, self.order][:, :, self.order]
        return Cloud(cloud.weights, cloud.centres[:, self.order], cov)

    def characteristic(self, frequencies: Array) -> Complex:
        return self.belief.characteristic(self._embed(frequencies))

    def moments(self, powers: Powers) -> Array:
        whole = np.zeros((len(powers), self.belief.dim), dtype=np.int64)
        whole[:, self.order] = powers
        return self.belief.moments(whole)

    def place(self, outcome: Array) -> Array:
        return self.belief.place(self._embed(outcome))[:, self.order]

    def reach(self) -> Array:
        return self.belief.reach()[self.order]

    def beyond(self, outcome: Array) -> NDArray[np.bool_]:
        return self.belief.beyond(self._embed(outcome))[self.order]

    def stated_error(self) -> Array:
        return self.belief.stated_error()[:, self.order]

    def to_json(self) -> dict[str, Any]:
        return self._json(belief=self.belief.to_json(), order=self.order)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Selected:
        fields("Selected", data, ["belief", "order"])
        return cls(nested("Selected", [data["belief"]])[0], data["order"])

    def __repr__(self) -> str:
        return f"Selected({self.belief}, {self.order})"

    def _cdf(self, values: Array) -> Array:
        return self.belief.cdf(self._embed(values))[:, self.order]

    def _quantile(self, p: Array) -> Array:
        return self.belief.quantile(p)[:, self.order]

    def _selected(self, order: list[int]) -> Belief:
        return self.belief.select([self.order[i] for i in order])

    def _embed(self, values: Array) -> Array:
        """Return values (..., c) among those of all coordinates, with zeros for the others."""
        out = np.zeros((*values.shape[:-1], self.belief.dim))
        out[..., self.order] = values
        return out
