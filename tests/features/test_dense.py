"""Maps of any form: what they need to be exact, and the approximations of a kernel in a linear model.

Features of any function, pair by pair, and functions that are refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from feature_support import ACTIONS, cubic
from feature_support import BELIEFS as RULES
from overcast._check import Array
from overcast.beliefs import NoClosedForm, PointMass
from overcast.environments import Synthetic
from overcast.features import Dense, FeatureMap, Fourier, Function, Nystrom, QuadratureFourier
from overcast.kernels import RBF, Product
from support import refused

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

POINTS = np.random.default_rng(0).normal(size=(6, 2))
EXAMPLES: list[tuple[FeatureMap, Array]] = [(Function(lambda x, c: np.tanh(x[:, None] - c[None]), 2), POINTS[:3])]

RNG = np.random.default_rng(0)
WIDE_ACTIONS = RNG.normal(size=(4, 3))
CONTEXTS = RNG.normal(size=(5, 3))

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
        world, own = (np.random.SeedSequence(4, spawn_key=(i, stream)) for stream in (0, 1))
        trial = env.start(np.random.default_rng(world))
        bandit = oc.Bandit(trial.actions, model, oc.UCB(1.0), samples, seed=own)
        for t in range(steps):
            now = trial.step(runs.choices[i, :t])
            decision = bandit.decide(now.belief)
            assert decision.index == runs.choices[i, t]
            bandit.learn(decision, now.reward(decision.index))


@pytest.mark.parametrize("under", ["gaussian scalar", "gaussian matrix", "mixture", "independent", "quantiles"])
def test_functions_need_a_finite_support(under: str) -> None:
    belief, _ = RULES[under]
    with refused(NoClosedForm, "Function", type(belief).__name__, "samples="):
        Function(cubic, 3).expected(ACTIONS, belief)


@dataclass(frozen=True)
class Own(Dense):
    """A map that prepares nothing for its actions."""

    def size(self, a: int, c: int) -> int:
        return 2

    def _evaluate(self, actions: Array, contexts: Array) -> Array:
        return np.asarray(np.tanh(actions[:, None, :2] - contexts[None, :, :2]))


def test_a_map_that_prepares_nothing_averages_phi_over_the_support_or_over_draws() -> None:
    belief, features = oc.Ensemble(MEMBERS, np.linspace(0.1, 0.7, 7) / 2.8), Own()
    design = features.design(2, 2)
    prepared = design.at(ACTIONS)
    points, weights = belief.support()
    expected = np.einsum("knd,n->kd", features(ACTIONS, points), weights)
    np.testing.assert_allclose(prepared.features(design.view(belief).terms), expected, rtol=1e-13)
    draws = belief.sample(6, np.random.default_rng(1))
    got = prepared.features(design.view(belief, 6, np.random.default_rng(1)).terms)
    np.testing.assert_allclose(got, features(ACTIONS, draws).mean(axis=1), rtol=1e-13)


def _waves(x: Array, c: Array) -> Array:
    angle = x[:, None, :2] * c[None, :, :2]
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)


def _scalar(x: Array, c: Array) -> Array:
    return np.zeros((len(x), len(c)))


def _nan(x: Array, c: Array) -> Array:
    return np.full((len(x), len(c), 2), np.nan)


def test_every_pair_of_action_and_context() -> None:
    expected = np.array(
        [[[f(x[i] * c[i]) for f in (math.sin, math.cos) for i in range(2)] for c in CONTEXTS] for x in WIDE_ACTIONS]
    )
    got = Function(_waves, dim=4)(WIDE_ACTIONS, CONTEXTS)
    assert got.shape == expected.shape
    assert Function(_waves, dim=4).size(3, 3) == expected.shape[2]
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(("value", "kind"), [(0, ValueError), (1.0, TypeError), (True, TypeError), ("2", TypeError)])
def test_bad_dimensions(value: Any, kind: type[Exception]) -> None:
    with refused(kind, "Function", "dim"):
        Function(_waves, value)


def test_bad_functions() -> None:
    with refused(TypeError, "Function", "fn"):
        Function(np.eye(3), 2)  # type: ignore[arg-type]
    with refused(ValueError, "Function", "(4, 5, 2)", "(4, 5)"):
        Function(_scalar, 2)(WIDE_ACTIONS, CONTEXTS)
    with refused(ValueError, "Function", "finite"):
        Function(_nan, 2)(WIDE_ACTIONS, CONTEXTS)
    with refused(ValueError, "Function", "(4, 1, 2)"):
        Function(_scalar, 2).expected(WIDE_ACTIONS, PointMass([1.0, 2.0, 3.0]))
