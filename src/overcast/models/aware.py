"""Learners that know how noisy each round was: the context's variance under its belief is part of the reward's."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.stacked import BeliefStack
from overcast.features import Bilinear, FeatureMap, Separable
from overcast.features.base import Indices
from overcast.models.base import Estimate, Generators, Index
from overcast.models.blocks import WeightedBlocks
from overcast.models.learners import MAX_TABLE, DenseLearner, DisjointLearner, SeparableLearner
from overcast.models.ridge import Ridge
from overcast.models.symmetric import folded, triangle, upper
from overcast.models.weighted import Weighted

# Draws that stand for a belief where a covariance has no closed form; they set weights only, so a few will do.
DRAWS = 64

# The map whose context terms are the context itself
_CONTEXT = Bilinear()


class TermView(NamedTuple):
    """What a separable or disjoint map needs to know of a belief.

    terms : (..., d) E[s(c)] spread over the features; E[c] (c,) where each action has a block of its own
    belief : whose covariance is computed when it is asked for
    excess : what sampling adds to the covariance, as a share of it
    """

    terms: Array
    belief: Belief | BeliefStack
    excess: float


class AwareSeparableLearner(SeparableLearner):
    """Cov(phi) of an action is z z^T times Cov(s), feature by feature."""

    fit: Weighted

    def __init__(self, features: Separable, actions: Array, context_dim: int, fit: Ridge | Weighted) -> None:
        super().__init__(features, actions, context_dim, fit)
        m, q = self._context_term, int(self._context_term.max()) + 1
        i, j, times = triangle(len(m))
        self._upper = m[i] * q + m[j]  # where Cov(s) holds the entries of the triangle
        self._pairs = i, j, times
        z = self._z_of_feature
        table = z.size // z.shape[-1] * len(i)
        self._products = z[..., i] * z[..., j] * times if table <= MAX_TABLE else None  # of all actions
        self._all = m[:, None] * q + m

    def encode(self, belief: Belief | BeliefStack) -> Any:
        return TermView(super().encode(belief), belief, 0.0)

    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> Any:
        # The average over draws differs from the expectation by a variance of its own.
        return TermView(super().encode_sampled(belief, samples, rng), belief, 1.0 / samples)

    def estimate(self, view: Any) -> Estimate:
        return super().estimate(view.terms)

    def along(self, view: Any, theta: Array) -> Array:
        return super().along(view.terms, theta)

    def prior(self, view: Any) -> Array:
        return super().prior(view.terms)

    def noise(self, view: Any) -> Array:
        of_context = self.quadratic(self.fit.second_moment * self._covariance(view, self._all))
        return np.asarray(np.sqrt(np.maximum(of_context, 0.0) + self.sigma2(view)))

    def evidence(self, view: Any, index: Index) -> Array:
        z = self.terms(index)
        if self._products is None:
            i, j, times = self._pairs
            products = z.take(i, axis=-1) * z.take(j, axis=-1) * times
        else:
            products = self._products[index if self._products.ndim == 2 else (self._rows, index)]
        return np.concatenate([z * view.terms, products * self._covariance(view, self._upper)], axis=-1)

    def _covariance(self, view: TermView, places: Indices) -> Array:
        """Return Cov(s) at these places of its entries, row after row, shape (..., *places.shape)."""
        covariance = self._map.term_covariance(view.belief)
        flat = covariance.reshape(*covariance.shape[:-2], -1)
        picked = flat.take(places, axis=-1)
        return picked * (1.0 + view.excess) if view.excess else picked

    def norm(self, evidence: Array) -> Array:
        return super().norm(evidence[..., : len(self._context_term)])


class SharedDisjointLearner(DisjointLearner):
    """Blocks that share noise and ridge; Cov(phi) of an action is Cov(c) in its block. For one bandit."""

    fit: WeightedBlocks

    def encode(self, belief: Belief | BeliefStack) -> Any:
        return TermView(super().encode(belief), belief, 0.0)

    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> Any:
        return TermView(super().encode_sampled(belief, samples, rng), belief, 1.0 / samples)

    def estimate(self, view: Any) -> Estimate:
        return super().estimate(view.terms)

    def along(self, view: Any, theta: Array) -> Array:
        return super().along(view.terms, theta)

    def prior(self, view: Any) -> Array:
        return super().prior(view.terms)

    def noise(self, view: Any) -> Array:
        if not self.fit.noisy:
            return super().noise(view)
        of_context = upper(self.fit.second_moment) @ self._covariance(view)
        return np.asarray(np.sqrt(np.maximum(of_context, 0.0) + self.sigma2(view))[self._blocks])

    def evidence(self, view: Any, index: Index) -> Array:
        """Return the block's number, E[c], and the folded Cov(c) where rounds are weighed by it."""
        psi = super().evidence(view.terms, index)
        return np.concatenate([psi, self._covariance(view)]) if self.fit.noisy else psi

    def _covariance(self, view: TermView) -> Array:
        return folded(_CONTEXT.term_covariance(view.belief)) * (1.0 + view.excess)

    def learn(self, evidence: Array, reward: float | Array) -> None:
        self.fit.add(evidence, reward)

    def norm(self, evidence: Array) -> Array:
        return super().norm(evidence[: 1 + self._block_size])


class DenseView(NamedTuple):
    """What any map needs to know of a belief.

    psi : (k, d)
    points, weights : (n, c) and (n,), contexts that stand for the belief; weights that sum to one
    excess : what sampling adds to the covariance, as a share of it
    """

    psi: Array
    points: Array
    weights: Array
    excess: float


class AwareDenseLearner(DenseLearner):
    """Cov(phi) of an action is that of its features at a few contexts; for one bandit, not for lock-step."""

    fit: Weighted

    def __init__(self, features: FeatureMap, actions: Array, context_dim: int, fit: Ridge | Weighted) -> None:
        super().__init__(features, actions, context_dim, fit)
        self._map = features
        self._actions = actions

    def encode(self, belief: Belief | BeliefStack) -> Any:
        return DenseView(super().encode(belief), *_points(belief), 0.0)

    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> Any:
        return DenseView(super().encode_sampled(belief, samples, rng), *_points(belief), 1.0 / samples)

    def estimate(self, view: Any) -> Estimate:
        return super().estimate(view.psi)

    def along(self, view: Any, theta: Array) -> Array:
        return super().along(view.psi, theta)

    def prior(self, view: Any) -> Array:
        return super().prior(view.psi)

    def noise(self, view: Any) -> Array:
        deviations = self._deviations(view, self._actions)
        variance = np.vecdot(deviations @ self.fit.second_moment, deviations).sum(axis=-1)
        return np.asarray(np.sqrt(variance + self.sigma2(view)))

    def evidence(self, view: Any, index: Index) -> Array:
        deviations = self._deviations(view, self._actions[np.atleast_1d(index)])[0]
        return np.concatenate([view.psi[index], folded(deviations.T @ deviations)])

    def norm(self, evidence: Array) -> Array:
        return super().norm(evidence[: self.fit.theta.shape[-1]])

    def _deviations(self, view: DenseView, actions: Array) -> Array:
        """Return A (k, n, d) with A_k^T A_k = Cov(phi) of each action."""
        phi = self._map._evaluate(actions, view.points)
        centred = phi - (view.weights[:, None] * phi).sum(axis=1, keepdims=True)
        return np.asarray(centred * np.sqrt(view.weights * (1.0 + view.excess))[:, None])


def _points(belief: Belief | BeliefStack) -> tuple[Array, Array]:
    """Return the support where it is small, else draws that are the same for the same belief."""
    assert isinstance(belief, Belief)
    finite = belief.support()
    if finite is not None and len(finite[0]) <= DRAWS:
        return finite
    return belief.sample(DRAWS, np.random.default_rng(0)), np.full(DRAWS, 1.0 / DRAWS)
