"""An objective is applied to the rewards in all contexts, wherever values are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array
from overcast.objectives import Mean, Objective
from support import refused

ACTIONS = np.array([[-1.0, 0.5], [0.0, 1.0], [2.0, -0.3]])
BELIEF = oc.Ensemble([[0.2, -1.0], [1.5, 0.3], [-0.7, 0.9]], weights=[0.5, 0.3, 0.2])
MODELS = [
    oc.LinearModel(oc.features.Polynomial(2)),
    oc.LinearModel(oc.features.Bilinear(), ridge=1.0),
    oc.KernelModel(oc.kernels.Product(oc.kernels.RBF(1.0), oc.kernels.RBF(1.0)), ridge=0.5),
]


class Average(Objective):
    """The expected reward, which the package does not know for one."""

    def of(self, values: Array, weights: Array) -> Array:
        return np.asarray(np.average(values, axis=-2, weights=weights))


def _taught(model: Any, objective: Objective, policy: oc.policies.Policy) -> oc.Bandit:
    bandit, rng = oc.Bandit(ACTIONS, model, policy, objective=objective), np.random.default_rng(3)
    contexts, taken = rng.normal(size=(12, 2)), rng.integers(3, size=12)
    bandit.observe(taken, contexts, rng.normal(size=12), contexts)
    return bandit


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_an_average_over_contexts_is_the_exact_expectation(model: Any) -> None:
    """Values by two ways: the mean of estimates in all contexts, and the estimate for the expected features."""
    given, exact = (_taught(model, objective, oc.Greedy()).decide(BELIEF) for objective in (Average(), Mean()))
    for one, other in zip(given.top(3), exact.top(3), strict=True):
        assert (one.index, one.mean, one.width) == (other.index, other.mean, other.width)
        assert one.value == pytest.approx(other.value, abs=1e-10)
        assert other.value == other.mean


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_draws_of_all_contexts_are_of_one_parameter(model: Any) -> None:
    """The value of an average is normal with the standard deviation of the expected reward, since one parameter is
    drawn for all contexts. Within five standard errors of 4,000 draws: a false alarm below 1e-5 over three actions."""
    bandit, n = _taught(model, Average(), oc.Thompson()), 4000
    scores = []
    for i in range(n):
        decision = bandit.propose(BELIEF, id=str(i))
        options = sorted(decision.top(3), key=lambda option: option.index)
        scores.append([option.score for option in options])
    mean, width = bandit.estimate(BELIEF)
    np.testing.assert_array_less(np.abs(np.mean(scores, axis=0) - mean), 5.0 * width / np.sqrt(n))
    np.testing.assert_allclose(np.std(scores, axis=0), width, rtol=5.0 / np.sqrt(2.0 * n))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_an_upper_bound_of_all_contexts_bounds_the_expectation(model: Any) -> None:
    """By the triangle inequality, the mean of upper bounds is at least the upper bound of the mean."""
    given, exact = (_taught(model, objective, oc.UCB(1.5)).decide(BELIEF) for objective in (Average(), Mean()))
    upper = {option.index: option.score for option in given.top(3)}
    for option in exact.top(3):
        assert upper[option.index] >= option.score - 1e-12
        assert option.score == pytest.approx(option.mean + 1.5 * option.width)


def test_draws_of_the_belief_stand_for_it() -> None:
    """With L samples, the contexts are the draws of the decision, the same whenever it is asked about."""
    model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)
    bandit = oc.Bandit(ACTIONS, model, oc.Greedy(), samples=50, objective=Average())
    bandit.observe([0, 1, 2], np.eye(2)[[0, 1, 0]], [1.0, 2.0, 3.0], np.eye(2)[[0, 1, 0]])
    first, second = (bandit.propose(BELIEF, id="one") for _ in range(2))
    assert first.value == second.value
    assert first.value == pytest.approx(first.mean, abs=1e-10)


@pytest.mark.parametrize("bad", [None, "mean", Mean, 0.1])
def test_what_is_no_objective_is_refused(bad: Any) -> None:
    with refused(TypeError, "Bandit", "objective must be an objective such as Mean()"):
        oc.Bandit(ACTIONS, MODELS[0], oc.UCB(), objective=bad)


def test_all_contexts_are_asked_of_one_fit() -> None:
    """Also in the first rounds, when standard features follow from the forecast of the round."""
    model, belief = oc.LinearModel(oc.features.Polynomial(2)), oc.Ensemble([[3.0], [-1.0], [0.5]])
    bandit, rng = oc.Bandit([[0.0], [1.0], [2.0]], model, oc.UCB(), objective=Average()), np.random.default_rng(4)
    for _ in range(12):
        decision = bandit.decide(belief)
        assert decision.value == pytest.approx(decision.mean, abs=1e-9)
        bandit.learn(decision, float(rng.normal()))


def test_noise_on_rewards_explores_under_an_objective() -> None:
    """Centred forecasts have no expected features, but the worst context has some."""
    policy, model = oc.PerturbedHistory(), oc.LinearModel(oc.features.Disjoint(2), ridge=1.0)
    bandit = oc.Bandit({"bad": [1.0, 0.0], "good": [0.0, 1.0]}, model, policy, objective=Worst())
    belief, rng, taken = oc.Ensemble([[1.0], [0.8], [-1.0], [-0.8]]), np.random.default_rng(5), []
    for _ in range(200):
        context = belief.sample(1, rng)[0]
        decision = bandit.decide(belief)
        reward = (-3.0 if decision.action == "bad" else 0.2) * abs(context[0])
        bandit.learn(decision, reward * np.sign(context[0]) + 0.1 * rng.normal(), context=context)
        taken.append(decision.action)
    assert taken[100:].count("good") > 80


class Worst(Mean):
    """A class that derives from `Mean` and means something else."""

    def of(self, values: Array, weights: Array) -> Array:
        return np.asarray(values.min(axis=-2))


def test_classes_that_derive_from_the_mean_are_asked() -> None:
    bandit = _taught(MODELS[1], Worst(), oc.Greedy())
    assert bandit.decide(BELIEF).value < bandit.decide(BELIEF).mean


def test_values_of_another_shape_are_refused() -> None:
    class Bad(Objective):
        def of(self, values: Array, weights: Array) -> Array:
            return values

    with refused(ValueError, "Bad", "of must return 3 numbers, one for each action"):
        oc.Bandit(ACTIONS, MODELS[0], oc.UCB(), objective=Bad()).decide(BELIEF)
