"""Shared by tests of the linear model: feature maps of every kind, and blocks beside the same features written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from overcast._check import Array
from overcast._linalg import folded
from overcast.beliefs import Belief, Ensemble, Gaussian, PointMass
from overcast.features import Bilinear, Disjoint, FeatureMap, Fourier, Function, Linear, Polynomial, Quadratic, Row
from overcast.kernels import RBF, Product
from overcast.models.linear import LinearLearner
from overcast.models.linear.averaged import Averaged
from overcast.models.linear.given import Given
from overcast.models.linear.weighted import Settings, Weighted

C = 3
K = 4
#: number of features of rows without beliefs
D = 4
BLOCK_ACTIONS = np.eye(K)[[1, 3, 0, 1, 2]]  # two share a block, and the last is never taken

GIVEN = {
    "nothing given": Settings(),
    "ridge given": Settings(ridge=0.7),
    "noise given": Settings(noise=0.4),
    "both given": Settings(ridge=0.7, noise=0.4),
    "discounted": Settings(discount=0.95),
    "window": Settings(window=17),
    "discounted window": Settings(ridge=0.7, discount=0.9, window=20),
}

#: those with a ridge
RIDGED = {name: settings for name, settings in GIVEN.items() if settings.ridge is not None} | {
    "discounted": Settings(ridge=0.7, discount=0.95),
    "window": Settings(ridge=0.7, window=17),
}
LEARNT = {name: settings for name, settings in GIVEN.items() if settings.ridge is None}

Course = list[tuple[Belief, int, float]]


def ratio(x: Array, c: Array) -> Array:
    u = x[:, None, :] - c[None, :, :]
    return np.concatenate([u / (1 + u**2), np.ones((*u.shape[:2], 1))], axis=-1)


def _actions(seed: int, a: int) -> Array:
    return np.random.default_rng(seed).normal(size=(6, a))


#: maps without blocks, with their actions
MAPS: dict[str, tuple[FeatureMap, Array]] = {
    "quadratic": (Quadratic(), _actions(0, C)),
    "bilinear": (Bilinear(), _actions(1, 2)),
    "many actions": (Bilinear(), np.random.default_rng(2).normal(size=(1500, 2))),
    "linear": (Linear(), _actions(3, 2)),
    "polynomial": (Polynomial(2), _actions(4, 2)),
    "function": (Function(ratio, C + 1), _actions(5, C)),
    "fourier": (Fourier(Product(RBF(1.0), RBF(2.0)), n=10), _actions(6, 2)),
    "unit vectors": (Bilinear(), np.eye(3)[[1, 0, 2, 1]]),
}


def ensemble(rng: np.random.Generator) -> Ensemble:
    return Ensemble(rng.normal(size=(5, C)), rng.dirichlet(np.ones(5)))


def weighted(shape: tuple[int, ...], settings: Settings, aware: bool, leading: tuple[int, ...] = ()) -> Weighted:
    """Return the fit for these settings, of features as they are."""
    kind = Averaged if settings.ridge is None else Given
    return kind(shape, settings, aware, leading)


def pair(settings: Settings, aware: bool) -> tuple[LinearLearner, LinearLearner]:
    """Return the learner of blocks, and that of the same features written out: `Bilinear` with unit vectors.

    Blocks do not know how the average over ratios correlates them, so that without a ridge the two agree at renewals.
    """
    blocks = LinearLearner(Disjoint(K).design(K, C), weighted((K, C), settings, aware))
    return blocks, LinearLearner(Bilinear().design(K, C), weighted((K * C,), settings, aware))


def course(n: int, seed: int = 0, hidden: str = "mixed") -> Course:
    """Return beliefs, indices and rewards of a world of blocks."""
    rng, out = np.random.default_rng(seed), []
    theta = rng.normal(size=(K, C))
    for t in range(n):
        belief: Any = Gaussian(rng.normal(size=C), rng.random(C))
        context = belief.sample(1, rng)[0]
        if hidden == "revealed" or (hidden == "mixed" and t % 3 == 0):
            belief = PointMass(context)
        elif t % 3 == 1:
            belief = Ensemble(rng.normal(size=(4, C)) + context, rng.dirichlet(np.ones(4)))
        index = int(rng.integers(len(BLOCK_ACTIONS) - 1))
        out.append((belief, index, float(theta[BLOCK_ACTIONS[index].argmax()] @ context + 0.3 * rng.normal())))
    return out


def teach(learner: LinearLearner, rounds: Course) -> None:
    points = learner.at(BLOCK_ACTIONS)
    for belief, index, reward in rounds:
        learner.learn(learner.evidence(points, learner.view(belief), index), reward)


def same_fit(blocks: LinearLearner, dense: LinearLearner, tolerance: float = 1e-8) -> None:
    """Compare the fit of blocks with that of the features written out."""
    fit, other = blocks.fit, dense.fit
    scale = float(np.abs(other.inverse).max())
    np.testing.assert_allclose(blocks.theta, dense.theta, rtol=0, atol=tolerance * max(1.0, np.abs(dense.theta).max()))
    own = block_diag(*fit.inverse)
    seen = np.ones_like(own) if isinstance(fit, Given) else block_diag(*np.ones_like(fit.inverse))
    np.testing.assert_allclose(own, seen * other.inverse, rtol=0, atol=tolerance * scale)
    for name in ("noise2", "ridge", "used", "residual_share"):
        np.testing.assert_allclose(getattr(fit, name), getattr(other, name), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(blocks.log_det, dense.log_det, rtol=0, atol=tolerance)
    for name in ("weights", "rewards", "pause", "counting", "sized"):
        np.testing.assert_allclose(fit.state()[name], other.state()[name], rtol=tolerance)


def rounds_of(
    n: int, leading: tuple[int, ...] = (), seed: int = 0, hidden: str = "mixed"
) -> tuple[Array, Array, Array]:
    """Return psi (n, ..., D), covariances (n, ..., D, D) and rewards (n, ...) of a linear world."""
    rng = np.random.default_rng(seed)
    psi = rng.normal(size=(n, *leading, D))
    A = 0.5 * rng.normal(size=(n, *leading, D, 2))
    if hidden == "mixed":
        A[::3] = 0.0
    elif hidden == "revealed":
        A[:] = 0.0
    theta = np.array([1.0, -2.0, 0.5, 3.0])
    shift = (A @ rng.normal(size=(n, *leading, 2, 1)))[..., 0]
    rewards = (psi + shift) @ theta + 0.3 * rng.normal(size=(n, *leading))
    return psi, A @ A.swapaxes(-1, -2), rewards


def row_of(psi: Array, cov: Array) -> Row:
    """Return the row of these features and their covariance."""
    return Row(psi, folded(cov))


def learnt(fit: Weighted, rounds: Sequence[Array]) -> Weighted:
    """Return the fit after these rounds."""
    for psi, cov, reward in zip(*rounds, strict=True):
        fit.add(row_of(psi, cov) if fit.aware else Row(psi), reward)
    return fit
