"""The state of a bandit, and how it takes over other actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import overcast as oc
from memory_support import unchanged
from overcast._units import Units
from overcast.bandit.state import padded, started
from overcast.features import Bilinear, Disjoint
from overcast.spaces.actions import listed


def _bandit() -> oc.Bandit:
    bandit = oc.Bandit({"a": [1.0, 0.0], "b": [0.0, 1.0]}, oc.LinearModel(Bilinear()), oc.UCB())
    for reward in (1.0, 2.0, 4.0):
        bandit.learn(bandit.decide(oc.Gaussian([1.0, reward], 0.1)), reward)
    return bandit


def test_a_copy_learns_by_itself() -> None:
    bandit = _bandit()
    other, before = bandit.state.copy(), bandit.estimate([1.0, 1.0])
    assert other.learner is not None
    view = other.learner.view(oc.PointMass([1.0, 1.0]))
    other.learner.learn(other.learner.evidence(other.points, view, 0), 9.0)
    other.pending.made += 1
    np.testing.assert_array_equal(bandit.estimate([1.0, 1.0]).mean, before.mean)
    assert bandit.state.pending.made == 3


def test_a_learner_that_cannot_take_other_actions_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = _bandit()

    def fails(learner: Any, reference: Any) -> None:
        learner.fit.theta[:] = 7.0  # a change that is not undone
        raise RuntimeError("no room")

    monkeypatch.setattr(type(bandit.state.learner), "extend", fails)
    more, of = listed("add_actions", bandit.actions).added({"c": [2.0, 2.0]})
    with unchanged(bandit), pytest.raises(RuntimeError, match="no room"):
        bandit.state.change_actions(more, of)


def test_every_change_has_a_revision_of_its_own() -> None:
    bandit, seen = _bandit(), []
    changes: list[Callable[[], object]] = [
        lambda: bandit.observe("a", [1.0, 2.0], 3.0),
        lambda: bandit.add_actions({"c": [1.0, 1.0]}),
        lambda: bandit.rename("c", "d"),
        lambda: bandit.retire("d"),
        lambda: bandit.forget(bandit.decide([1.0, 2.0])),
        lambda: bandit.merge(_bandit_like(bandit)),
        lambda: setattr(bandit, "policy", oc.Greedy()),
    ]
    for change in changes:
        change()
        seen.append(bandit.state.revision)
    assert sorted(set(seen)) == seen


def _bandit_like(bandit: oc.Bandit) -> oc.Bandit:
    return oc.Bandit.from_bytes(bandit.to_bytes())


def test_vectors_get_zeros_for_entries_that_they_lack() -> None:
    np.testing.assert_array_equal(padded(np.array([[1.0, 2.0]]), 3), [[1.0, 2.0, 0.0]])
    units = padded(Units(np.array([1, 0]), 2), 3)
    np.testing.assert_array_equal(np.asarray(units), [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])


def test_a_learner_starts_with_its_reference_set() -> None:
    model, bandit = oc.LinearModel(Disjoint(3)), oc.Bandit(["a", "b", "c"], oc.LinearModel(Disjoint(3)), oc.UCB())
    learner = started(model, Units(np.array([0]), 3), bandit.actions, 2)
    points = learner.at(bandit.actions.candidates)
    assert learner.estimate(points, learner.view(oc.PointMass([1.0, 2.0]))).mean.shape == (3,)
