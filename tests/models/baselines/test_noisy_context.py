"""Least squares corrected for errors of the readings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array
from overcast.beliefs.base import STAND_IN_DRAWS
from overcast.environments import Synthetic
from overcast.features import Bilinear, Disjoint, FeatureMap, Function, Quadratic
from overcast.models import Model, NoisyContext
from support import refused

POINTS = np.random.default_rng(0).normal(size=(6, 2))
EXAMPLES: list[tuple[Model, Array]] = [(NoisyContext(Bilinear()), POINTS[:3])]

RIDGE = 0.4
ACTIONS = np.random.default_rng(0).normal(size=(5, 2))


def _waves(x: Array, c: Array) -> Array:
    return np.asarray(np.sin(x[:, None] + c[None]))


MAPS: list[FeatureMap] = [Quadratic(), Bilinear(), Function(_waves, 2), Disjoint(2)]
each = pytest.mark.parametrize("features", MAPS, ids=lambda f: type(f).__name__)


def _actions(features: FeatureMap) -> Array:
    return np.eye(2) if isinstance(features, Disjoint) else ACTIONS


def _corrected(squares: Array, errors: Array, rounds: int) -> Array:
    """M of the docstring, by a matrix root in place of the Cholesky factor: the eigenvalues are the same."""
    values, vectors = np.linalg.eigh(squares + RIDGE * np.eye(len(squares)))
    root = (vectors * np.sqrt(values)) @ vectors.T
    share, turn = np.linalg.eigh(
        np.linalg.solve(root, np.linalg.solve(root, squares + RIDGE * np.eye(len(root)) - errors).T)
    )
    return np.asarray(root @ (turn * np.maximum(share, rounds**-0.25)) @ turn.T @ root)


@each
@pytest.mark.parametrize("samples", [1, 4])
def test_formulas(features: FeatureMap, samples: int) -> None:
    """With finite supports, whose covariance is known."""
    actions = _actions(features)
    learner = NoisyContext(features, RIDGE).start(actions, 2)
    points = learner.at(actions)
    rng = np.random.default_rng(1)
    d = features.size(2, 2)
    squares, errors, target = np.zeros((d, d)), np.zeros((d, d)), np.zeros(d)
    floored = 0
    for t in range(40):
        contexts, weights = rng.normal(size=(3, 2)), rng.dirichlet(np.ones(3))
        belief = oc.Ensemble(contexts, weights)
        view = learner.view(belief, samples, np.random.default_rng(t))
        psi = features.sampled(actions, belief, samples, np.random.default_rng(t))
        M = _corrected(squares, errors, max(t, 1))
        np.testing.assert_allclose(
            learner.estimate(points, view).mean, psi @ np.linalg.solve(M, target), rtol=1e-7, atol=1e-8
        )
        width = np.sqrt([p @ np.linalg.solve(M, p) for p in psi])
        np.testing.assert_allclose(learner.estimate(points, view).width, width, rtol=1e-7, atol=1e-8)
        assert learner.log_det == pytest.approx(max(0.0, np.linalg.slogdet(M / RIDGE)[1]), abs=1e-7)
        i, reward = int(rng.integers(len(actions))), float(rng.normal())
        learner.learn(learner.evidence(points, view, i), reward)
        phi = features(actions[i : i + 1], contexts)[0]
        errors += np.cov(phi.T, aweights=weights, bias=True) / samples
        squares += np.outer(psi[i], psi[i])
        target += psi[i] * reward
        floored += bool(np.linalg.eigvalsh(squares + RIDGE * np.eye(d) - errors)[0] <= 0.0)
    if samples == 1 and isinstance(features, Quadratic):
        assert floored  # single draws leave the matrix indefinite now and then


def test_draws_and_perturbations_have_the_covariance_of_their_formulas() -> None:
    """M is that of the widths. 20,000 draws: entries are within 0.06 of the largest, six standard errors."""
    learner = NoisyContext(Bilinear(), RIDGE).start(ACTIONS, 2)
    points = learner.at(ACTIONS)
    rng = np.random.default_rng(1)
    squares, errors = np.zeros((4, 4)), np.zeros((4, 4))
    for t in range(30):
        evidence = learner.evidence(points, learner.view(oc.Gaussian(rng.normal(size=2), 0.2), 1, rng), t % 5)
        learner.learn(evidence, 1.0)
        squares += np.outer(evidence.psi, evidence.psi)
        errors += evidence.covariance
    view = learner.view(oc.PointMass([1.0, -0.4]))
    inverse = np.linalg.inv(_corrected(squares, errors, 30))
    psi = points.features(view.seen.terms)
    for method, middle in ((learner.draw, inverse), (learner.perturb, inverse @ squares @ inverse)):
        got, want = np.cov([method(points, view, rng) for _ in range(20_000)], rowvar=False), psi @ middle @ psi.T
        np.testing.assert_allclose(got, want, rtol=0, atol=0.06 * want.max())
    np.testing.assert_allclose(learner.prior(points, view), np.linalg.norm(psi, axis=1) / np.sqrt(RIDGE))
    np.testing.assert_array_equal(learner.noise(points, view), np.ones(5))


def test_the_covariance_of_a_normal_belief_from_draws() -> None:
    """The average of 2000 covariances of 100 draws each: the error of an entry is about 0.003, and 0.03 is allowed."""
    cov = np.array([[1.0, 0.6], [0.6, 0.5]])
    learner = NoisyContext(Bilinear()).start(np.eye(1), 2)
    points = learner.at(np.eye(1))
    rng = np.random.default_rng(0)
    views = [learner.view(oc.Gaussian([3.0, -1.0], cov), 2, rng) for _ in range(2000)]
    assert views[0].contexts.shape == (STAND_IN_DRAWS, 2)
    mean = np.mean([learner.evidence(points, view, 0).covariance for view in views], axis=0)
    np.testing.assert_allclose(mean, cov / 2, rtol=0, atol=0.03)


def _theta(model: Model, rounds: int) -> Array:
    """Return theta-hat for contexts whose readings have as much error as the contexts vary."""
    learner: Any = model.start(np.eye(1), 2)
    points = learner.at(np.eye(1))
    rng = np.random.default_rng(5)
    for _ in range(rounds):
        belief = oc.Gaussian(rng.normal(size=2), 1.0)
        context = belief.sample(1, rng)[0]
        learner.learn(learner.evidence(points, learner.view(belief, 1, rng), 0), float(context @ [1.0, -2.0]))
    return np.asarray(learner.theta)


def test_readings_with_errors_attenuate_least_squares_and_are_corrected() -> None:
    """Squares of readings are twice those of the expectation, so that plain least squares finds half of theta.

    The standard error of a coefficient is about 0.07 after 4,000 rounds; 0.35 is five of them.
    """
    plain, corrected = (
        _theta(model, 4_000) for model in (oc.LinearModel(Bilinear(), ridge=1.0), NoisyContext(Bilinear()))
    )
    np.testing.assert_allclose(plain, [0.5, -1.0], rtol=0, atol=0.35)
    np.testing.assert_allclose(corrected, [1.0, -2.0], rtol=0, atol=0.35)


@each
def test_it_is_the_linear_model_without_errors(features: FeatureMap) -> None:
    """Up to rounding, with beliefs of one point, sampled or not."""
    rng = np.random.default_rng(3)
    for samples in (None, 3):
        noisy, linear = (
            oc.Bandit(_actions(features), model, oc.UCB(1.0), samples)
            for model in (NoisyContext(features, RIDGE), oc.LinearModel(features, ridge=RIDGE))
        )
        for _ in range(30):
            belief, reward = oc.PointMass(rng.normal(size=2)), float(rng.normal())
            one, two = noisy.decide(belief), linear.decide(belief)
            assert one.index == two.index
            np.testing.assert_allclose(noisy.estimate(belief), linear.estimate(belief), rtol=0, atol=1e-8)
            noisy.learn(one, reward)
            linear.learn(two, reward)


def test_revealed_contexts_have_no_error() -> None:
    """Then only the decisions depend on the draws, and the fit is that of the linear model."""
    noisy, linear = (
        oc.Bandit(ACTIONS, model, oc.UCB(1.0), samples=2)
        for model in (NoisyContext(Quadratic()), oc.LinearModel(Quadratic(), ridge=1.0))
    )
    rng = np.random.default_rng(3)
    for _ in range(20):
        belief, context, reward = oc.Gaussian(rng.normal(size=2), 1.0), rng.normal(size=2), float(rng.normal())
        one = noisy.decide(belief)
        two = linear.decide(belief, available=[one.index])
        noisy.learn(one, reward, context)
        linear.learn(two, reward, context)
    at = oc.PointMass([0.3, -1.0])
    np.testing.assert_allclose(noisy.estimate(at), linear.estimate(at), rtol=0, atol=1e-8)


@pytest.mark.parametrize("setting", ["hidden", "observed"])
def test_lock_step_equals_trials_of_their_own(setting: oc.simulation.Setting) -> None:
    env = Synthetic(k=4, dim=2)
    together, alone = (
        oc.simulate(env, NoisyContext(env.features), oc.UCB(1.0), 1, steps=15, trials=n, setting=setting)
        for n in (3, 1)
    )
    np.testing.assert_array_equal(together.choices[:1], alone.choices)
    np.testing.assert_array_equal(together.log_det[:1], alone.log_det)


@each
def test_save_load_and_merge(features: FeatureMap, tmp_path: Path) -> None:
    model = NoisyContext(features, RIDGE)
    given = model if isinstance(features, Function) else None
    bandit = oc.Bandit(_actions(features), model, oc.UCB(1.0), samples=2)
    rng = np.random.default_rng(1)
    for t in range(12):
        bandit.learn(bandit.decide(oc.Gaussian(rng.normal(size=2), 0.3)), float(t))
    waiting = bandit.decide(oc.Gaussian(rng.normal(size=2), 0.3))
    bandit.save(tmp_path / "bandit")
    loaded = oc.Bandit.load(tmp_path / "bandit", model=given)
    assert loaded.model == model
    at = oc.Gaussian([0.1, 0.2], 1.0)
    for each_of in (bandit, loaded):
        each_of.learn(waiting.id, 2.0)
    np.testing.assert_array_equal(loaded.estimate(at), bandit.estimate(at))
    both = oc.Bandit(_actions(features), model, oc.UCB(1.0), samples=2)
    both.merge(bandit)
    point = oc.PointMass([0.1, 0.2])
    np.testing.assert_array_equal(both.estimate(point), bandit.estimate(point))


def test_a_refused_round_changes_nothing() -> None:
    bandit = oc.Bandit(ACTIONS, NoisyContext(Quadratic()), oc.UCB(1.0), samples=1)
    decision = bandit.decide(oc.Gaussian([0.1, 0.2], 1.0))
    before = bandit.estimate(oc.PointMass([1.0, 2.0]))
    with refused(ValueError, "NoisyContext", "features must stay within the range", "scale the contexts"):
        bandit.learn(decision, 1.0, context=[1e100, 0.0])
    np.testing.assert_array_equal(bandit.estimate(oc.PointMass([1.0, 2.0])), before)
    bandit.learn(decision, 1.0)


def test_refusals() -> None:
    with refused(TypeError, "NoisyContext", "features must be a feature map such as"):
        NoisyContext(3)  # type: ignore[arg-type]
    with refused(ValueError, "NoisyContext", "ridge must be > 0"):
        NoisyContext(Quadratic(), ridge=0.0)
    with refused(oc.NoClosedForm, "NoisyContext", "Gaussian", "pass samples=1, or use LinearModel"):
        oc.Bandit(ACTIONS, NoisyContext(Quadratic()), oc.UCB(1.0)).decide(oc.Gaussian([0.1, 0.2], 1.0))


def test_parameters_are_the_ridge_and_the_named_theta() -> None:
    learner = NoisyContext(Bilinear(), RIDGE).start(np.eye(2), 1)
    learner.learn(learner.evidence(learner.at(np.eye(2)), learner.view(oc.PointMass([2.0])), 1), 3.0)
    noise, ridge, theta = learner.parameters
    assert noise is None
    assert ridge == RIDGE
    assert theta == {"x1 c1": 0.0, "x2 c1": pytest.approx(6.0 / (RIDGE + 4.0))}
