from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import overcast as oc
from memory_support import unchanged
from overcast.bandit.decide import propose, record_decision
from overcast.features import Disjoint


def _bandit(**options: Any) -> oc.Bandit:
    return oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0), **options)


def test_deciding_changes_nothing_and_is_what_the_bandit_does() -> None:
    bandit = _bandit(history=5)
    bandit.learn(bandit.decide([1.0, 2.0]), 3.0)
    belief = oc.Gaussian([1.0, 2.0], sd=1.0)
    with unchanged(bandit):
        made = propose(bandit.state, belief, None, "one", bandit.state.stream)
    decision = bandit.decide(belief, id="one")
    assert made.decision.to_json() | {"time": 0} == decision.to_json() | {"time": 0}
    assert made.waiting.action == decision.index
    assert made.waiting.round == decision.round == 2
    assert made.given is made.belief is belief


def test_a_decision_counts_in_the_climatology_and_the_history() -> None:
    bandit = _bandit(history=5)
    state = bandit.state
    made = propose(state, oc.Gaussian([1.0, 2.0], sd=1.0), None, "one", state.stream)
    assert (state.learner, state.dim) == (None, None)
    record_decision(state, made)
    usual = state.climatology.snapshot().statistics()
    assert usual is not None
    np.testing.assert_array_equal(usual.mean, [1.0, 2.0])
    assert state.journal is not None
    assert list(state.journal.entries) == ["one"]
    assert state.dim == 2
    assert not state.pending.open


def test_the_first_decision_begins_and_later_ones_change_nothing() -> None:
    state, belief = _bandit().state, oc.Gaussian([1.0, 2.0], sd=1.0).named(["warm", "wet"])
    first = propose(state, belief, None, "one", state.stream)
    record_decision(state, first)
    begun = (first.learner, first.points, 2, ("warm", "wet"))
    assert (state.learner, state.points, state.dim, state.context) == begun
    assert state.reference is state.actions.candidates
    record_decision(state, propose(state, oc.PointMass([1.0, 2.0]), None, "two", state.stream))
    assert (state.learner, state.points, state.dim, state.context) == begun


def test_a_forecast_that_cannot_be_summed_up_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit, belief = _bandit(history=5), oc.Gaussian([1.0, 2.0], sd=1.0)

    def fails(*_: Any) -> None:
        raise RuntimeError("no quantiles")

    monkeypatch.setattr(oc.Gaussian, "quantile", fails)
    with unchanged(bandit), pytest.raises(RuntimeError, match="no quantiles"):
        bandit.decide(belief)
    assert bandit.state.learner is None
