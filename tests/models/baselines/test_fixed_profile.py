"""Profiles that are averages over all rounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array
from overcast.environments import Synthetic
from overcast.features import Bilinear, Disjoint, FeatureMap, Function, Quadratic
from overcast.models import Estimate, FixedProfile, Model, Parameters
from support import refused

POINTS = np.random.default_rng(0).normal(size=(6, 2))
EXAMPLES: list[tuple[Model, Array]] = [
    (FixedProfile(Bilinear()), POINTS[:3]),
    (FixedProfile(Function(lambda x, c: np.tanh(x[:, None] - c[None]), 2)), POINTS[:3]),
]

RIDGE = 0.4
ACTIONS = np.random.default_rng(0).normal(size=(5, 2))


def _waves(x: Array, c: Array) -> Array:
    return np.asarray(np.sin(x[:, None] + c[None]))


MAPS: list[FeatureMap] = [Quadratic(), Bilinear(), Function(_waves, 2), Disjoint(2)]
each = pytest.mark.parametrize("features", MAPS, ids=lambda f: type(f).__name__)


def _actions(features: FeatureMap) -> Array:
    return np.eye(2) if isinstance(features, Disjoint) else ACTIONS


def _belief(rng: np.random.Generator) -> oc.Ensemble:
    return oc.Ensemble(rng.normal(size=(4, 2)))


def _naive(features: FeatureMap, actions: Array, seen: list[Array], taken: list[int], rewards: list[float]) -> Estimate:
    """The formulas of the docstring, from the features (k, d) of every round; the last has no reward yet."""
    n = len(seen)
    psi = np.mean(seen, axis=0)
    V = RIDGE * np.eye(psi.shape[1])
    b = np.zeros(psi.shape[1])
    for x, y in zip(taken, rewards, strict=True):
        V += np.outer(psi[x], psi[x])
        b += psi[x] * y
    inverse = np.linalg.inv(V)
    widths = []
    for x in range(len(actions)):
        scatter = sum(float((now[x] - psi[x]) @ (now[x] - psi[x])) for now in seen)
        error = np.sqrt(scatter / (n - 1) / n) if n > 1 else 0.0
        widths.append(np.sqrt(psi[x] @ inverse @ psi[x]) + error / np.sqrt(RIDGE))
    return Estimate(psi @ inverse @ b, np.array(widths))


class _Unit(np.random.Generator):
    """Its normal numbers are one unit vector."""

    def __init__(self, i: int) -> None:
        super().__init__(np.random.PCG64())
        self._i = i

    def standard_normal(self, n: int) -> Array:  # type: ignore[override]
        return np.asarray(np.eye(n)[self._i])


def linear_map(draw: Callable[[np.random.Generator], Array], n: int) -> Array:
    """Return M (n, k) with draw = M^T z for the n normal numbers z that it takes."""
    return np.stack([draw(_Unit(i)) for i in range(n)])


@each
def test_formulas(features: FeatureMap) -> None:
    actions = _actions(features)
    learner = FixedProfile(features, RIDGE).start(actions, 2)
    points = learner.at(actions)
    rng = np.random.default_rng(1)
    seen: list[Array] = []
    taken: list[int] = []
    rewards: list[float] = []
    for t in range(25):
        belief = _belief(rng)
        view = learner.view(belief)
        got = learner.estimate(points, view)
        want = _naive(features, actions, [*seen, features.expected(actions, belief)], taken, rewards)
        np.testing.assert_allclose(got.mean, want.mean, rtol=0, atol=1e-9)
        np.testing.assert_allclose(got.width, want.width, rtol=0, atol=1e-9)
        index, reward = int(rng.integers(len(actions))), float(rng.normal())
        revealed = oc.PointMass(rng.normal(size=2)) if t % 3 == 0 else belief
        learner.learn(learner.evidence(points, learner.view(revealed), index), reward)
        seen.append(features.expected(actions, revealed))
        taken.append(index)
        rewards.append(reward)
        psi = np.mean(seen, axis=0)[taken]
        V = RIDGE * np.eye(psi.shape[1]) + psi.T @ psi
        assert learner.log_det == pytest.approx(np.linalg.slogdet(V / RIDGE)[1], abs=1e-9)


@each
def test_draws_and_perturbations_have_the_covariance_of_their_formulas(features: FeatureMap) -> None:
    """They are linear in normal numbers, M^T z; one unit vector after the other in place of z gives M."""
    actions = _actions(features)
    learner = FixedProfile(features, RIDGE).start(actions, 2)
    points = learner.at(actions)
    rng = np.random.default_rng(1)
    seen, taken = [], []
    for _ in range(9):
        belief, index = _belief(rng), int(rng.integers(len(actions)))
        learner.learn(learner.evidence(points, learner.view(belief), index), float(rng.normal()))
        seen.append(features.expected(actions, belief))
        taken.append(index)
    belief = _belief(rng)
    view = learner.view(belief)
    psi = np.mean([*seen, features.expected(actions, belief)], axis=0)
    d, k = psi.shape[1], len(actions)
    inverse = np.linalg.inv(RIDGE * np.eye(d) + psi[taken].T @ psi[taken])
    pure = np.sqrt(np.vecdot(psi @ inverse, psi))
    draws = linear_map(lambda g: learner.draw(points, view, g), d)
    more = learner.estimate(points, view).width / pure
    np.testing.assert_allclose(draws.T @ draws, np.outer(more, more) * (psi @ inverse @ psi.T), atol=1e-9)
    moved = linear_map(lambda g: learner.perturb(points, view, g), len(set(taken)))
    want = psi @ inverse @ psi[taken].T @ psi[taken] @ inverse @ psi.T
    np.testing.assert_allclose(moved.T @ moved, want, atol=1e-9)
    np.testing.assert_allclose(learner.prior(points, view), np.linalg.norm(psi, axis=1) / np.sqrt(RIDGE))
    np.testing.assert_array_equal(learner.noise(points, view), np.ones(k))


@each
def test_it_is_the_linear_model_where_the_belief_never_changes(features: FeatureMap) -> None:
    """Up to rounding: the average of equal profiles is the profile, and its standard error is zero."""
    belief = _belief(np.random.default_rng(2))
    fixed, linear = (
        oc.Bandit(_actions(features), model, oc.UCB(1.0))
        for model in (FixedProfile(features, RIDGE), oc.LinearModel(features, ridge=RIDGE))
    )
    rng = np.random.default_rng(3)
    for _ in range(40):
        one, two = fixed.decide(belief), linear.decide(belief)
        assert one.index == two.index
        np.testing.assert_allclose(fixed.estimate(belief), linear.estimate(belief), rtol=0, atol=1e-9)
        reward = float(rng.normal())
        fixed.learn(one, reward)
        linear.learn(two, reward)


def test_draws_add_up_over_the_rounds() -> None:
    """Under a belief that never changes, the average of single draws tells the best action; one draw does not.

    Deterministic by its seed; the average of 400 draws is off by 0.05 standard deviations, of four or so.
    """
    belief, truth = oc.Gaussian([1.0, -0.5], 1.0), np.array([1.0, 0.5, -0.3, 0.8])
    learner = FixedProfile(Bilinear(), 1.0).start(ACTIONS, 2)
    points = learner.at(ACTIONS)
    rng = np.random.default_rng(4)
    psi = Bilinear().expected(ACTIONS, belief)
    widths = []
    for t in range(400):
        view = learner.view(belief, 1, rng)
        widths.append(learner.estimate(points, view).width.max())
        learner.learn(learner.evidence(points, view, t % 5), float(psi[t % 5] @ truth))
    np.testing.assert_allclose(learner.estimate(points, view).mean, psi @ truth, atol=0.1)
    assert widths[-1] < 0.2 * widths[5]


def test_it_pays_where_the_belief_changes() -> None:
    """The same trials: FixedProfile has several times the regret, a difference far beyond four standard errors."""
    env = Synthetic(k=20)
    fixed, linear = (
        oc.simulate(env, model, oc.UCB(2.0), steps=200, trials=10).expected_regret[:, -1]
        for model in (FixedProfile(env.features), oc.LinearModel(env.features, ridge=1.0))
    )
    gap = fixed - linear
    assert gap.mean() > 4 * gap.std(ddof=1) / np.sqrt(len(gap))


@pytest.mark.parametrize("samples", [None, 3])
def test_lock_step_equals_trials_of_their_own(samples: int | None) -> None:
    env = Synthetic(k=4, dim=2)
    together, alone = (
        oc.simulate(env, FixedProfile(env.features), oc.UCB(1.0), samples, steps=15, trials=n) for n in (3, 1)
    )
    np.testing.assert_array_equal(together.choices[:1], alone.choices)
    np.testing.assert_array_equal(together.log_det[:1], alone.log_det)


@each
def test_save_load_and_merge(features: FeatureMap, tmp_path: Path) -> None:
    model = FixedProfile(features, RIDGE)
    given = model if isinstance(features, Function) else None
    bandits = [oc.Bandit(_actions(features), model, oc.UCB(1.0)) for _ in range(3)]
    rng = np.random.default_rng(1)
    for t in range(12):
        belief, reward = _belief(rng), float(rng.normal())
        part = bandits[t % 2]
        decision = part.decide(belief)
        part.learn(decision, reward)
        bandits[2].learn(bandits[2].decide(belief, available=[decision.index]), reward)
    merged = bandits[0]
    merged.merge(bandits[1])
    at = _belief(rng)
    np.testing.assert_allclose(merged.estimate(at), bandits[2].estimate(at), rtol=0, atol=1e-9)
    waiting = merged.decide(at)
    merged.save(tmp_path / "bandit")
    loaded = oc.Bandit.load(tmp_path / "bandit", model=given)
    assert loaded.model == model
    for bandit in (merged, loaded):
        bandit.learn(waiting.id, 2.0)
    np.testing.assert_array_equal(loaded.estimate(at), merged.estimate(at))
    fresh = oc.Bandit(_actions(features), model, oc.UCB(1.0))
    fresh.merge(merged)
    np.testing.assert_allclose(fresh.estimate(at), merged.estimate(at), rtol=0, atol=1e-12)
    merged.merge(oc.Bandit(_actions(features), model, oc.UCB(1.0)))
    np.testing.assert_array_equal(loaded.estimate(at), merged.estimate(at))


def test_a_refused_round_changes_nothing() -> None:
    bandit = oc.Bandit(ACTIONS, FixedProfile(Quadratic()), oc.UCB(1.0))
    first, second = (bandit.decide(oc.Gaussian([0.1, 0.2], 1.0)) for _ in range(2))
    bandit.learn(first, 1.0)
    before = bandit.estimate(oc.PointMass([1.0, 2.0]))
    with refused(ValueError, "FixedProfile", "features must stay within the range", "scale the contexts"):
        bandit.learn(second, 1.0, context=[1e154, 0.0])
    np.testing.assert_array_equal(bandit.estimate(oc.PointMass([1.0, 2.0])), before)
    bandit.learn(second, 1.0)


def test_refusals() -> None:
    with refused(TypeError, "FixedProfile", "features must be a feature map such as"):
        FixedProfile(3)  # type: ignore[arg-type]
    with refused(ValueError, "FixedProfile", "ridge must be > 0"):
        FixedProfile(Quadratic(), ridge=0.0)
    with refused(oc.NoClosedForm, "Bilinear", "pass samples="):
        oc.Bandit(ACTIONS, FixedProfile(Bilinear()), oc.UCB(1.0)).decide(oc.Sampler(lambda n, g: g.random((n, 2)), 2))


def test_the_ridge_is_its_only_parameter() -> None:
    assert FixedProfile(Bilinear(), 0.3).start(ACTIONS, 2).parameters == Parameters(ridge=0.3)
