"""Features from any function of actions and contexts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.features.base import FeatureMap, no_closed_form


@dataclass(frozen=True)
class Function(FeatureMap):
    """phi(x, c) = fn(actions, contexts), e.g. the last layer of a network.

    Exact where the belief has finite support; elsewhere pass `samples=`.

    Parameters
    ----------
    fn : (k, a) actions and (n, c) contexts give (k, n, dim) features
    dim : number of features, d

    Examples
    --------
    >>> distance = Function(lambda x, c: ((x[:, None] - c[None]) ** 2).sum(-1, keepdims=True), dim=1)
    >>> distance([[0.0], [1.0]], [[3.0]])
    array([[[9.]],
    <BLANKLINE>
           [[4.]]])
    """

    fn: Callable[[Array, Array], Array]
    dim: int

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise TypeError(f"Function: fn must be a function of actions and contexts, got {_check.short(self.fn)}")
        _check.integer("Function", "dim", self.dim, at_least=1)

    def size(self, a: int, c: int) -> int:
        return self.dim

    def _evaluate(self, actions: Array, contexts: Array) -> Array:
        shape = (len(actions), len(contexts), self.dim)
        return _check.array("Function", "fn's result", self.fn(actions, contexts), shape)

    def _expected(self, actions: Array, belief: Belief) -> Array:
        finite = belief.support()
        if finite is None:
            raise no_closed_form(self, belief)  # no finite support, or one of too many points
        points, weights = finite
        return np.asarray(np.einsum("knd,n->kd", self._evaluate(actions, points), weights))
