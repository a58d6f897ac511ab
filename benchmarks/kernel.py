"""Speed of the kernel model, each as a ratio to bare NumPy/SciPy calls or to a peer timed in the same run, one thread.

    make bench

Ratios below their limit pass; the comparison with scikit-learn has to be at most one fifth.
"""

from __future__ import annotations

import os

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import sys
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dtrsm
from sklearn.gaussian_process import GaussianProcessRegressor  # type: ignore[import-untyped]
from sklearn.gaussian_process import kernels as sklearn_kernels

import overcast as oc
from comparison import Comparison, Measured, report
from overcast._check import Array

K, A, C = 100, 2, 2
RIDGE, LENGTHSCALE, BETA = 0.1, 0.5, 0.5

RNG = np.random.default_rng(0)
ACTIONS = RNG.random((K, A))
POINTS = RNG.random((20_000, C))
REWARDS = RNG.standard_normal(20_000)
KERNEL = oc.kernels.Product(oc.kernels.RBF(LENGTHSCALE), oc.kernels.RBF(LENGTHSCALE))


def bandit(beliefs: Sequence[oc.Belief], model: oc.KernelModel | oc.LinearModel) -> Callable[[], None]:
    """Return a run of decisions and updates, from nothing."""

    def run() -> None:
        learner = oc.Bandit(ACTIONS, model, oc.UCB(BETA))
        for belief, reward in zip(beliefs, REWARDS, strict=False):
            learner.learn(learner.decide(belief), reward)

    return run


def bare_gp_ucb(steps: int) -> Callable[[], None]:
    """Return GP-UCB on points in bare calls: kernel, one triangular solve for all actions, a row for the factor."""

    def rbf(left: Array, right: Array) -> Array:
        gaps = left[:, None] - right[None]
        return np.asarray(np.exp(-0.5 * (gaps * gaps).sum(axis=-1) / LENGTHSCALE**2))

    def run() -> None:
        factor = np.zeros((steps, steps))
        of_actions, taken = rbf(ACTIONS, ACTIONS), np.empty(steps, dtype=np.intp)
        whitened = np.empty(steps)
        for t in range(steps):
            cross = of_actions[taken[:t]] * rbf(POINTS[:t], POINTS[t : t + 1])
            half = solve_triangular(factor[:t, :t], cross, lower=True, check_finite=False) if t else cross
            variance = 1.0 - (half * half).sum(axis=0)
            scores = whitened[:t] @ half + BETA * np.sqrt(np.maximum(variance, 0.0) / RIDGE)
            best = scores.argmax()
            factor[t, :t] = half[:, best]
            factor[t, t] = np.sqrt(variance[best] + RIDGE)
            whitened[t] = (REWARDS[t] - whitened[:t] @ half[:, best]) / factor[t, t]
            taken[t] = best

    return run


def sklearn_gp_ucb(steps: int) -> Callable[[], None]:
    """Return GP-UCB with scikit-learn's regressor, refitted each step without tuning its kernel."""

    def run() -> None:
        seen = np.empty((steps, A + C))
        regressor = GaussianProcessRegressor(sklearn_kernels.RBF(LENGTHSCALE), alpha=RIDGE, optimizer=None)
        for t in range(steps):
            candidates = np.hstack([ACTIONS, np.tile(POINTS[t], (K, 1))])
            mean, deviation = regressor.predict(candidates, return_std=True)
            seen[t] = candidates[np.argmax(mean + BETA * deviation / np.sqrt(RIDGE))]
            regressor.fit(seen[: t + 1], REWARDS[: t + 1])

    return run


def bare_solves(steps: int) -> Callable[[], None]:
    """Return nothing but the triangular solves for all actions, ten at each size 5, 15, ..., ready in memory."""
    factor = np.tril(0.01 * RNG.random((steps, steps))) + np.eye(steps)
    ready = [(np.asfortranarray(factor[:t, :t]), np.asfortranarray(RNG.random((t, K)))) for t in range(5, steps, 10)]

    def run() -> None:
        for own, right in ready:
            for _ in range(10):
                dtrsm(1.0, own, right, lower=1)

    return run


def comparisons() -> list[Comparison]:
    model = oc.KernelModel(KERNEL, RIDGE)
    points = [oc.PointMass(point) for point in POINTS[:300]]
    normals = [oc.Gaussian(point, 0.05) for point in POINTS[:1000]]
    full = [oc.Gaussian(point, [[0.05, 0.02], [0.02, 0.04]]) for point in POINTS[:1000]]
    members = [oc.Ensemble(normal.sample(100, RNG)) for normal in normals[:300]]
    return [
        Comparison(
            "T=300 points: ours / scikit-learn refitted", bandit(points, model), sklearn_gp_ucb(300), 300, 0.2, 3
        ),
        Comparison("T=300 points: ours / bare loop", bandit(points, model), bare_gp_ucb(300), 300, 1.5, 7),
        Comparison("T=1000 normal: ours / bare solves", bandit(normals, model), bare_solves(1000), 1000, 1.5, 3),
        Comparison("T=1000 correlated: ours / bare solves", bandit(full, model), bare_solves(1000), 1000, 1.5, 3),
        Comparison(
            "T=300: L = 100 ensembles / normal", bandit(members, model), bandit(normals[:300], model), 300, 3.0, 5
        ),
    ]


def flat(steps: int = 20_000) -> Measured:
    """Return the time a step of the last tenth of a long run with 300 Fourier features, against the first tenth."""
    model = oc.LinearModel(oc.features.Fourier(KERNEL, 300), RIDGE)
    learner = oc.Bandit(ACTIONS, model, oc.UCB(BETA))
    seconds = np.empty(steps)
    for t in range(steps):
        start = time.perf_counter()
        learner.learn(learner.decide(oc.Gaussian(POINTS[t], 0.05)), REWARDS[t])
        seconds[t] = time.perf_counter() - start
    first, last = (float(part.mean() * 1e6) for part in (seconds[: steps // 10], seconds[-steps // 10 :]))
    return Measured(f"T={steps}, 300 Fourier features: last / first tenth", last, first, last / first, 1.2)


def main() -> int:
    warnings.simplefilter("error")
    return report(comparisons(), [flat])


if __name__ == "__main__":
    sys.exit(main())
