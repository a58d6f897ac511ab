"""Bilinear features: the map of the MovieLens and crop experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.stacked import BeliefStack
from overcast.features.base import Indices, Separable


@dataclass(frozen=True)
class Bilinear(Separable):
    """phi(x, c) = vec(x c^T), row by row: feature i * c + j is x_i c_j, and d = a * c.

    Examples
    --------
    >>> Bilinear()([[1.0, 2.0]], [[3.0, 4.0, 5.0]])
    array([[[ 3.,  4.,  5.,  6.,  8., 10.]]])
    """

    def action_terms(self, actions: Array) -> Array:
        return actions

    def context_terms(self, contexts: Array) -> Array:
        return contexts

    def sampled_terms(self, belief: Belief | BeliefStack, samples: int, rng: Any) -> Array:
        return belief.sample_mean(samples, rng)

    def pairs(self, a: int, c: int) -> tuple[Indices, Indices]:
        return np.repeat(np.arange(a), c), np.tile(np.arange(c), a)

    def _expected_terms(self, belief: Belief | BeliefStack) -> Array:
        return belief.mean()

    def _term_covariance(self, belief: Belief | BeliefStack) -> Array:
        return belief.cov()
