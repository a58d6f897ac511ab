"""Learners of the linear model: least squares on expected or realised features (Algorithms 1 and 2)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.stacked import BeliefStack
from overcast.features import Disjoint, FeatureMap, Separable
from overcast.features.base import FeaturesAt, no_closed_form
from overcast.models.base import Estimate, Generators, Index, LastingLearner, normals
from overcast.models.ridge import Ridge, apply
from overcast.models.weighted import Weighted

# Up to this many action terms the quadratic forms z^T G z of all actions are one product with the p (p + 1) / 2
# distinct z_i z_j, stored once, in a table of at most so many numbers; beyond it the table outgrows its use.
MAX_TABULATED_TERMS = 24
MAX_TABLE = 4_000_000

# Up to this many multiplications k d^2, a single bandit is better served by the few calls on dense features.
MAX_DENSE_WORK = 50_000


class LinearLearner(LastingLearner):
    """What the learners of all feature maps share."""

    fit: Ridge | Weighted

    @abstractmethod
    def along(self, view: Array, theta: Array) -> Array:
        """Return psi^T theta of all actions for theta in the shape of the fit's, shape (..., k)."""

    def noise(self, view: Array) -> Array:
        k = self.along(view, self.fit.theta).shape
        # The paper's least squares take the noise of all rewards for alike, and the widths are in its unit.
        return np.sqrt(np.broadcast_to(self.sigma2(view), k)) if isinstance(self.fit, Weighted) else np.ones(k)

    def sigma2(self, view: Array) -> Array:
        """Return the variance of the rewards' own noise, shape (..., 1).

        Before any reward, noise and signal are taken to be equally strong, in whatever unit the signal is.
        """
        assert isinstance(self.fit, Weighted)
        signal = (self.prior(view) ** 2).mean(axis=-1)
        return np.asarray(np.where(self.fit.scaled, self.fit.sigma2, signal))[..., None]

    def draw(self, view: Array, rng: Generators) -> Array:
        return self.along(view, self.fit.draw(self._normals(rng)))

    def perturb(self, view: Array, rng: Generators) -> Array:
        return self.along(view, self.fit.perturb(self._normals(rng)))

    def _normals(self, rng: Generators) -> Array:
        """Return standard normal numbers in the shape of the fit's theta."""
        shape = self.fit.theta.shape
        trials = len(rng) if isinstance(rng, Sequence) else 1
        return normals(rng, self.fit.theta.size // trials).reshape(shape)

    def learn(self, evidence: Array, reward: float | Array) -> None:
        self.fit.add(evidence, reward)

    def norm(self, evidence: Array) -> Array:
        return np.asarray(np.sqrt(np.vecdot(evidence, evidence)))

    @property
    def theta(self) -> Array:
        """theta-hat, shape (..., d)."""
        return self.fit.theta

    @property
    def log_det(self) -> float | Array:
        return self.fit.log_det

    @property
    def slack(self) -> float | Array | None:
        return self.fit.slack if isinstance(self.fit, Weighted) else None

    def distance(self, theta: Array) -> Array:
        """Return the norm of theta - theta-hat under V_t: theta is in the confidence set when it is at most beta_t."""
        return self.fit.distance(theta)

    def state(self) -> dict[str, Array]:
        return self.fit.state()

    def restore(self, state: dict[str, Array]) -> None:
        self.fit.restore(state)

    def pack(self, evidence: Sequence[Array]) -> dict[str, Array]:
        return {"evidence": np.array(evidence)}

    def unpack(self, arrays: dict[str, Array]) -> Sequence[Array]:
        return list(arrays["evidence"])

    def merge(self, other: LinearLearner) -> None:
        self.fit.merge(other.fit)  # type: ignore[arg-type]  # of the same model, so of the same kind


class SeparableLearner(LinearLearner):
    """A view is E[s(c)] spread over the features, w = E[s]_m (..., d); then psi = z_j * w for each action."""

    def __init__(self, features: Separable, actions: Array, context_dim: int, fit: Ridge | Weighted) -> None:
        self._map = features
        self.fit = fit
        leading = fit.theta.shape[:-1]
        j, self._context_term = self._map.pairs(actions.shape[-1], context_dim)
        z = self._map.action_terms(actions)  # (k, p) or (r, k, p)
        self._z = np.ascontiguousarray(z.swapaxes(-1, -2))  # (p, k) or (r, p, k)
        self._z_of_feature = np.ascontiguousarray(z[..., j])  # (k, d) or (r, k, d)
        d, p = len(j), z.shape[-1]
        self._spread = np.zeros((d, p))  # E: feature i takes action term j[i]
        self._spread[np.arange(d), j] = 1.0
        self._dense = not leading and len(actions) * d * d <= MAX_DENSE_WORK
        self._forms = _forms(self._z_of_feature if self._dense else z)
        self._rows = np.arange(leading[0]) if leading else None

    def encode(self, belief: Belief | BeliefStack) -> Array:
        return np.asarray(self._map.expected_terms(belief).take(self._context_term, axis=-1))

    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> Array:
        return np.asarray(self._map.sampled_terms(belief, samples, rng).take(self._context_term, axis=-1))

    def estimate(self, view: Array) -> Estimate:
        h = self.fit.theta * view
        mean = self._z_of_feature @ h if self._dense else _times(h @ self._spread, self._z)
        squares = self.quadratic(self.fit.inverse * (view[..., :, None] * view[..., None, :]))
        return Estimate(mean, _root(squares))

    def quadratic(self, G: Array) -> Array:
        """Return z^T G z of all actions for G (..., d, d) and their terms spread over the features, shape (..., k)."""
        if self._dense:
            return self._forms(G)
        d, p = self._spread.shape
        half = (G.reshape(-1, d) @ self._spread).reshape(*G.shape[:-1], p)  # one product for all trials
        return self._forms(self._spread.T @ half)

    def along(self, view: Array, theta: Array) -> Array:
        return _times((theta * view) @ self._spread, self._z)

    def prior(self, view: Array) -> Array:
        squares = _times((view * view) @ self._spread, self._z**2)
        return np.asarray(np.sqrt(squares / np.asarray(self.fit.ridge)[..., None]))

    def evidence(self, view: Array, index: Index) -> Array:
        return np.asarray(self.terms(index) * view)

    def terms(self, index: Index) -> Array:
        """Return the action terms of each feature, for the chosen actions, shape (..., d)."""
        z = self._z_of_feature
        return np.asarray(z[index] if z.ndim == 2 else z[self._rows, index])


class DenseLearner(LinearLearner):
    """A view is psi of all actions, (..., k, d)."""

    def __init__(self, features: FeatureMap, actions: Array, context_dim: int, fit: Ridge | Weighted) -> None:
        self.fit = fit
        leading = fit.theta.shape[:-1]
        sets = [actions] if actions.ndim == 2 else list(actions)  # one for all trials, or one each
        self._features = [features.at(own, context_dim) for own in sets]
        self._rows = np.arange(leading[0]) if leading else None

    def encode(self, belief: Belief | BeliefStack) -> Array:
        if isinstance(belief, BeliefStack):
            return np.stack([self._of_trial(i).expected(belief[i]) for i in range(len(belief))])
        return self._features[0].expected(belief)

    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> Array:
        if isinstance(belief, BeliefStack):
            assert isinstance(rng, Sequence)
            return np.stack([self._of_trial(i).sampled(belief[i], samples, own) for i, own in enumerate(rng)])
        assert isinstance(rng, np.random.Generator)
        return self._features[0].sampled(belief, samples, rng)

    def _of_trial(self, i: int) -> FeaturesAt:
        return self._features[i if len(self._features) > 1 else 0]

    def estimate(self, view: Array) -> Estimate:
        return Estimate(apply(view, self.fit.theta), _root(np.vecdot(view @ self.fit.inverse, view)))

    def along(self, view: Array, theta: Array) -> Array:
        return apply(view, theta)

    def prior(self, view: Array) -> Array:
        return np.asarray(np.sqrt(np.vecdot(view, view) / np.asarray(self.fit.ridge)[..., None]))

    def evidence(self, view: Array, index: Index) -> Array:
        # A copy: decisions wait long for their rewards, and a row would keep the features of all actions alive.
        return np.array(view[index] if view.ndim == 2 else view[self._rows, index])


class DisjointLearner(LinearLearner):
    """A view is E[c] (..., c); each action has a regression of its own, so the fit has axes (..., blocks)."""

    def __init__(self, features: Disjoint, actions: Array, context_dim: int, fit: Ridge | Weighted) -> None:
        self._map = features
        self.fit = fit
        leading = fit.theta.shape[:-2]
        self._blocks = self._map.blocks(actions)
        if self._blocks.ndim > 1:
            raise ValueError("Disjoint: actions must be one set for all trials, got one for each")
        self._block_size = context_dim
        self._leading = leading
        self._rows = tuple(np.arange(r) for r in leading)

    def encode(self, belief: Belief | BeliefStack) -> Array:
        if not belief.exact:
            raise no_closed_form(self._map, belief)
        return belief.mean()

    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> Array:
        return belief.sample_mean(samples, rng)  # type: ignore[arg-type]

    def estimate(self, view: Array) -> Estimate:
        m = view[..., None, :, None]  # against (..., blocks, c, c)
        variance = (m.swapaxes(-1, -2) @ self.fit.inverse @ m)[..., 0, 0]
        mean = np.vecdot(self.fit.theta, view[..., None, :])
        return Estimate(mean[..., self._blocks], _root(variance)[..., self._blocks])

    def along(self, view: Array, theta: Array) -> Array:
        return np.asarray(np.vecdot(theta, view[..., None, :])[..., self._blocks])

    def prior(self, view: Array) -> Array:
        width = np.sqrt(np.vecdot(view, view) / self.fit.ridge)
        return np.repeat(width[..., None], len(self._blocks), axis=-1)

    def evidence(self, view: Array, index: Index) -> Array:
        """Return the block's number followed by E[c]: the other blocks' features are zero."""
        return np.concatenate([np.asarray(self._blocks[index], dtype=float)[..., None], view], axis=-1)

    def learn(self, evidence: Array, reward: float | Array) -> None:
        assert isinstance(self.fit, Ridge)
        block = evidence[..., 0].astype(np.intp)
        self.fit.add_at((*self._rows, block), evidence[..., 1:], reward)

    def norm(self, evidence: Array) -> Array:
        return super().norm(evidence[..., 1:])

    @property
    def theta(self) -> Array:
        return self.fit.theta.reshape(*self._leading, -1)

    @property
    def log_det(self) -> float | Array:
        return np.asarray(self.fit.log_det.sum(axis=-1))

    def distance(self, theta: Array) -> Array:
        by_block = self.fit.distance(theta.reshape(*theta.shape[:-1], self._map.k, self._block_size))
        return np.asarray(np.sqrt((by_block**2).sum(axis=-1)))


def _times(vector: Array, table: Array) -> Array:
    """Return vector (..., p) @ table, which is (p, k) for all trials or (r, p, k) one a trial; shape (..., k)."""
    if table.ndim == 2:
        return np.asarray(vector @ table)
    return np.asarray((vector[..., None, :] @ table)[..., 0, :])


def _root(squares: Array) -> Array:
    """Return the square root in place; rounding may have left a square just below zero."""
    np.maximum(squares, 0.0, out=squares)
    return np.asarray(np.sqrt(squares, out=squares))


def _forms(z: Array) -> _Tabulated | _Direct:
    """Return what gives z^T G z of all actions z (..., k, p)."""
    p = z.shape[-1]
    table = z.size * (p + 1) // 2
    return _Tabulated(z) if p <= MAX_TABULATED_TERMS and table <= MAX_TABLE else _Direct(z)


class _Tabulated:
    """z^T G z of all actions as one product with the table of z_i z_j, i <= j, off-diagonal entries doubled."""

    def __init__(self, z: Array) -> None:
        p = z.shape[-1]
        i, j = np.triu_indices(p)
        self._entries = i * p + j
        products = z[..., i] * z[..., j] * np.where(i == j, 1.0, 2.0)
        self._table = np.ascontiguousarray(products.swapaxes(-1, -2))

    def __call__(self, G: Array) -> Array:
        return _times(G.reshape(*G.shape[:-2], -1).take(self._entries, axis=-1), self._table)


class _Direct:
    """z^T G z of all actions."""

    def __init__(self, z: Array) -> None:
        self._z = z

    def __call__(self, G: Array) -> Array:
        return np.asarray(np.vecdot(self._z @ G, self._z))
