"""Linear features: action and context side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.stacked import BeliefStack
from overcast.features.base import Indices, Separable


@dataclass(frozen=True)
class Linear(Separable):
    """phi(x, c) = (x, c), d = a + c.

    The context shifts all rewards alike, so the best action is the same in every context; for one that depends on
    the context take `Bilinear`, `Quadratic` or `Polynomial`. `Polynomial(1)` adds a constant.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0]])
    array([[[1., 2., 3.]]])
    """

    def action_terms(self, actions: Array) -> Array:
        return np.concatenate([actions, np.ones((*actions.shape[:-1], 1))], axis=-1)

    def context_terms(self, contexts: Array) -> Array:
        return np.concatenate([np.ones((*contexts.shape[:-1], 1)), contexts], axis=-1)

    def sampled_terms(self, belief: Belief | BeliefStack, samples: int, rng: Any) -> Array:
        return self.context_terms(belief.sample_mean(samples, rng))

    def pairs(self, a: int, c: int) -> tuple[Indices, Indices]:
        j = np.concatenate([np.arange(a), np.full(c, a)])
        m = np.concatenate([np.zeros(a, dtype=np.intp), 1 + np.arange(c)])
        return j, m

    def _expected_terms(self, belief: Belief | BeliefStack) -> Array:
        return self.context_terms(belief.mean())

    def _term_covariance(self, belief: Belief | BeliefStack) -> Array:
        cov = belief.cov()
        out = np.zeros((*cov.shape[:-2], 1 + belief.dim, 1 + belief.dim))
        out[..., 1:, 1:] = cov
        return out
