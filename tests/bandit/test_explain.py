from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from memory_support import unchanged
from overcast.bandit.explain import choice_at_mean, explain_decision
from overcast.beliefs import NoClosedForm
from overcast.features import Disjoint, Quadratic
from support import refused


def _bandit() -> oc.Bandit:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0))
    for reward in (1.0, 2.0, 0.5):
        bandit.learn(bandit.decide(oc.Gaussian([reward, 1.0], 0.1)), reward)
    return bandit


def test_a_mark_means_the_decision_as_it_was_made() -> None:
    bandit = _bandit()
    decision = bandit.decide(oc.Gaussian([1.0, 3.0], 0.1))
    with unchanged(bandit):
        as_made = explain_decision(bandit.state, decision, decision.forecasts_before(bandit))
        now = explain_decision(bandit.state, decision, None)
    assert as_made.present is None
    assert now.present == decision.action
    assert str(as_made) == str(decision.explain())


def test_the_order_of_actions_must_be_the_same() -> None:
    bandit = _bandit()
    other = oc.Bandit(["b", "a"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0))
    decision = other.decide([1.0, 2.0])
    with refused(ValueError, "Bandit", "decision must have index 1 for str 'b', got others"):
        explain_decision(bandit.state, decision, None)


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
            index = choice_at_mean(bandit.state, decision)
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
        assert (decision.index, choice_at_mean(bandit.state, decision)) == (1, 1)


def test_a_forecast_without_a_mean_has_no_choice_at_it() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0), samples=2)
    decision = bandit.propose({"warm": scipy.stats.cauchy(), "wet": scipy.stats.norm()}, id="one")
    with pytest.raises(NoClosedForm):
        choice_at_mean(bandit.state, decision)
