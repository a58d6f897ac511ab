"""What policies pick, and their laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._random import Stream
from overcast.models.base import Progress
from overcast.policies import Mixed, Policy, Repeated
from overcast.policies.outlook import Outlook
from overcast.policies.turn import Pick
from overcast.round import Question, answer

MODEL = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)


def _state() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    actions = rng.normal(size=(4, 2))
    learner = MODEL.start(actions, 2)
    points = learner.at(actions)
    for t in range(6):
        view = learner.view(oc.PointMass(rng.normal(size=2)))
        learner.learn(learner.evidence(points, view, t % 4), float(rng.normal()))
    return learner, points


def test_the_chance_of_an_action_is_that_of_the_pick() -> None:
    scores = np.zeros(3)
    assert [Pick(1, scores, 1.0).chance(i) for i in range(3)] == [0.0, 1.0, 0.0]
    assert Pick(1, scores).chance(1) is None
    assert Pick(1, scores, 0.5, np.array([0.25, 0.5, 0.25])).chance(2) == 0.25


@pytest.mark.parametrize("mask", [None, np.array([True, False, True, True])], ids=["all", "some"])
@pytest.mark.parametrize(
    "policy",
    [
        *(oc.UCB(1.0), oc.Greedy(), oc.IDS(), oc.EpsilonGreedy(0.3), oc.Proportional()),
        *(Mixed(oc.UCB(1.0), 0.4), Mixed(oc.EpsilonGreedy(0.2), 0.5), Repeated(oc.EpsilonGreedy(0.3), 3)),
    ],
    ids=repr,
)
def test_the_law_is_what_decisions_follow(policy: Policy, mask: Any) -> None:
    """Five standard errors of 4,000 decisions: a false alarm has probability below 1e-6 for each of 64 frequencies."""
    (learner, points), belief, stream, n = _state(), oc.Gaussian([0.4, -0.3], 0.5), Stream(3), 4_000
    law = policy.law(Outlook(learner, points, learner.view(belief), mask), Progress(1, learner.log_det, 1.0, 4))
    assert law is not None
    assert law.sum() == pytest.approx(1.0)
    found = [answer(Question(belief, points, t, None, mask), MODEL, learner, policy, stream) for t in range(1, n + 1)]
    shares = np.bincount([int(one.action) for one in found], minlength=4) / n
    assert (np.abs(shares - law) <= 5.0 * np.sqrt(law * (1.0 - law) / n) + 1e-12).all()
    if not isinstance(policy, Repeated):
        assert all(one.probability == pytest.approx(law[int(one.action)]) for one in found[:50])


@pytest.mark.parametrize("policy", [oc.Thompson(), oc.PerturbedHistory(), Mixed(oc.Thompson(), 0.5)], ids=repr)
def test_a_law_without_a_closed_form_is_none(policy: Policy) -> None:
    learner, points = _state()
    outlook = Outlook(learner, points, learner.view(oc.PointMass([1.0, 2.0])))
    assert policy.law(outlook, Progress(1, 0.0, 1.0, 4)) is None
