"""Quadratic features: the map of the synthetic experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.gaussian import Gaussian
from overcast.beliefs.stacked import BeliefStack, CorrelatedStack, GaussianStack
from overcast.features.base import Indices, Separable, covariance_of_monomials


@dataclass(frozen=True)
class Quadratic(Separable):
    """phi(x, c) = (x_1^2, ..., x_a^2, c_1^2, ..., c_a^2, x_1 c_1, ..., x_a c_a), d = 3a (section 5).

    Actions and contexts have the same dimension.

    Examples
    --------
    >>> Quadratic()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[[ 1.,  4.,  9., 16.,  3.,  8.]]])
    """

    def action_terms(self, actions: Array) -> Array:
        return np.concatenate([actions**2, np.ones((*actions.shape[:-1], 1)), actions], axis=-1)

    def context_terms(self, contexts: Array) -> Array:
        return _terms(contexts, contexts * contexts)

    def sampled_terms(self, belief: Belief | BeliefStack, samples: int, rng: Any) -> Array:
        return _terms(*belief.sample_moments(samples, rng))

    def pairs(self, a: int, c: int) -> tuple[Indices, Indices]:
        if a != c:
            raise ValueError(f"Quadratic: actions and contexts must have one dimension, got {a} and {c}")
        i = np.arange(a)
        return np.concatenate([i, np.full(a, a), 1 + a + i]), np.concatenate(
            [np.zeros(a, dtype=np.intp), 1 + i, 1 + a + i]
        )

    def _expected_terms(self, belief: Belief | BeliefStack) -> Array:
        mean = belief.mean()
        return _terms(mean, belief.variance() + mean * mean)

    def _term_covariance(self, belief: Belief | BeliefStack) -> Array:
        if isinstance(belief, (Gaussian, GaussianStack, CorrelatedStack)):
            return _of_normal(belief.mean(), belief.cov())
        one = np.eye(belief.dim, dtype=np.int64)
        return covariance_of_monomials(belief, np.concatenate([np.zeros_like(one[:1]), 2 * one, one]))


def _terms(first: Array, second: Array) -> Array:
    """Return (1, E[c_i^2], E[c_i]) along the last axis."""
    one = np.ones((*first.shape[:-1], 1)) if first.ndim > 1 else _ONE
    return np.concatenate([one, second, first], axis=-1)


def _of_normal(mean: Array, cov: Array) -> Array:
    """Return the covariance of (1, c_i^2, c_i) for normal c, shape (..., 1 + 2c, 1 + 2c).

    Cov(c_i^2, c_j^2) = 2 cov_ij (cov_ij + 2 mean_i mean_j) and Cov(c_i^2, c_j) = 2 mean_i cov_ij, by Isserlis.
    """
    c = mean.shape[-1]
    twice = 2.0 * mean[..., :, None] * cov
    out = np.zeros((*mean.shape[:-1], 1 + 2 * c, 1 + 2 * c))
    out[..., 1 : 1 + c, 1 : 1 + c] = 2.0 * (cov * cov + twice * mean[..., None, :])
    out[..., 1 : 1 + c, 1 + c :] = twice
    out[..., 1 + c :, 1 : 1 + c] = twice.swapaxes(-1, -2)
    out[..., 1 + c :, 1 + c :] = cov
    return out


_ONE = np.ones(1)
