from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from memory_support import unchanged
from overcast.bandit.decide import choice_at_mean, propose, record_decision
from overcast.beliefs import NoClosedForm
from overcast.features import Disjoint, Quadratic
from support import refused


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


@pytest.mark.parametrize("policy", [oc.UCB(1.0), oc.Thompson()], ids=repr)
@pytest.mark.parametrize("options", [{}, {"samples": 3}, {"recalibrate": True}], ids=repr)
def test_the_choice_at_the_mean_is_that_of_the_explanation(policy: Any, options: Any) -> None:
    bandit = oc.Bandit(
        {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [-1.0, 1.0]}, oc.LinearModel(Quadratic(), ridge=1.0), policy, **options
    )
    rng, differ = np.random.default_rng(0), 0
    for t in range(40):
        decision = bandit.propose(oc.Gaussian(rng.normal(size=2), 4.0), id=f"{t}")
        with unchanged(bandit):
            index = choice_at_mean(bandit.state, decision, bandit)
        bandit.adopt(decision)
        if t % 10 == 9:
            assert decision.explain().at_mean == bandit.actions.names[index]  # type: ignore[index]
        differ += index != decision.index
        if t % 4:  # some wait
            bandit.learn(decision, float(rng.normal()), rng.normal(size=2) if t % 2 else None)
    assert differ or policy.random


def test_the_choice_at_the_mean_of_a_forecast_with_names_in_another_order() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.Greedy(), context=["warm", "wet"])
    bandit.observe(["a", "b"], [[10.0, 0.0], [0.0, 10.0]], [9.0, 9.0])
    for given in ({"warm": 1.0, "wet": 9.0}, {"wet": 9.0, "warm": 1.0}):
        spread = oc.Gaussian(list(given.values()), 0.1).named(list(given))
        decision = bandit.propose(spread, id="one")
        assert (decision.index, choice_at_mean(bandit.state, decision, bandit)) == (1, 1)


def test_a_forecast_without_a_mean_has_no_choice_at_it() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0), samples=2)
    decision = bandit.propose({"warm": scipy.stats.cauchy(), "wet": scipy.stats.norm()}, id="one")
    with pytest.raises(NoClosedForm):
        choice_at_mean(bandit.state, decision, bandit)


def test_only_a_fresh_proposal_has_a_choice_at_the_mean() -> None:
    bandit = _bandit()
    decision = bandit.propose([1.0, 2.0], id="one")
    assert choice_at_mean(bandit.state, decision, bandit) == decision.index
    bandit.adopt(decision)
    with refused(ValueError, "Bandit", "decision must be one that it just proposed"):
        choice_at_mean(bandit.state, decision, bandit)
