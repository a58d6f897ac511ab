"""Probabilities of decisions: in closed form, or from answers that are drawn again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._random import Stream
from overcast.beliefs import Belief
from overcast.features import Bilinear
from overcast.models import Exp4, Model
from overcast.policies import Policy, Repeated
from overcast.round import Answer, Question, answer, draws
from support import refused

EXAMPLES = [Repeated(oc.Thompson(), 3), Repeated(oc.EpsilonGreedy(0.5), 2)]

REPEATS = 100_000
BELIEF = oc.Gaussian([0.4, -0.3], 0.5)
LINEAR = oc.LinearModel(Bilinear(), ridge=1.0)


def _choices(model: Model, policy: Policy, samples: Any, k: int, n: int, mask: Any = None) -> list[Answer]:
    """Return n decisions from one state, which differ by their draws alone."""
    rng = np.random.default_rng(1)
    actions = rng.normal(size=(k, 2))
    learner = model.start(actions, 2)
    points = learner.at(actions)
    for t in range(6):
        learner.learn(
            learner.evidence(points, learner.view(oc.PointMass(rng.normal(size=2))), t % k), float(rng.normal())
        )
    stream = Stream(3)
    return [
        answer(Question(BELIEF, points, t, draws(samples, t), mask), model, learner, policy, stream)
        for t in range(1, n + 1)
    ]


def _frequencies(choices: list[Answer], k: int) -> Any:
    return np.bincount([int(choice.action) for choice in choices], minlength=k) / len(choices)


def _bound(p: Any) -> Any:
    """Five standard errors, which a frequency of 1e5 repeats exceeds with probability below 1e-6."""
    return 5.0 * np.sqrt(p * (1.0 - p) / REPEATS) + 1e-12


@pytest.mark.parametrize("mask", [None, np.array([True, False, True, True])], ids=["all", "some"])
@pytest.mark.parametrize(
    ("model", "policy"),
    [(LINEAR, oc.EpsilonGreedy(0.3)), (LINEAR, oc.Proportional()), (Exp4(Bilinear(), 6), oc.Proportional())],
    ids=["epsilon", "proportional", "exp4"],
)
def test_closed_forms_are_the_frequencies(model: Model, policy: Policy, mask: Any) -> None:
    choices = _choices(model, policy, None, 4, REPEATS, mask)
    stated = {int(choice.action): choice.probability for choice in choices}
    found = _frequencies(choices, 4)
    assert set(stated) == set(range(4) if mask is None else [0, 2, 3])
    total = 0.0
    for action, p in stated.items():
        assert p is not None
        assert abs(found[action] - p) <= _bound(p)
        total += p
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize("policy", [oc.UCB(1.0), oc.Greedy(), oc.IDS(), oc.MostlyGreedy()], ids=repr)
def test_a_policy_without_randomness_is_sure(policy: Policy) -> None:
    choices = _choices(LINEAR, policy, None, 4, 20)
    assert {choice.probability for choice in choices} == {1.0}
    assert len({int(choice.action) for choice in choices}) == 1


@pytest.mark.parametrize(
    ("policy", "samples"),
    [(oc.Thompson(), None), (oc.PerturbedHistory(), None), (oc.UCB(1.0), 3), (oc.EpsilonGreedy(0.3), 3)],
    ids=repr,
)
def test_without_a_closed_form_the_probability_is_not_known(policy: Policy, samples: Any) -> None:
    assert {choice.probability for choice in _choices(LINEAR, policy, samples, 4, 20)} == {None}


@pytest.mark.parametrize(
    ("policy", "samples"),
    [(oc.Thompson(), None), (oc.PerturbedHistory(), None), (oc.UCB(0.2), 1)],
    ids=["Thompson", "PerturbedHistory", "UCB with samples"],
)
def test_shares_of_repeated_answers_are_exact_given_the_answers(policy: Policy, samples: Any) -> None:
    """With two actions a decision tells the shares of both. Among decisions with the same shares, each action is taken
    as often as its share says; and over all, as often as the policy itself takes it."""
    choices = _choices(LINEAR, Repeated(policy, 2), samples, 2, REPEATS)
    taken = np.array([int(choice.action) for choice in choices])
    own = np.array([choice.probability for choice in choices], dtype=float)
    share = np.where(taken == 1, own, 1.0 - own)  # of action 1
    seen = 0
    for value in np.unique(share):
        group = taken[share == value]
        seen += len(group) > 1000
        assert abs(group.mean() - value) <= 5.0 * np.sqrt(value * (1.0 - value) / len(group)) + 1e-12
    assert seen >= 3
    few = REPEATS // 5
    plain = _frequencies(_choices(LINEAR, policy, samples, 2, few), 2)[1]
    assert abs(taken.mean() - plain) <= 5.0 * np.sqrt(plain * (1.0 - plain) * (1 / few + 1 / REPEATS))


@pytest.mark.parametrize("samples", [None, 2])
def test_the_answer_that_was_taken_can_be_drawn_again(samples: Any) -> None:
    """The record's seed gives the draws of the belief that the evidence rests on."""
    actions: Any = {"a": [1.0, 0.0], "b": [0.0, 1.0]}
    bandit = oc.Bandit(actions, LINEAR, Repeated(oc.Thompson(), 5), samples, seed=2)
    other = oc.Bandit(actions, LINEAR, oc.Greedy(), samples, seed=9)
    repetitions = set()
    for t in range(20):
        belief: Belief = oc.Gaussian([0.1 * t, 1.0], 0.4)
        decision = bandit.decide(belief)
        assert decision.probability in (0.2, 0.4, 0.6, 0.8, 1.0)
        repetitions.add(int(decision.seed[48:], 16))
        other.adopt(decision)
        for each in (bandit, other):
            each.learn(decision, float(t % 3))
    assert len(repetitions) > 2
    np.testing.assert_array_equal(bandit.estimate([1.0, 1.0]).mean, other.estimate([1.0, 1.0]).mean)


def test_what_is_refused() -> None:
    with refused(TypeError, "Repeated", "policy must be a policy"):
        Repeated("Thompson", 3)  # type: ignore[arg-type]
    with refused(ValueError, "Repeated", "must not be mixed"):
        Repeated(oc.Mixed(oc.UCB(), 0.1), 3)
    with refused(ValueError, "Repeated", "n must be >= 2"):
        Repeated(oc.Thompson(), 1)


def test_open_decisions_count_as_for_the_policy_inside() -> None:
    """Three answers of a policy without randomness, from exact expectations, are three times the same."""
    actions: Any = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.5, 0.5]}
    plain, repeated = (
        oc.Bandit(actions, oc.LinearModel(Bilinear()), policy) for policy in (oc.UCB(), Repeated(oc.UCB(), 3))
    )
    for t in range(12):
        one, two = plain.decide([1.0, 1.0]), repeated.decide([1.0, 1.0])
        assert (one.index, one.score, two.probability) == (two.index, two.score, 1.0)
        if t % 3 == 0:
            plain.learn(one, float(t))
            repeated.learn(two, float(t))
    assert not Repeated(oc.UCB(), 3).random
    assert Repeated(oc.Thompson(), 3).random


def test_the_width_of_the_paper_is_that_of_the_policy_inside() -> None:
    assert Repeated(oc.UCB(oc.confidence.Expected()), 3).confidence == oc.confidence.Expected()
    assert Repeated(oc.Thompson(), 3).confidence is None
