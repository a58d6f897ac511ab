from __future__ import annotations

import overcast as oc
from memory_support import unchanged
from overcast.bandit.explain import explain_decision
from overcast.features import Disjoint
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
