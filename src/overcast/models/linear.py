"""The linear model of Algorithms 1 and 2: least squares on expected or realised features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.stacked import BeliefStack
from overcast.features import Disjoint, FeatureMap, Separable
from overcast.features.base import FeaturesAt, no_closed_form
from overcast.models.base import Estimate, Generators, Index, LastingLearner, Model, normals
from overcast.models.ridge import Ridge

# Up to this many action terms the quadratic forms z^T G z of all actions are one product with the p (p + 1) / 2
# distinct z_i z_j, stored once, in a table of at most so many numbers; beyond it the table outgrows its use.
MAX_TABULATED_TERMS = 24
MAX_TABLE = 4_000_000

# Up to this many multiplications k d^2, a single bandit is better served by the few calls on dense features.
MAX_DENSE_WORK = 50_000


@dataclass(frozen=True)
class LinearModel(Model):
    """f(x, c) = phi(x, c)^T theta, estimated by ridge regression.

    theta-hat_t = V_t^-1 sum_s psi_s y_s and V_t = lambda I + sum_s psi_s psi_s^T, where psi_s is the expected (or
    sampled) feature of a hidden round (Algorithm 1) and phi(x_s, c_s) of a revealed one (Algorithm 2).

    Parameters
    ----------
    features : phi
    ridge : lambda > 0

    Examples
    --------
    >>> from overcast.features import Bilinear
    >>> LinearModel(Bilinear(), ridge=0.5)
    LinearModel(features=Bilinear(), ridge=0.5)
    """

    features: FeatureMap
    ridge: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.features, FeatureMap):
            raise TypeError(
                f"LinearModel: features must be a feature map such as Bilinear(), got {_check.short(self.features)}"
            )
        object.__setattr__(self, "ridge", _check.number("LinearModel", "ridge", self.ridge, above=0.0))

    def start(self, actions: Array, context_dim: int) -> LinearLearner:
        return self._start(actions, context_dim, ())

    def start_all(self, actions: Array, context_dim: int, trials: int) -> LinearLearner:
        return self._start(actions, context_dim, (trials,))

    def _start(self, actions: Array, context_dim: int, leading: tuple[int, ...]) -> LinearLearner:
        self.features.size(actions.shape[-1], context_dim)
        kind: type[LinearLearner] = _DenseLearner
        if isinstance(self.features, Separable):
            kind = _SeparableLearner
        elif isinstance(self.features, Disjoint):
            kind = _DisjointLearner
        return kind(self, actions, context_dim, leading)


class LinearLearner(LastingLearner):
    """What the learners of all feature maps share."""

    fit: Ridge

    @abstractmethod
    def __init__(self, model: LinearModel, actions: Array, context_dim: int, leading: tuple[int, ...]) -> None: ...

    @abstractmethod
    def along(self, view: Array, theta: Array) -> Array:
        """Return psi^T theta of all actions for theta in the shape of the fit's, shape (..., k)."""

    def noise(self, view: Array) -> Array:
        # Least squares take the noise of all rewards for alike, and the widths are in its unit.
        return np.ones(self.along(view, self.fit.theta).shape)

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
        self.fit.merge(other.fit)


class _SeparableLearner(LinearLearner):
    """A view is E[s(c)] spread over the features, w = E[s]_m (..., d); then psi = z_j * w for each action."""

    def __init__(self, model: LinearModel, actions: Array, context_dim: int, leading: tuple[int, ...]) -> None:
        assert isinstance(model.features, Separable)
        self._map = model.features
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
        self.fit = Ridge(d, model.ridge, leading)

    def encode(self, belief: Belief | BeliefStack) -> Array:
        return np.asarray(self._map.expected_terms(belief).take(self._context_term, axis=-1))

    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> Array:
        return np.asarray(self._map.sampled_terms(belief, samples, rng).take(self._context_term, axis=-1))

    def estimate(self, view: Array) -> Estimate:
        h = self.fit.theta * view
        if self._dense:
            squares = self._forms(self.fit.inverse * np.multiply.outer(view, view))
            return Estimate(self._z_of_feature @ h, _root(squares))
        d, p = self._spread.shape
        G = self.fit.inverse * (view[..., :, None] * view[..., None, :])
        half = (G.reshape(-1, d) @ self._spread).reshape(*G.shape[:-1], p)  # one product for all trials
        return Estimate(_times(h @ self._spread, self._z), _root(self._forms(self._spread.T @ half)))

    def along(self, view: Array, theta: Array) -> Array:
        return _times((theta * view) @ self._spread, self._z)

    def prior(self, view: Array) -> Array:
        return np.sqrt(_times((view * view) @ self._spread, self._z**2) / self.fit.ridge)

    def evidence(self, view: Array, index: Index) -> Array:
        z = self._z_of_feature
        return np.asarray((z[index] if z.ndim == 2 else z[self._rows, index]) * view)


class _DenseLearner(LinearLearner):
    """A view is psi of all actions, (..., k, d)."""

    def __init__(self, model: LinearModel, actions: Array, context_dim: int, leading: tuple[int, ...]) -> None:
        features = model.features
        sets = [actions] if actions.ndim == 2 else list(actions)  # one for all trials, or one each
        self._features = [features.at(own, context_dim) for own in sets]
        self._rows = np.arange(leading[0]) if leading else None
        self.fit = Ridge(features.size(actions.shape[-1], context_dim), model.ridge, leading)

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
        return Estimate(self.along(view, self.fit.theta), _root(np.vecdot(view @ self.fit.inverse, view)))

    def along(self, view: Array, theta: Array) -> Array:
        return np.asarray((view @ theta[..., None])[..., 0])

    def prior(self, view: Array) -> Array:
        return np.asarray(np.sqrt(np.vecdot(view, view) / self.fit.ridge))

    def evidence(self, view: Array, index: Index) -> Array:
        # A copy: decisions wait long for their rewards, and a row would keep the features of all actions alive.
        return np.array(view[index] if view.ndim == 2 else view[self._rows, index])


class _DisjointLearner(LinearLearner):
    """A view is E[c] (..., c); each action has a regression of its own, so the fit has axes (..., blocks)."""

    def __init__(self, model: LinearModel, actions: Array, context_dim: int, leading: tuple[int, ...]) -> None:
        assert isinstance(model.features, Disjoint)
        self._map = model.features
        self._blocks = self._map.blocks(actions)
        if self._blocks.ndim > 1:
            raise ValueError("Disjoint: actions must be one set for all trials, got one for each")
        self._block_size = context_dim
        self._leading = leading
        self._rows = tuple(np.arange(r) for r in leading)
        self.fit = Ridge(context_dim, model.ridge, (*leading, self._map.k))

    def encode(self, belief: Belief | BeliefStack) -> Array:
        if not belief.exact:
            raise no_closed_form(self._map, belief)
        return belief.mean()

    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> Array:
        return belief.sample_mean(samples, rng)  # type: ignore[arg-type]

    def estimate(self, view: Array) -> Estimate:
        m = view[..., None, :, None]  # against (..., blocks, c, c)
        variance = (m.swapaxes(-1, -2) @ self.fit.inverse @ m)[..., 0, 0]
        return Estimate(self.along(view, self.fit.theta), _root(variance)[..., self._blocks])

    def along(self, view: Array, theta: Array) -> Array:
        return np.asarray(np.vecdot(theta, view[..., None, :])[..., self._blocks])

    def prior(self, view: Array) -> Array:
        width = np.sqrt(np.vecdot(view, view) / self.fit.ridge)
        return np.repeat(width[..., None], len(self._blocks), axis=-1)

    def evidence(self, view: Array, index: Index) -> Array:
        """Return the block's number followed by E[c]: the other blocks' features are zero."""
        return np.concatenate([np.asarray(self._blocks[index], dtype=float)[..., None], view], axis=-1)

    def learn(self, evidence: Array, reward: float | Array) -> None:
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
