"""Shares of uniform choices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._random import Stream
from overcast.policies import Mixed, Policy, Repeated
from overcast.round import Question, answer, draws
from support import refused

EXAMPLES = [Mixed(oc.UCB(1.0), 0.2), Mixed(oc.Thompson(), 0.5), Mixed(Repeated(oc.Thompson(), 4), 0.1)]

N = 8_000
LINEAR = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)


def _drawn(policy: Policy, mask: Any, samples: Any = None, n: int = N) -> tuple[Any, Any]:
    """Return actions and recorded probabilities of n decisions from one state."""
    rng = np.random.default_rng(1)
    actions = rng.normal(size=(4, 2))
    learner, stream = LINEAR.start(actions, 2), Stream(3)
    points = learner.at(actions)
    for t in range(6):
        learner.learn(
            learner.evidence(points, learner.view(oc.PointMass(rng.normal(size=2))), t % 4), float(rng.normal())
        )
    belief = oc.Gaussian([0.4, -0.3], 0.5)
    found = [
        answer(Question(belief, points, t, draws(samples, t), mask), LINEAR, learner, policy, stream)
        for t in range(1, n + 1)
    ]
    return np.array([int(one.action) for one in found]), [one.probability for one in found]


@pytest.mark.parametrize("mask", [None, np.array([True, False, True, True])], ids=["all", "some"])
@pytest.mark.parametrize(
    "policy", [Mixed(oc.UCB(1.0), 0.25), Mixed(oc.EpsilonGreedy(0.3), 0.5), Mixed(oc.Greedy(), 1.0)], ids=repr
)
def test_probabilities_are_the_frequencies(policy: Mixed, mask: Any) -> None:
    """Five standard errors: a false alarm has probability below 1e-6 for each of the 21 frequencies."""
    actions, stated = _drawn(policy, mask)
    total = 0.0
    for action in np.unique(actions):
        values = {p for one, p in zip(actions, stated, strict=True) if one == action}
        assert len(values) == 1
        p = values.pop()
        assert abs(np.mean(actions == action) - p) <= 5.0 * np.sqrt(p * (1.0 - p) / N)
        assert p >= policy.share / (4 if mask is None else 3)
        total += p
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize("samples", [None, 2])
def test_repeated_answers_inside_make_it_exact(samples: Any) -> None:
    """An action's indicator divided by its recorded probability has the mean one, which evaluation from logs rests on.
    Five standard errors: a false alarm has probability below 1e-6 for each of the eight means."""
    actions, stated = _drawn(Mixed(Repeated(oc.Thompson(), 3), 0.25), None, samples, n=4_000)
    for action in range(4):
        weights = np.where(actions == action, 1.0 / np.array(stated), 0.0)
        assert abs(weights.mean() - 1.0) <= 5.0 * weights.std() / np.sqrt(len(weights))
        assert weights.max() <= 16.0


def test_what_the_policy_does_not_know_is_not_known() -> None:
    assert set(_drawn(Mixed(oc.Thompson(), 0.25), None, n=20)[1]) == {None}
    assert set(_drawn(Mixed(oc.UCB(1.0), 0.25), None, 3, n=20)[1]) == {None}


def test_decisions_follow_from_the_seed_and_their_number() -> None:
    def season(skip: int) -> list[tuple[Any, float | None]]:
        bandit = oc.Bandit(list("abcd"), oc.LinearModel(oc.features.Disjoint(4)), Mixed(oc.UCB(), 0.5), seed=7)
        made = []
        for t in range(60):
            for _ in range(skip):
                bandit.estimate([1.0])
            decision = bandit.decide([1.0])
            made.append((decision.action, decision.probability))
            bandit.learn(decision, float(t % 3))
        return made

    assert season(0) == season(2)
    chosen = [p for _, p in season(0)]
    assert {0.125, 0.625} == set(chosen)


def test_records_and_files_hold_it() -> None:
    bandit = oc.Bandit(list("abc"), oc.LinearModel(oc.features.Disjoint(3)), Mixed(oc.UCB(2.0), 0.5))
    decision = bandit.decide([1.0])
    assert oc.Decision.from_json(decision.to_json()).probability == decision.probability
    assert oc.Bandit.from_bytes(bandit.to_bytes()).policy == Mixed(oc.UCB(2.0), 0.5)
    assert "the choice was drawn" in str(decision.explain())


def test_the_rest_is_that_of_the_policy_inside() -> None:
    mixed = Mixed(oc.UCB(oc.confidence.Expected()), 0.1)
    assert (mixed.confidence, mixed.random, mixed.additive) == (oc.confidence.Expected(), False, True)
    assert mixed.drawn


def test_what_is_refused() -> None:
    for share in (0.0, 1.5, float("nan")):
        with refused(ValueError, "Mixed", "share"):
            Mixed(oc.UCB(), share)
    for inner in ("UCB", Mixed(oc.UCB(), 0.1)):
        with refused(TypeError, "Mixed", "that is not mixed"):
            Mixed(inner, 0.1)  # type: ignore[arg-type]
