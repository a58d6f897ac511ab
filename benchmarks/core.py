"""Speed of the linear core, as ratios to bare NumPy calls or the simpler of two ways, timed in one run on one thread.

    make bench

The command fails where a ratio is above its limit.
"""

from __future__ import annotations

import os

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

import overcast as oc
from comparison import Comparison, Measured, report
from overcast.environments.base import Rounds, Trials, VectorEnvironment


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


class InTurns(VectorEnvironment):
    """The synthetic example, in which a floor takes its turn between any two steps of the simulation."""

    features = oc.features.Quadratic()

    def __init__(self, floor: Callable[[], object]) -> None:
        self.floor = floor
        self.times: list[float] = []  # when each turn ended: of the simulation, of the floor, of the simulation, ...

    def start_all(self, rngs: Sequence[np.random.Generator]) -> Trials:
        return _TrialsInTurns(self, oc.environments.Synthetic().start_all(rngs))


class _TrialsInTurns(Trials):
    def __init__(self, env: InTurns, trials: Trials) -> None:
        self._env, self._trials, self.actions = env, trials, trials.actions

    def step(self, past: NDArray[np.intp]) -> Rounds:
        self._env.times.append(time.perf_counter())
        self._env.floor()
        self._env.times.append(time.perf_counter())
        return self._trials.step(past)


def bare_step(trials: int, k: int, d: int) -> Callable[[], None]:
    """Return the bare calls of `bare_round` for all trials at once: one step of UCB on dense features that are given.

    A product of features and inverse designs alone would be no floor: the widths need its product with the features
    too, and a step ends with a choice and an update. What a simulation does besides, the floor leaves out: contexts,
    the rewards of all actions, beliefs, features, ties, regrets and records.
    """
    psi, each = np.random.default_rng(0).standard_normal((trials, k, d)), np.arange(trials)
    inverse, target, theta = np.tile(np.eye(d), (trials, 1, 1)), np.zeros((trials, d)), np.zeros((trials, d))

    def run() -> None:
        nonlocal inverse, target, theta
        width = np.sqrt(np.einsum("rkd,rkd->rk", psi @ inverse, psi))
        scores = (psi @ theta[..., None])[..., 0] + 2.0 * width
        chosen = psi[each, scores.argmax(axis=-1)]
        u = (inverse @ chosen[..., None])[..., 0]
        inverse -= u[:, :, None] * (u / (1.0 + np.vecdot(chosen, u))[:, None])[:, None, :]
        target += chosen
        theta = (inverse @ target[..., None])[..., 0]

    return run


def lock_step_in_turns(trials: int = 100, steps: int = 1000) -> Measured:
    """Compare a simulated step of all trials with the bare calls for all trials."""
    env = InTurns(bare_step(trials, 100, 15))
    oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), oc.UCB(10.0), steps=steps, trials=trials)
    turns = np.diff(env.times)
    floor, ours = turns[::2], turns[1::2]
    ratios = 2.0 * ours / (floor[:-1] + floor[1:])
    each = (float(np.median(side)) / trials * 1e6 for side in (ours, floor))
    return Measured("100 trials in lock-step / bare calls", next(each), next(each), float(np.median(ratios)), 2.2)


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
        return bandit_round(quadratic, 100, 5, forecasts, samples, 40)

    def movielens(samples: int | None) -> Callable[[], None]:
        return bandit_round(bilinear, 3706, 6, groups, samples, 20)

    return [
        Comparison("k=100, d=15: decide + learn / bare calls", synthetic(None), bare_round(100, 15, 40), 40, 2.2, 301),
        Comparison(
            "k=3706, 6x6: decide + learn / bare calls", movielens(None), bare_round(3706, 36, 20), 20, 0.35, 101
        ),
        Comparison("k=100, d=15: L = 100 / expectation", synthetic(100), synthetic(None), 40, 1.5, 301),
        Comparison("k=3706, 6x6: L = 100 / expectation", movielens(100), movielens(None), 20, 1.5, 101),
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
            rounds=7,
        ),
        Comparison(
            "100 trials in lock-step: all learnt / ridge given",
            lock_step(100, 1000, None),
            lock_step(100, 1000),
            100_000,
            3.0,
            rounds=5,
        ),
    ]


def main() -> int:
    return report(comparisons(), [lock_step_in_turns])


if __name__ == "__main__":
    sys.exit(main())
