"""Draws, perturbations, noise and prior widths of every learner against dense formulas, and lock-step against alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import overcast as oc
from kernel_support import ACTIONS, KERNELS, MAKERS, RIDGE, Naive
from overcast._check import Array
from overcast.beliefs import Gaussian
from overcast.beliefs.stacked import PointStack
from overcast.features import Bilinear, Disjoint, FeatureMap, Function, Polynomial, Quadratic
from overcast.features.separable import MAX_DENSE_WORK
from overcast.kernels import RBF, Constant, Kernel, Linear, Product
from overcast.models import KernelModel, LinearModel, Model
from overcast.models.linear.ridge import MAX_GROWTH
from overcast.policies import Outlook
from support import Given, linear_map, refused

C = 3


def _waves(x: Array, c: Array) -> Array:
    u = x[:, None, :] + c[None, :, :]
    return np.concatenate([np.cos(u), np.sin(u[..., :1])], axis=-1)


LINEAR: dict[str, tuple[FeatureMap, Array]] = {
    "separable": (Quadratic(), np.random.default_rng(0).normal(size=(6, C))),
    "many actions": (Bilinear(), np.random.default_rng(1).normal(size=(700, 4))),
    "many terms": (Polynomial(3), np.random.default_rng(2).normal(size=(6, 2))),
    "dense": (Function(_waves, C + 1), np.random.default_rng(3).normal(size=(6, C))),
    "disjoint": (Disjoint(4), np.eye(4)[[1, 3, 0, 2, 1]]),
}
each = pytest.mark.parametrize(("features", "actions"), LINEAR.values(), ids=LINEAR.keys())


def _taught(features: FeatureMap, actions: Array, rounds: int, ridge: float = 0.7) -> tuple[Any, Array]:
    """Return a learner that has seen certain contexts, and the features of its rounds, (t, d)."""
    rng = np.random.default_rng(rounds)
    learner, seen = LinearModel(features, ridge).start(actions, C), []
    points = learner.at(actions)
    for _ in range(rounds):
        context, index = rng.normal(size=C), int(rng.integers(len(actions)))
        learner.learn(learner.evidence(points, learner.view(oc.PointMass(context)), index), float(rng.normal()))
        seen.append(features(actions, context[None])[index, 0])
    return learner, np.array(seen).reshape(rounds, features.size(actions.shape[1], C))


def drawn(outlook: Outlook) -> Callable[[Any], Array]:
    """Return how far a joint draw moves all means."""
    return lambda rng: outlook.drawn(1.0, rng) - outlook.mean


def perturbed(outlook: Outlook) -> Callable[[Any], Array]:
    """Return how far noise on past rewards moves all means."""
    return lambda rng: outlook.perturbed(1.0, rng) - outlook.mean


def test_the_cases_take_all_paths() -> None:
    features, actions = LINEAR["many actions"]
    assert len(actions) * features.size(4, C) ** 2 > MAX_DENSE_WORK


@each
@pytest.mark.parametrize("rounds", [0, 1, 3, 60])
def test_draws_and_perturbations_of_linear_models(features: FeatureMap, actions: Array, rounds: int) -> None:
    """Both are linear in normal numbers, M^T z, so that their covariance is M^T M: psi V^-1 psi^T of all actions, and
    psi V^-1 (sum_s psi_s psi_s^T) V^-1 psi^T."""
    learner, seen = _taught(features, actions, rounds)
    points = learner.at(actions)
    context = np.array([0.3, -1.2, 0.8])
    outlook = Outlook(learner, points, learner.view(oc.PointMass(context)))
    psi = features(actions, context[None])[:, 0]
    d = psi.shape[1]
    inverse = np.linalg.inv(0.7 * np.eye(d) + seen.T @ seen)
    for got, covariance in (
        (linear_map(drawn(outlook), d), inverse),
        (linear_map(perturbed(outlook), d), inverse @ seen.T @ seen @ inverse),
    ):
        np.testing.assert_allclose(got.T @ got, psi @ covariance @ psi.T, rtol=0, atol=1e-9)
    z: Any = Given(np.linspace(-1, 1, d))
    np.testing.assert_allclose(drawn(outlook)(z), np.linspace(-1, 1, d) @ linear_map(drawn(outlook), d), atol=1e-10)
    np.testing.assert_allclose(outlook.prior, np.sqrt((psi**2).sum(axis=1) / 0.7), rtol=1e-12)
    np.testing.assert_array_equal(outlook.noise, np.ones(len(actions)))


@each
def test_draws_by_a_generator_have_the_covariance(features: FeatureMap, actions: Array) -> None:
    """An entry of the covariance of n draws has variance (S_ii S_jj + S_ij^2) / n; within six standard errors, 2e-9 per
    entry and 1e-7 over all of them."""
    learner, seen = _taught(features, actions, 8)
    points = learner.at(actions)
    psi = features.expected(actions, oc.PointMass(np.ones(C)))[:6]
    inverse = np.linalg.inv(0.7 * np.eye(psi.shape[1]) + seen.T @ seen)
    outlook, rng, n = Outlook(learner, points, learner.view(oc.PointMass(np.ones(C)))), np.random.default_rng(5), 4000
    for ask, covariance in ((drawn(outlook), inverse), (perturbed(outlook), inverse @ seen.T @ seen @ inverse)):
        draws = np.array([ask(rng)[:6] for _ in range(n)])
        S = psi @ covariance @ psi.T
        error = np.sqrt((np.multiply.outer(np.diag(S), np.diag(S)) + S**2) / n)
        assert (np.abs(draws.T @ draws / n - S) <= 6 * error + 1e-12).all()
        assert (np.abs(draws.mean(axis=0)) <= 6 * np.sqrt(np.diag(S) / n) + 1e-12).all()


@each
def test_lock_step_is_every_trial_on_its_own(features: FeatureMap, actions: Array) -> None:
    """No matter when the trials, together or alone, were last factorised."""
    trials, rng = 3, np.random.default_rng(4)
    model = LinearModel(features, 0.7)
    together, alone = model.start_all(actions, C, trials), [model.start(actions, C) for _ in range(trials)]
    points, each_points = together.at(actions), [learner.at(actions) for learner in alone]
    scales = np.array([0.3, 1.0, 30.0])[:, None]
    for t in range(60):
        contexts = scales * rng.normal(size=(trials, C))
        view = together.view(PointStack(contexts))
        views = [learner.view(oc.PointMass(c)) for learner, c in zip(alone, contexts, strict=True)]
        outlook = Outlook(together, points, view)
        for moves in (drawn, perturbed):
            got = moves(outlook)([np.random.default_rng((t, i)) for i in range(trials)])
            for i, each_of in enumerate(zip(alone, each_points, views, strict=True)):
                expected = moves(Outlook(*each_of))(np.random.default_rng((t, i)))
                size = Outlook(*each_of).prior.max()
                np.testing.assert_allclose(got[i], expected, rtol=0, atol=1e-9 * size)
        for i, (learner, here, own) in enumerate(zip(alone, each_points, views, strict=True)):
            np.testing.assert_allclose(outlook.prior[i], learner.prior(here, own), rtol=1e-12)
        assert outlook.noise.shape == outlook.mean.shape
        index, rewards = rng.integers(len(actions), size=trials), rng.normal(size=trials)
        together.learn(together.evidence(points, view, index), rewards)
        for learner, here, own, i, y in zip(alone, each_points, views, index, rewards, strict=True):
            learner.learn(learner.evidence(here, own, int(i)), float(y))
    assert float(np.asarray(together.log_det).max()) > MAX_GROWTH


def _covariance(reference: Naive, belief: oc.Belief) -> Array:
    """The posterior covariance of all actions over lambda, from the inverse of the whole matrix."""
    k, t = len(reference.actions), len(reference.rounds)
    wide = Naive(reference.kernel, reference.ridge, reference.actions)
    wide.rounds, wide.gram, wide.rewards = list(reference.rounds), reference.gram, list(reference.rewards)
    for i in range(k):
        wide.add(i, belief, 0.0)
    cross, own = wide.gram[:t, t:], wide.gram[t:, t:]
    inverse = np.linalg.inv(reference.gram + reference.ridge * np.eye(t))
    return np.asarray((own - cross.T @ inverse @ cross) / reference.ridge)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("rounds", [0, 1, 15])
def test_draws_and_perturbations_of_kernel_models(name: str, rounds: int) -> None:
    rng, make = np.random.default_rng(8), MAKERS["full"]
    learner, reference = KernelModel(KERNELS[name], RIDGE).start(ACTIONS, 2), Naive(KERNELS[name], RIDGE, ACTIONS)
    points = learner.at(ACTIONS)
    for _ in range(rounds):
        belief, index, reward = make(rng), int(rng.integers(len(ACTIONS))), float(rng.normal())
        learner.learn(learner.evidence(points, learner.view(belief), index), reward)
        reference.add(index, belief, reward)
    belief = make(rng)
    outlook = Outlook(learner, points, learner.view(belief))
    got = linear_map(drawn(outlook), len(ACTIONS))
    np.testing.assert_allclose(got.T @ got, _covariance(reference, belief), rtol=0, atol=1e-8)
    z = rng.normal(size=rounds)
    before = reference.estimate(belief).mean
    reference.rewards = list(np.array(reference.rewards) + z)
    given: Any = Given(z)
    np.testing.assert_allclose(perturbed(outlook)(given), reference.estimate(belief).mean - before, rtol=0, atol=1e-9)
    prior = np.sqrt(np.diag(_covariance(Naive(KERNELS[name], RIDGE, ACTIONS), belief)))
    np.testing.assert_allclose(outlook.prior, prior, rtol=1e-9)
    np.testing.assert_array_equal(outlook.noise, np.ones(len(ACTIONS)))


def test_a_linear_kernel_has_the_law_of_the_linear_model() -> None:
    rng = np.random.default_rng(9)
    actions = rng.normal(size=(5, 2))
    models: list[Model] = [LinearModel(Bilinear(), 0.4), KernelModel(Product(Linear(), Linear()), 0.4)]
    learners = [model.start(actions, C) for model in models]
    for _ in range(12):
        belief, index, reward = Gaussian(rng.normal(size=C), 0.3), int(rng.integers(5)), float(rng.normal())
        for learner in learners:
            learner.learn(learner.evidence(learner.at(actions), learner.view(belief), index), reward)
    belief = Gaussian(rng.normal(size=C), 0.3)
    outlooks = [Outlook(learner, learner.at(actions), learner.view(belief)) for learner in learners]
    for moves in (drawn, perturbed):
        linear, kernel = (linear_map(moves(outlook), 12) for outlook in outlooks)
        np.testing.assert_allclose(kernel.T @ kernel, linear.T @ linear, rtol=0, atol=1e-8)
    np.testing.assert_allclose(outlooks[1].prior, outlooks[0].prior, rtol=1e-10)


def test_actions_that_are_alike_move_alike() -> None:
    """The covariance of equal and of nearly equal actions is singular."""
    actions = np.concatenate([np.zeros((3, 1)), np.linspace(0.0, 1e-3, 60)[:, None]])
    learner = KernelModel(Product(RBF(1.0), Constant()), 1e-3).start(actions, 1)
    points = learner.at(actions)
    view = learner.view(oc.PointMass([0.0]))
    learner.learn(learner.evidence(points, view, 0), 1.0)
    view = learner.view(oc.PointMass([0.0]))
    outlook = Outlook(learner, points, view)
    rng = np.random.default_rng(0)
    moved = np.array([drawn(outlook)(rng) for _ in range(1000)])
    assert np.abs(moved[:, :4] - moved[:, :1]).max() < 1e-4 < np.abs(moved).max()
    assert np.abs(moved - moved[:, :1]).max() < 6 * 1e-3 / math.sqrt(1e-3)  # the prior's slope is 1 / lengthscale
    # All actions move as one, so that 1000 draws tell the width within 1 / sqrt(2000); six standard errors, 2e-9.
    assert moved[:, 0].std() == pytest.approx(float(outlook.width[0]), rel=6 / math.sqrt(2000))


class _Wrong(Kernel):
    """Positive with each point itself, but not positive semi-definite."""

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(1.0 - np.abs(left[:, None, 0] - right[None, :, 0]))


def test_a_kernel_that_is_none_cannot_be_drawn_from() -> None:
    learner = KernelModel(Product(_Wrong(), Constant()), 0.1).start(np.array([[0.0], [9.0]]), 1)
    points = learner.at(np.array([[0.0], [9.0]]))
    view = learner.view(oc.PointMass([0.0]))
    with refused(
        ValueError, "KernelModel", "positive semi-definite", "_Wrong", "an eigenvalue of -7 between the actions"
    ):
        learner.draw(points, view, np.random.default_rng(0))


def test_what_is_not_asked_for_is_not_computed() -> None:
    class Idle:
        def estimate(self, points: object, view: object) -> oc.Estimate:
            return oc.Estimate(np.zeros(2), np.ones(2))

    learner: Any = Idle()
    outlook = Outlook(learner, None, None)
    assert outlook.estimate is not None
    np.testing.assert_array_equal(outlook.width, [1.0, 1.0])


def test_draws_for_very_many_actions() -> None:
    """A draw is the product of all features with one vector, and needs only the action terms."""
    actions = np.random.default_rng(11).normal(size=(3706, 6))
    learner = LinearModel(Bilinear(), ridge=1.0).start(actions, 6)
    points = learner.at(actions)
    view = learner.view(oc.PointMass(np.ones(6)))
    learner.learn(learner.evidence(points, view, 5), 1.0)
    z: Any = Given(np.arange(36.0))
    psi = Bilinear().expected(actions[:9], oc.PointMass(np.ones(6)))
    np.testing.assert_allclose(learner.draw(points, view, z)[:9], psi @ learner.fit.draw(np.arange(36.0)), rtol=1e-10)
    assert math.isfinite(float(learner.perturb(points, view, z).sum()))
