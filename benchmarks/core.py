"""Speed of the linear core, as ratios to bare NumPy calls or the simpler of two ways, timed in one run on one thread.

    make bench

The command fails where a ratio is above its limit.
"""

from __future__ import annotations

import os

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import sys
from collections.abc import Callable, Sequence

import numpy as np

import overcast as oc
from comparison import Comparison, report


def bare_round(k: int, d: int, steps: int) -> Callable[[], None]:
    """Return the bare calls: means, widths, argmax and rank-one update on dense features that are given."""
    rng = np.random.default_rng(0)
    psi = rng.standard_normal((k, d))
    inverse, target, theta = np.eye(d), np.zeros(d), np.zeros(d)

    def run() -> None:
        nonlocal inverse, target, theta
        for _ in range(steps):
            scores = psi @ theta + 2.0 * np.sqrt(np.einsum("kd,kd->k", psi @ inverse, psi))
            chosen = psi[scores.argmax()]
            u = inverse @ chosen
            inverse -= np.outer(u, u) / (1.0 + chosen @ u)
            target += chosen
            theta = inverse @ target

    return run


def course(model: oc.LinearModel, k: int, beliefs: Sequence[oc.Belief], steps: int) -> Callable[[], None]:
    """Return a whole run of a fresh bandit under rewards that depend on what it does."""
    rng = np.random.default_rng(0)
    actions, noise = rng.standard_normal((k, beliefs[0].dim)), rng.standard_normal(steps)

    def run() -> None:
        bandit = oc.Bandit(actions, model, oc.UCB())
        for t in range(steps):
            belief = beliefs[t % len(beliefs)]
            decision = bandit.decide(belief)
            gap = actions[decision.index] - belief.mean()
            bandit.learn(decision, float(gap @ gap + noise[t]))

    return run


def disjoint_course(k: int, c: int, ridge: float | None, steps: int) -> Callable[[], None]:
    """Return a whole run of a fresh bandit whose actions have nothing in common."""
    rng = np.random.default_rng(0)
    beliefs = [oc.Gaussian(mean, 1.0) for mean in rng.standard_normal((64, c))]
    theta, noise = rng.standard_normal((k, c)), rng.standard_normal(steps)
    model = oc.LinearModel(oc.features.Disjoint(k), ridge)

    def run() -> None:
        bandit = oc.Bandit(np.eye(k), model, oc.UCB())
        for t in range(steps):
            belief = beliefs[t % len(beliefs)]
            decision = bandit.decide(belief)
            bandit.learn(decision, float(theta[decision.index] @ belief.mean() + noise[t]))

    return run


def bandit_round(
    features: oc.features.FeatureMap, k: int, a: int, beliefs: Sequence[oc.Belief], samples: int | None, steps: int
) -> Callable[[], None]:
    """Return decisions and updates of a bandit."""
    actions = np.random.default_rng(0).standard_normal((k, a))
    bandit = oc.Bandit(actions, oc.LinearModel(features, ridge=1.0), oc.UCB(2.0), samples=samples)

    def run() -> None:
        for t in range(steps):
            bandit.learn(bandit.decide(beliefs[t % len(beliefs)]), 1.0)

    return run


def bare_lock_step(trials: int, k: int, d: int, steps: int) -> Callable[[], None]:
    """Return the batched product of all trials' features with their inverse designs."""
    psi = np.random.default_rng(0).standard_normal((trials, k, d))
    inverse = np.tile(np.eye(d), (trials, 1, 1))

    def run() -> None:
        for _ in range(steps):
            psi @ inverse

    return run


def lock_step(trials: int, steps: int, ridge: float | None = 1.0) -> Callable[[], None]:
    env = oc.environments.Synthetic()
    model = oc.LinearModel(env.features, ridge)

    def run() -> None:
        oc.simulate(env, model, oc.UCB(10.0), steps=steps, trials=trials)

    return run


def comparisons() -> list[Comparison]:
    rng = np.random.default_rng(1)
    forecasts = [oc.Gaussian(rng.standard_normal(5), 1.0) for _ in range(64)]
    groups = [oc.Ensemble(rng.standard_normal((25, 6))) for _ in range(64)]
    quadratic, bilinear = oc.features.Quadratic(), oc.features.Bilinear()

    def synthetic(samples: int | None) -> Callable[[], None]:
        return bandit_round(quadratic, 100, 5, forecasts, samples, 400)

    def movielens(samples: int | None) -> Callable[[], None]:
        return bandit_round(bilinear, 3706, 6, groups, samples, 100)

    return [
        Comparison("k=100, d=15: decide + learn / bare calls", synthetic(None), bare_round(100, 15, 400), 400, 2.5),
        Comparison("k=3706, 6x6: decide + learn / bare calls", movielens(None), bare_round(3706, 36, 100), 100, 0.35),
        Comparison("k=100, d=15: L = 100 / expectation", synthetic(100), synthetic(None), 400, 1.5),
        Comparison("k=3706, 6x6: L = 100 / expectation", movielens(100), movielens(None), 100, 1.5),
        Comparison(
            "100 trials in lock-step / batched matmul",
            lock_step(100, 1000),
            bare_lock_step(100, 100, 15, 1000),
            100_000,
            3.0,
        ),
        Comparison(
            "k=100, d=15: all learnt / ridge given",
            course(oc.LinearModel(quadratic), 100, forecasts, 1000),
            course(oc.LinearModel(quadratic, ridge=1.0), 100, forecasts, 1000),
            1000,
            3.0,
        ),
        Comparison(
            "50 blocks of 20: all learnt / ridge given",
            disjoint_course(50, 20, None, 500),
            disjoint_course(50, 20, 1.0, 500),
            500,
            5.0,
            rounds=5,
        ),
        Comparison(
            "100 trials in lock-step: all learnt / ridge given",
            lock_step(100, 1000, None),
            lock_step(100, 1000),
            100_000,
            3.0,
            rounds=3,
        ),
    ]


def main() -> int:
    return report(comparisons())


if __name__ == "__main__":
    sys.exit(main())
