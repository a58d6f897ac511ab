"""Posterior sampling: how often each action is taken."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from overcast import Thompson
from overcast.models import KernelModel, LinearModel, Model, Progress
from overcast.policies import Outlook, Policy
from support import outlook, refused

EXAMPLES: list[Policy] = [
    oc.Thompson(),
    oc.Thompson(0.0),
]

PROGRESS = Progress(3, 1.0, ridge=1.0, actions=2)


def test_scores_are_means_plus_scaled_draws() -> None:
    given = outlook([0.5, -1.0], [1.0, 0.25], deviation=[2.0, -3.0])
    np.testing.assert_allclose(Thompson(0.5).scores(given, PROGRESS, np.random.default_rng(0)), [1.5, -2.5])
    np.testing.assert_array_equal(Thompson(0.0).scores(given, PROGRESS, np.random.default_rng(0)), given.mean)


@pytest.mark.parametrize(
    "model",
    [
        LinearModel(oc.features.Bilinear(), 0.5),
        KernelModel(oc.kernels.Product(oc.kernels.Linear(), oc.kernels.Linear()), 0.5),
    ],
    ids=["linear", "kernel"],
)
@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_an_action_is_taken_as_often_as_it_is_likely_to_be_the_best(model: Model, scale: float) -> None:
    """Of two actions, psi_1^T theta > psi_0^T theta with probability Phi(m / s), where m and s are mean and standard
    deviation of the difference: m = (psi_1 - psi_0)^T theta-hat, s = scale ||psi_1 - psi_0||_{V^-1}. The count is
    binomial; within five standard errors, 6e-7 each."""
    actions, n = np.array([[1.0, 0.2], [0.4, -0.9]]), 4000
    learner = model.start(actions, 2)
    points = learner.at(actions)
    V, target = 0.5 * np.eye(4), np.zeros(4)
    for index, context, reward in ((0, [1.0, 0.5], 0.8), (1, [0.2, -1.0], 0.4), (1, [1.0, 1.0], 0.3)):
        learner.learn(learner.evidence(points, learner.view(oc.PointMass(context)), index), reward)
        psi = np.outer(actions[index], context).ravel()
        V += np.outer(psi, psi)
        target += psi * reward
    now = np.array([0.7, 0.3])
    apart = np.outer(actions[1] - actions[0], now).ravel()
    m, s = apart @ np.linalg.solve(V, target), scale * math.sqrt(apart @ np.linalg.solve(V, apart))
    p = float(scipy.stats.norm.cdf(m / s))
    assert 0.05 < p < 0.95
    given, rng = Outlook(learner, points, learner.view(oc.PointMass(now))), np.random.default_rng(1)
    taken = [int(Thompson(scale).scores(given, PROGRESS, rng).argmax()) for _ in range(n)]
    assert abs(np.mean(taken) - p) <= 5 * math.sqrt(p * (1 - p) / n)


@pytest.mark.parametrize(
    ("scale", "kind"), [(-1.0, ValueError), (math.nan, ValueError), ("1", TypeError), (None, TypeError)]
)
@pytest.mark.parametrize("policy", [oc.Thompson, oc.PerturbedHistory])
def test_bad_scale(policy: Any, scale: Any, kind: type[Exception]) -> None:
    with refused(kind, policy.__name__, "scale must be"):
        policy(scale)
