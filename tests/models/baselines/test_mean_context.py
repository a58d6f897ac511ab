"""Plugging in the mean of the context."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array
from overcast.environments import RKHS, Synthetic
from overcast.features import Bilinear, Quadratic
from overcast.kernels import RBF, Product
from overcast.models import Exp4, MeanContext, Model
from support import refused

POINTS = np.random.default_rng(0).normal(size=(6, 2))
EXAMPLES: list[tuple[Model, Array]] = [
    (MeanContext(oc.LinearModel(Bilinear())), POINTS[:3]),
    (MeanContext(oc.KernelModel(Product(RBF(0.8), RBF(1.2)), ridge=0.1)), POINTS[:3]),
    (MeanContext(Exp4(Bilinear(), experts=8)), POINTS[:3]),
]

ACTIONS = np.random.default_rng(0).normal(size=(5, 2))
MODELS: list[Model] = [oc.LinearModel(Quadratic(), ridge=1.0), oc.KernelModel(Product(RBF(0.5), RBF(0.5)), 0.3)]


def belief(rng: np.random.Generator) -> oc.Gaussian:
    return oc.Gaussian(rng.normal(size=2), rng.random(2))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_it_is_the_model_on_points_at_the_mean(model: Model) -> None:
    plain, plugged = oc.Bandit(ACTIONS, model, oc.UCB(1.0)), oc.Bandit(ACTIONS, MeanContext(model), oc.UCB(1.0))
    rng = np.random.default_rng(1)
    for t in range(15):
        forecast, context = belief(rng), rng.normal(size=2) if t % 3 == 0 else None
        one, two = plain.decide(oc.PointMass(forecast.mean())), plugged.decide(forecast)
        assert one.index == two.index
        np.testing.assert_array_equal(one.score, two.score)
        plain.learn(one, 1.0 / (t + 1), context)
        plugged.learn(two, 1.0 / (t + 1), context)


def test_a_revealed_context_is_left_aside_where_the_model_does() -> None:
    hidden, revealed = (oc.Bandit(ACTIONS, MeanContext(Exp4(Bilinear(), experts=8)), oc.Proportional()) for _ in "12")
    for t in range(10):
        for bandit, context in ((hidden, None), (revealed, [1.0, t])):
            bandit.learn(bandit.decide(oc.Gaussian([0.5, -0.2 * t], 0.1)), float(t % 3), context)
    forecast = oc.Gaussian([1.0, 0.0], 0.1)
    np.testing.assert_array_equal(hidden.estimate(forecast).mean, revealed.estimate(forecast).mean)


def test_it_agrees_with_the_expectation_where_rewards_are_linear_in_the_context() -> None:
    exact, plugged = (
        oc.Bandit(ACTIONS, m, oc.UCB(1.0))
        for m in (oc.LinearModel(Bilinear(), ridge=1.0), MeanContext(oc.LinearModel(Bilinear(), ridge=1.0)))
    )
    rng = np.random.default_rng(1)
    for _ in range(10):
        forecast = belief(rng)
        one, two = exact.decide(forecast), plugged.decide(forecast)
        np.testing.assert_allclose(one.score, two.score)
        exact.learn(one, 1.0)
        plugged.learn(two, 1.0)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_lock_step_equals_bandits_of_their_own(model: Model) -> None:
    env = Synthetic(k=4, dim=2)
    together = oc.simulate(env, MeanContext(model), oc.UCB(1.0), steps=12, trials=3)
    alone = oc.simulate(env, MeanContext(model), oc.UCB(1.0), steps=12, trials=1)
    np.testing.assert_array_equal(together.choices[:1], alone.choices)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_samples_save_and_merge(model: Model, tmp_path: Path) -> None:
    bandit = oc.Bandit(ACTIONS, MeanContext(model), oc.UCB(1.0), samples=5)
    rng = np.random.default_rng(1)
    for t in range(8):
        bandit.learn(bandit.decide(belief(rng)), float(t))
    waiting = bandit.decide(belief(rng))
    bandit.save(tmp_path / "bandit")
    loaded = oc.Bandit.load(tmp_path / "bandit")
    assert loaded.model == MeanContext(model)
    for each in (bandit, loaded):
        each.learn(waiting.id, 2.0)
    forecast = belief(rng)
    np.testing.assert_allclose(loaded.estimate(forecast).mean, bandit.estimate(forecast).mean, rtol=1e-9)
    other = oc.Bandit(ACTIONS, MeanContext(model), oc.UCB(1.0), samples=5)
    other.merge(bandit)
    np.testing.assert_allclose(
        other.estimate(oc.PointMass([0.1, 0.2])).mean, bandit.estimate(oc.PointMass([0.1, 0.2])).mean
    )


def test_the_expectation_wins_where_rewards_are_curved() -> None:
    """Paired over 20 trials: a difference of more than four standard errors has probability below 1e-3 by chance."""
    env = RKHS(k=30)
    model = oc.KernelModel(env.kernel, ridge=1.0)
    expected, plugged = (
        oc.simulate(env, m, oc.UCB(0.5), steps=100, trials=20).expected_regret[:, -1]
        for m in (model, MeanContext(model))
    )
    gap = plugged - expected
    assert gap.mean() > 4 * gap.std(ddof=1) / np.sqrt(len(gap))


def test_something_else_is_no_model() -> None:
    with refused(TypeError, "MeanContext", "model must be a model such as"):
        MeanContext(3)  # type: ignore[arg-type]


def test_parameters_are_those_of_its_model() -> None:
    model = oc.LinearModel(Bilinear(), ridge=0.5)
    learners = [one.start(ACTIONS, 2) for one in (model, MeanContext(model))]
    for learner, one in zip(learners, (model, MeanContext(model)), strict=True):
        view = one.view(learner, oc.Gaussian([1.0, 2.0], 0.3))
        learner.learn(learner.evidence(learner.at(ACTIONS), view, 1), 1.0)
    assert learners[0].parameters == learners[1].parameters
    assert learners[1].parameters.theta is not None
