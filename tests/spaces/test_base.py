"""What a space without a list answers, and what needs a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array
from overcast.policies import Mixed, Repeated
from overcast.spaces import Space
from support import refused

MODEL = oc.LinearModel(oc.features.Polynomial(2))


@dataclass(frozen=True)
class Interval(Space):
    """[0, width], searched by halving steps."""

    width: float = 1.0

    @property
    def candidates(self) -> Array:
        return np.linspace(0.0, self.width, 6)[:, None]

    def refine(self, start: Array, score: Callable[[Array], Array]) -> Array:
        for step in 0.1 * self.width * 0.5 ** np.arange(6):
            near = np.clip(start + step * np.array([[0.0], [-1.0], [1.0]]), 0.0, self.width)
            start = near[score(near).argmax()]
        return start


def _bandit(policy: Any = None, **options: Any) -> oc.Bandit:
    bandit = oc.Bandit(Interval(), MODEL, policy or oc.UCB(), **options)
    actions = np.linspace(0.0, 1.0, 9)[:, None]
    bandit.observe(actions, np.zeros((9, 1)), 2.0 - 8.0 * (actions[:, 0] - 0.43) ** 2)
    return bandit


def test_the_search_goes_on_from_the_best_candidate() -> None:
    decision = _bandit(oc.Greedy()).decide([0.0])
    assert decision.index is None
    assert decision.action[0] == pytest.approx(0.43, abs=0.01)
    assert decision.probability == 1.0
    best, second = decision.top(2)
    assert best.score >= second.score
    assert second.action[0] == pytest.approx(0.4)


def test_the_estimate_of_the_action_is_that_of_its_vector() -> None:
    bandit = _bandit()
    decision = bandit.decide([0.5])
    state = bandit.state
    assert state.learner is not None
    points = state.learner.at(decision.action[None])
    mean, width = state.learner.estimate(points, MODEL.view(state.learner, oc.PointMass([0.5])))
    assert decision.mean == pytest.approx(mean[0])
    assert decision.width == pytest.approx(width[0])


def test_a_saved_bandit_decides_the_same(tmp_path: Path) -> None:
    bandit = _bandit()
    bandit.decide([0.3], id="open")
    bandit.save(tmp_path / "it.overcast")
    again = oc.Bandit.load(tmp_path / "it.overcast", actions=Interval())
    for one in (bandit, again):
        one.learn("open", 1.0, context=[0.2])
    np.testing.assert_array_equal(again.decide([0.3]).action, bandit.decide([0.3]).action)
    with refused(ValueError, "Bandit", "pass it again as actions="):
        oc.Bandit.load(tmp_path / "it.overcast")
    with refused(ValueError, "Bandit", "not those that it was saved with"):
        oc.Bandit.load(tmp_path / "it.overcast", actions=Interval(2.0))


def test_a_replayed_bandit_decides_the_same() -> None:
    given = oc.events.config(Interval(), MODEL, oc.UCB())
    bandit, log = oc.Bandit(Interval(), MODEL, oc.UCB()), [given]
    for i in range(5):
        decision = bandit.decide([0.1 * i])
        log.append(oc.events.chained(oc.events.decided(decision), after=log[-1]))
        bandit.learn(decision, float(decision.action[0]))
        log.append(oc.events.chained(oc.events.learnt(decision, float(decision.action[0])), after=log[-1]))
    again = oc.replay(given, log[1:], end=10, actions=Interval())
    np.testing.assert_array_equal(again.decide([0.7]).action, bandit.decide([0.7]).action)
    with refused(ValueError, "Bandit", "pass it again as actions="):
        oc.replay(given, log[1:], end=10)


def test_bandits_with_the_same_space_merge() -> None:
    bandit, other = _bandit(), _bandit()
    bandit.merge(other)
    assert bandit.learnt.rounds == 18
    with refused(ValueError, "Bandit", "merge needs the same actions"):
        bandit.merge(oc.Bandit(Interval(2.0), MODEL, oc.UCB()))
    with refused(TypeError, "Bandit", "merge needs a list of actions"):
        oc.Bandit([[0.0], [1.0]], MODEL, oc.UCB()).merge(_bandit())


def test_uniform_choices_are_among_candidates() -> None:
    bandit = _bandit(Mixed(oc.Greedy(), 0.5))
    taken = [bandit.propose([0.0], id=str(i)) for i in range(200)]
    values = {round(float(one.action[0]), 6) for one in taken}
    assert {0.0, 0.2, 0.4, 0.6, 0.8, 1.0} <= values  # each missing with probability (13 / 14)^200, below 1e-6
    assert len(values) == 7


@pytest.mark.parametrize(
    "ask",
    [
        lambda bandit: bandit.add_actions([[0.5]]),
        lambda bandit: bandit.retire(0),
        lambda bandit: bandit.rename(0, "a"),
        lambda bandit: bandit.decide([0.0]).explain(),
        lambda bandit: bandit.decide([0.0], available=[0]),
        lambda bandit: _bandit(history=10),
        lambda bandit: _bandit(Repeated(oc.Thompson(), 3)).decide([0.0]),
    ],
)
def test_what_needs_a_list_says_so(ask: Callable[[oc.Bandit], Any]) -> None:
    with pytest.raises(TypeError, match=r"^(Bandit|Repeated): .* list") as caught:
        ask(_bandit())
    assert "\n" not in str(caught.value)


class Plain(Space):
    """Three points, and nothing between them."""

    candidates = np.array([[0.2, 0.0], [0.5, 1.0], [1.0, 0.3]])


def test_probabilities_of_a_search_that_finds_nothing_are_those_of_a_list() -> None:
    """Frequencies of 2,000 proposals within five standard errors: a false alarm below 1e-6 for each of three."""
    model, policy = oc.LinearModel(oc.features.Bilinear(), ridge=1.0), Mixed(oc.Greedy(), 0.4)
    space, listed = oc.Bandit(Plain(), model, policy), oc.Bandit(Plain.candidates, model, policy)
    for bandit in (space, listed):
        bandit.observe([Plain.candidates[1]] if bandit is space else [1], [[1.0]], [1.0])
    n, taken = 2000, []
    for i in range(n):
        decision, twin = (bandit.propose([1.0], id=str(i)) for bandit in (space, listed))
        assert decision.probability == twin.probability
        np.testing.assert_array_equal(decision.action, twin.action)
        assert len(decision.top(9)) == 3
        taken.append(twin.index)
    shares, law = np.bincount(taken, minlength=3) / n, np.array([0.4 / 3, 0.4 / 3 + 0.6, 0.4 / 3])
    assert (np.abs(shares - law) <= 5.0 * np.sqrt(law * (1.0 - law) / n)).all()


def test_actions_are_copies() -> None:
    bandit = oc.Bandit(Plain(), MODEL, oc.UCB())
    decision = bandit.decide([1.0])
    with pytest.raises(ValueError, match="read-only"):
        decision.action[:] = 77.0
    np.testing.assert_array_equal(Plain.candidates, [[0.2, 0.0], [0.5, 1.0], [1.0, 0.3]])


def test_equal_spaces_merge_after_a_copy() -> None:
    bandit = oc.Bandit(Plain(), MODEL, oc.UCB())
    bandit.merge(oc.Bandit(Plain(), MODEL, oc.UCB()))
    assert repr(bandit.actions) == "Plain(3 candidates, 2 dimensions)"
    assert Plain() != Interval()


def test_a_merge_is_replayed() -> None:
    given, other = oc.events.config(Interval(), MODEL, oc.UCB()), _bandit()
    log = [oc.events.chained(oc.events.merged(other), after=given)]
    assert oc.replay(given, log, end=1, actions=Interval()).learnt.rounds == 9


def test_the_space_of_a_file_is_given_only_if_the_file_lacks_it(tmp_path: Path) -> None:
    oc.Bandit([[0.0], [1.0]], MODEL, oc.UCB()).save(tmp_path / "list.overcast")
    with refused(ValueError, "Bandit", "actions must be left out"):
        oc.Bandit.load(tmp_path / "list.overcast", actions=Interval())
    _bandit().save(tmp_path / "space.overcast")
    with refused(TypeError, "Bandit", "actions must be the space of the bandit"):
        oc.Bandit.load(tmp_path / "space.overcast", actions=Interval().candidates)


class Broken(Space):
    candidates: Any = np.array([[0.0], [1.0]])

    def refine(self, start: Array, score: Callable[[Array], Array]) -> Any:
        return None


@pytest.mark.parametrize("bad", [[[0.0], [1.0]], np.zeros(3), np.zeros((0, 1)), np.array([[np.nan]])])
def test_bad_candidates_are_named(bad: Any) -> None:
    class Bad(Space):
        candidates = bad

    with pytest.raises((TypeError, ValueError), match=r"^Bad: candidates must"):
        oc.Bandit(Bad(), MODEL, oc.UCB())


def test_bad_searches_and_classes_are_named() -> None:
    with pytest.raises((TypeError, ValueError), match=r"^Broken: actions of refine must"):
        oc.Bandit(Broken(), MODEL, oc.UCB()).decide([1.0])
    with refused(TypeError, "Bandit", "actions must be an instance, got the class Plain"):
        oc.Bandit(Plain, MODEL, oc.UCB())
    with refused(TypeError, "Bandit", "Exp4 needs a list of actions"):
        oc.Bandit(Plain(), oc.models.Exp4(oc.features.Bilinear(), 4), oc.policies.Proportional())
