"""The choice between scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array
from overcast.models import Progress
from overcast.policies import Outlook, Policy
from overcast.policies.base import highest
from support import outlook, refused


def test_the_highest_score_is_taken() -> None:
    scores = np.random.default_rng(0).normal(size=(50, 7))
    np.testing.assert_array_equal(highest(scores), scores.argmax(axis=-1))
    np.testing.assert_array_equal(highest(-1e6 - np.abs(scores)), np.abs(scores).argmin(axis=-1))
    assert highest(np.array([-np.inf, 3.0, -np.inf])) == 1


def test_scores_apart_by_rounding_tie_and_go_to_the_lowest_index() -> None:
    for value in (1e-200, -0.3, 0.1, 1e9):
        scores = np.array([value * (1 - 2 * np.sign(value) * np.finfo(float).eps), value])
        assert scores[0] < scores[1]
        assert highest(scores) == 0
        assert highest(np.array([value - 1e-9 * abs(value), value])) == 1
    assert highest(np.zeros(3)) == 0


@pytest.mark.parametrize("scores", [[1.0, np.inf], [1.0, np.nan, 2.0], [-np.inf, -np.inf]])
def test_a_highest_score_that_is_not_finite_is_refused(scores: list[float]) -> None:
    for shape in ((len(scores),), (1, len(scores))):
        with pytest.raises(ValueError, match=r"^Policy: the highest score must be finite, got (inf|nan|-inf); "):
            highest(np.reshape(scores, shape))


def test_equal_actions_tie_under_any_context() -> None:
    """BLAS rounds equal rows differently by their place, so a plain argmax would take the others now and then."""
    rng = np.random.default_rng(0)
    actions = np.tile(rng.normal(size=(1, 5)), (7, 1))
    bandit = oc.Bandit(actions, oc.LinearModel(oc.features.Quadratic(), ridge=1.0), oc.UCB(1.0))
    for _ in range(300):
        decision = bandit.decide(oc.Gaussian(rng.normal(size=5), 1.0))
        assert decision.index == 0
        assert decision.top(7)[0].index == 0
        assert sorted(option.index for option in decision.top(7)) == list(range(7))
        bandit.learn(decision, rng.normal())


class _Watchful(Policy):
    """Keeps what it was told of the available actions."""

    random = False

    def __init__(self) -> None:
        self.seen: list[list[int] | None] = []

    def scores(self, outlook: Outlook, progress: Progress, rng: object) -> Array:
        self.seen.append(None if outlook.available is None else np.flatnonzero(outlook.available).tolist())
        return outlook.mean


def test_policies_are_told_what_is_available() -> None:
    policy = _Watchful()
    bandit = oc.Bandit(np.eye(4), oc.LinearModel(oc.features.Bilinear(), ridge=1.0), policy)
    for available in (None, [3, 1], [False, False, True, False]):
        bandit.decide([1.0], available)
    assert policy.seen == [None, [1, 3], [2]]


def test_the_highest_of_the_available_actions() -> None:
    values = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, -1.0]])
    np.testing.assert_array_equal(outlook(values, values).highest(values), [[3.0], [5.0]])
    np.testing.assert_array_equal(outlook(values, values, available=[2]).highest(values), [[2.0], [-1.0]])


class _Noisy(oc.UCB):
    """Scores of one's own on top of a policy of the package, for one bandit."""

    def scores(self, outlook: Outlook, progress: Progress, rng: Any) -> Array:
        return np.asarray(outlook.mean + rng.normal(size=len(outlook.mean)))


class _Same(oc.UCB):
    """No scores of its own."""


def test_scores_of_ones_own_are_random_and_for_one_bandit_unless_the_class_says_otherwise() -> None:
    assert (_Noisy.random, _Noisy.lockstep) == (True, False)
    assert (_Same.random, _Same.lockstep) == (oc.UCB.random, oc.UCB.lockstep) == (False, True)
    env = oc.environments.CoinFlip()
    runs = oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), _Noisy(1.0), steps=10, trials=3)
    assert runs.choices.shape == (3, 10)


@pytest.mark.parametrize("scores", [[0.0, 1.0], np.array(["a", "b"]), np.zeros(3), None])
def test_scores_that_are_no_numbers_of_the_actions_are_refused_alike(scores: Any) -> None:
    class Odd(Policy):
        def scores(self, outlook: Outlook, progress: Progress, rng: Any) -> Array:
            return scores  # type: ignore[no-any-return]

    env = oc.environments.CoinFlip()
    model = oc.LinearModel(env.features, ridge=1.0)
    for call in (
        lambda: oc.Bandit(np.eye(2), model, Odd()).decide([1.0, 0.0]),
        lambda: oc.simulate(env, model, Odd(), steps=2, trials=2),
    ):
        with refused(ValueError, "Policy", "scores must be an array of shape (2,) of numbers"):
            call()


def test_a_probability_of_one_action_gives_way_to_a_law() -> None:
    with refused(TypeError, "Former", "write law(outlook, progress)"):

        class Former(Policy):
            def scores(self, outlook: Any, progress: Any, rng: Any) -> Any:
                return outlook.mean

            def probability(self, outlook: Any, progress: Any, index: int) -> float:
                return 0.5
