"""The approximations of a kernel in a linear model: saved, and in lock-step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import overcast as oc
from overcast.environments import Synthetic
from overcast.features import FeatureMap, Fourier, Nystrom, QuadratureFourier
from overcast.kernels import RBF, Product

COV = np.array([[0.3, -0.2], [-0.2, 0.5]])
MEMBERS = np.random.default_rng(4).normal(size=(7, 2))
PAIRS = np.random.default_rng(3).normal(size=(12, 4))
KERNEL = 2.0 * Product(RBF(0.5), RBF((1.0, 2.0)))
MAPS: list[FeatureMap] = [
    Fourier(KERNEL, 30, seed=5),
    QuadratureFourier(KERNEL, 3),
    Nystrom(KERNEL, PAIRS[:, :2], PAIRS[:, 2:]),
]
BELIEFS = [
    oc.PointMass([0.3, -0.2]),
    oc.Gaussian([0.3, -0.2], COV),
    oc.Ensemble(MEMBERS),
    oc.Mixture([oc.Gaussian([1.0, 0.0], 0.2), oc.Ensemble(MEMBERS)], [0.3, 0.7]),
]

each_map = pytest.mark.parametrize("features", MAPS, ids=lambda features: type(features).__name__)


@each_map
def test_a_saved_bandit_decides_the_same(features: FeatureMap, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    bandit = oc.Bandit(rng.random((5, 2)), oc.LinearModel(features, ridge=1.0), oc.UCB(1.0))
    for _ in range(10):
        bandit.learn(bandit.decide(oc.Gaussian(rng.random(2), COV)), float(rng.normal()))
    bandit.save(tmp_path / "bandit")
    loaded = oc.Bandit.load(tmp_path / "bandit")
    assert loaded.model == bandit.model
    for belief in BELIEFS:
        np.testing.assert_array_equal(loaded.estimate(belief), bandit.estimate(belief))


@each_map
@pytest.mark.parametrize("samples", [None, 4])
def test_trials_in_lock_step_are_bandits_on_their_own(features: FeatureMap, samples: int | None) -> None:
    """Every trial has its own actions."""
    model, env, steps, trials = oc.LinearModel(features, ridge=1.0), Synthetic(k=6, dim=2), 12, 3
    runs = oc.simulate(env, model, oc.UCB(1.0), samples=samples, steps=steps, trials=trials, seed=4)
    for i in range(trials):
        world, own = (np.random.default_rng(np.random.SeedSequence(4, spawn_key=(i, stream))) for stream in (0, 1))
        trial = env.start(world)
        bandit = oc.Bandit(trial.actions, model, oc.UCB(1.0), samples=samples)
        bandit._rng = own
        for t in range(steps):
            now = trial.step(runs.choices[i, :t])
            decision = bandit.decide(now.belief)
            assert decision.index == runs.choices[i, t]
            bandit.learn(decision, now.reward(decision.index))
