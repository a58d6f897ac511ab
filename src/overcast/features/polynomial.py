"""Polynomial features: all monomials of action and context up to a degree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.beliefs._moments import exponents
from overcast.beliefs.base import Belief
from overcast.beliefs.stacked import BeliefStack
from overcast.features.base import Indices, Separable, covariance_of_monomials


@dataclass(frozen=True)
class Polynomial(Separable):
    """All monomials x^alpha c^gamma with |alpha| + |gamma| <= degree, the constant included.

    d = (a + c + degree choose degree). Exact wherever the belief knows its moments up to `degree`.

    Examples
    --------
    >>> Polynomial(2)([[2.0]], [[3.0]])  # 1, c, c^2, x, xc, x^2
    array([[[1., 3., 9., 2., 6., 4.]]])
    """

    degree: int

    def __post_init__(self) -> None:
        _check.integer("Polynomial", "degree", self.degree, at_least=1)

    def action_terms(self, actions: Array) -> Array:
        return _monomials(actions, self.degree)

    def context_terms(self, contexts: Array) -> Array:
        return _monomials(contexts, self.degree)

    def pairs(self, a: int, c: int) -> tuple[Indices, Indices]:
        of_action = exponents(a, self.degree).sum(axis=1)
        of_context = exponents(c, self.degree).sum(axis=1)
        j, m = np.nonzero(of_action[:, None] + of_context <= self.degree)
        return j, m

    def _expected_terms(self, belief: Belief | BeliefStack) -> Array:
        return belief.moments(exponents(belief.dim, self.degree))

    def _term_covariance(self, belief: Belief | BeliefStack) -> Array:
        return covariance_of_monomials(belief, exponents(belief.dim, self.degree))


def _monomials(points: Array, degree: int) -> Array:
    return np.asarray(np.prod(points[..., None, :] ** exponents(points.shape[-1], degree), axis=-1))
