"""Linear and bilinear features: action and context concatenated, or multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from overcast._check import Array
from overcast._linalg import Indices
from overcast.beliefs.base import Beliefs
from overcast.features.separable import Separable
from overcast.features.standard import (
    Moments,
    Side,
    add_near_constant,
    constant_of_moments,
    constant_of_vectors,
    side_of_moments,
    side_of_vectors,
    variety,
)


@dataclass(frozen=True)
class Linear(Separable):
    """Linear features phi(x, c) = (x, c), d = a + c.

    The context adds the same amount to the reward of every action, so the best action is always the same. If the best
    action depends on the context, take `Bilinear`, `Quadratic` or `Polynomial`. `Polynomial(1)` adds a constant.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0]])
    array([[[1., 2., 3.]]])
    """

    def action_terms(self, actions: Array) -> Array:
        return np.concatenate([actions, np.ones((*actions.shape[:-1], 1))], axis=-1)

    def context_terms(self, contexts: Array) -> Array:
        return np.concatenate([np.ones((*contexts.shape[:-1], 1)), contexts], axis=-1)

    def sampled_terms(self, beliefs: Beliefs, samples: int, rng: Any) -> Array:
        return self.context_terms(beliefs.sample_mean(samples, rng))

    def size(self, a: int, c: int) -> int:
        return a + c

    def pairs(self, a: int, c: int) -> tuple[Indices, Indices]:
        j = np.concatenate([np.arange(a), np.full(c, a)])
        m = np.concatenate([np.zeros(a, dtype=np.intp), 1 + np.arange(c)])
        return j, m

    def standard_actions(self, actions: Array) -> Side:
        return _add_one(side_of_vectors(actions, constant_of_vectors(actions)), -1)

    def standard_contexts(self, moments: Moments) -> Side:
        return _add_one(side_of_moments(Moments(moments.mean[..., 1:], moments.variance[..., 1:])), 0)

    def actions_change(self, j: Indices) -> Indices:
        return np.flatnonzero(j < j.max())

    def constant(self, of_action: Array, of_context: Array, j: Indices, m: Indices) -> Array:
        of_actions, of_contexts = of_action[..., :-1], of_context[..., 1:]
        no_constant = ~of_actions.any(axis=-1, keepdims=True)  # then a constant coordinate of contexts serves
        of_contexts = of_contexts * no_constant
        leading = of_contexts.shape[:-1]
        return np.concatenate([np.broadcast_to(of_actions, (*leading, of_actions.shape[-1])), of_contexts], axis=-1)

    def _term_names(self, actions: Sequence[str], contexts: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        return [*actions, "1"], ["1", *contexts]

    def _expected_terms(self, beliefs: Beliefs) -> Array:
        return self.context_terms(beliefs.mean())

    def _term_covariance(self, beliefs: Beliefs) -> Array:
        cov = beliefs.cov()
        out = np.zeros((*cov.shape[:-2], 1 + beliefs.dim, 1 + beliefs.dim))
        out[..., 1:, 1:] = cov
        return out


@dataclass(frozen=True)
class Bilinear(Separable):
    """Bilinear features phi(x, c) = vec(x c^T), row by row: feature i * c + j is x_i c_j, and d = a * c.

    The map of the MovieLens and crop experiments (section 5). The features of an action vector of zeros are zero, and
    so is its estimated reward for ever: give actions an entry that is always 1.

    Examples
    --------
    >>> Bilinear()([[1.0, 2.0]], [[3.0, 4.0, 5.0]])
    array([[[ 3.,  4.,  5.,  6.,  8., 10.]]])
    """

    def action_terms(self, actions: Array) -> Array:
        return actions

    def context_terms(self, contexts: Array) -> Array:
        return contexts

    def sampled_terms(self, beliefs: Beliefs, samples: int, rng: Any) -> Array:
        return beliefs.sample_mean(samples, rng)

    def size(self, a: int, c: int) -> int:
        return a * c

    def pairs(self, a: int, c: int) -> tuple[Indices, Indices]:
        return np.repeat(np.arange(a), c), np.tile(np.arange(c), a)

    def standard_actions(self, actions: Array) -> Side:
        constant = constant_of_vectors(actions)
        return add_near_constant(side_of_vectors(actions, constant), constant)

    def standard_contexts(self, moments: Moments) -> Side:
        return add_near_constant(side_of_moments(moments), constant_of_moments(moments))

    def variety(self, moments: Moments) -> Array:
        return variety(moments)

    def _term_names(self, actions: Sequence[str], contexts: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        return actions, contexts

    def _expected_terms(self, beliefs: Beliefs) -> Array:
        return beliefs.mean()

    def _term_covariance(self, beliefs: Beliefs) -> Array:
        return beliefs.cov()


def _add_one(side: Side, at: int) -> Side:
    """Add a constant term 1 to standard terms, in the first place (0) or the last (-1)."""
    p = side.one.shape[-1]
    matrix, one = np.zeros((*side.one.shape[:-1], p + 1, p + 1)), np.zeros((*side.one.shape[:-1], p + 1))
    rest = slice(1, None) if at == 0 else slice(None, -1)
    matrix[..., rest, rest], matrix[..., at, at], one[..., rest] = side.matrix, 1.0, side.one
    return Side(matrix, one)
