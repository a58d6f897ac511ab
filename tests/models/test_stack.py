"""Learners side by side against every one of them alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernel_support import ACTIONS
from overcast.beliefs import Gaussian
from overcast.beliefs.stacked import GaussianStack
from overcast.features import Bilinear
from overcast.kernels import RBF, Product
from overcast.models import Exp4, FixedProfile, KernelModel, LinearModel, MeanContext, Model, NoisyContext
from overcast.models.stack import LearnerStack
from overcast.policies import Outlook

C = 3


@pytest.mark.parametrize(
    "model",
    [
        KernelModel(Product(RBF(0.8), RBF(1.1)), 0.3),
        MeanContext(KernelModel(Product(RBF(0.8), RBF(1.1)), 0.3)),
        MeanContext(LinearModel(Bilinear(), ridge=1.0)),
    ],
    ids=repr,
)
def test_stacks_and_wrappers_hand_on_what_they_are_asked(model: Model) -> None:
    rng, trials = np.random.default_rng(10), 3
    together, alone = model.start_all(ACTIONS, C, trials), [model.start(ACTIONS, C) for _ in range(trials)]
    points, each_points = together.at(ACTIONS), [learner.at(ACTIONS) for learner in alone]
    for t in range(6):
        means = rng.normal(size=(trials, C))
        view = model.view(together, GaussianStack(means, 0.2))
        views = [model.view(learner, Gaussian(m, 0.2)) for learner, m in zip(alone, means, strict=True)]
        outlook = Outlook(together, points, view)
        own = [Outlook(*each) for each in zip(alone, each_points, views, strict=True)]
        np.testing.assert_allclose(outlook.prior, [o.prior for o in own], rtol=1e-12)
        np.testing.assert_array_equal(outlook.noise, [o.noise for o in own])
        for name in ("drawn", "perturbed"):
            got = getattr(outlook, name)(0.7, [np.random.default_rng((t, i)) for i in range(trials)])
            expected = [getattr(o, name)(0.7, np.random.default_rng((t, i))) for i, o in enumerate(own)]
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9)
        index, rewards = rng.integers(len(ACTIONS), size=trials), rng.normal(size=trials)
        together.learn(together.evidence(points, view, index), rewards)
        for learner, here, v, i, y in zip(alone, each_points, views, index, rewards, strict=True):
            learner.learn(learner.evidence(here, v, int(i)), float(y))


@pytest.mark.parametrize(
    ("model", "samples"),
    [
        (LinearModel(Bilinear()), None),
        (LinearModel(Bilinear(), ridge=0.5), 4),
        (KernelModel(Product(RBF(0.8), RBF(1.1)), 0.3), 4),
        (FixedProfile(Bilinear()), None),
        (NoisyContext(Bilinear()), 2),
        (Exp4(Bilinear(), experts=5), None),
    ],
    ids=repr,
)
@pytest.mark.parametrize("own_actions", [False, True], ids=["shared actions", "actions of each trial"])
def test_a_stack_is_every_learner_alone(model: Model, samples: int | None, own_actions: bool) -> None:
    rng, trials = np.random.default_rng(11), 3
    sets = [ACTIONS + (0.1 * i if own_actions else 0.0) for i in range(trials)]
    stack = LearnerStack.of(model, np.stack(sets) if own_actions else ACTIONS, C, trials)
    alone = [model.start(actions, C) for actions in sets]
    points = stack.at(np.stack(sets) if own_actions else ACTIONS)
    each_points = [own.at(actions) for own, actions in zip(alone, sets, strict=True)]
    for t in range(8):
        means = rng.normal(size=(trials, C))
        one, two = ([np.random.default_rng((t, i)) for i in range(trials)] for _ in range(2))
        view = stack.view(GaussianStack(means, 0.2), samples, one)
        views = [own.view(Gaussian(m, 0.2), samples, g) for own, m, g in zip(alone, means, two, strict=True)]
        got, expected = (
            stack.estimate(points, view),
            [own.estimate(*each) for own, *each in zip(alone, each_points, views, strict=True)],
        )
        np.testing.assert_array_equal(got.mean, [e.mean for e in expected])
        np.testing.assert_array_equal(got.width, [e.width for e in expected])
        index, rewards = rng.integers(len(ACTIONS), size=trials), rng.normal(size=trials)
        stack.learn(stack.evidence(points, view, index), rewards)
        for own, here, v, i, y in zip(alone, each_points, views, index, rewards, strict=True):
            own.learn(own.evidence(here, v, int(i)), float(y))
        np.testing.assert_array_equal(stack.log_det, [own.log_det for own in alone])
        shares: list[Any] = [own.residual_share for own in alone]
        if shares[0] is None:
            assert stack.residual_share is None
        else:
            np.testing.assert_array_equal(stack.residual_share, shares)


def test_distances_and_norms_of_every_learner() -> None:
    model, rng = LinearModel(Bilinear(), ridge=0.5), np.random.default_rng(12)
    stack, alone = LearnerStack.of(model, ACTIONS, C, 2), [model.start(ACTIONS, C) for _ in range(2)]
    points = stack.at(ACTIONS)
    means = rng.normal(size=(2, C))
    evidence = stack.evidence(points, stack.view(GaussianStack(means, 0.2)), np.array([0, 1]))
    theta = rng.normal(size=(2, 6))
    norms = [own.norm(e) for own, e in zip(alone, evidence, strict=True)]
    np.testing.assert_array_equal(stack.norm(evidence), norms)
    np.testing.assert_array_equal(stack.distance(theta), [own.distance(z) for own, z in zip(alone, theta, strict=True)])
    np.testing.assert_array_equal(stack.distance(theta[0]), [own.distance(theta[0]) for own in alone])
