"""A shadow beside a bandit, without the service around it."""

from __future__ import annotations

import math

import overcast as oc
from overcast._storage import config as encoded
from overcast.service.shadow import Comparison, Shadow

MODEL = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)


def _bandit() -> oc.Bandit:
    return oc.Bandit({"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0]}, MODEL, oc.UCB(2.0))


def test_the_estimate_is_the_formula() -> None:
    live = _bandit()
    shadow = Shadow({"policy": encoded(oc.Greedy()), "model": None}, live, 1, 0.0)
    gains = []
    for i, (reward, p) in enumerate([(1.0, 0.5), (2.0, 0.25), (0.0, 1.0), (3.0, 0.5)]):
        decision = live.propose([1.0, 0.5 * i], id=f"d{i}")
        choice = shadow.choice(oc.PointMass([1.0, 0.5 * i]), None, f"d{i}", decision.index)
        assert choice is not None
        live.adopt(decision)
        data = {"index": choice.index, "own": choice.chosen, "taken": choice.taken}
        shadow.record_decision(decision, data, p)
        live.learn(decision, reward)
        shadow.record_outcome(decision.id, oc.events.learnt(decision, reward))
        same = choice.index == decision.index
        gains.append(choice.chosen + (reward - choice.taken) / p * same - reward)
    mean = sum(gains) / 4
    error = math.sqrt(sum((gain - mean) ** 2 for gain in gains) / 3 / 4)
    assert shadow.compared.difference is not None
    assert shadow.compared.two_se is not None
    assert math.isclose(shadow.compared.difference, mean)
    assert math.isclose(shadow.compared.two_se, 2 * error)
    assert shadow.bandit.learnt == live.learnt


def test_without_outcomes_nothing_is_known() -> None:
    assert Comparison().difference is None
    assert Comparison(outcomes=1, gain=2.0).two_se is None


def test_retired_actions_and_names_are_taken_over() -> None:
    live = _bandit()
    live.decide({"warm": 1.0, "wet": 2.0})
    live.retire("b")
    shadow = Shadow({"policy": None, "model": encoded(oc.LinearModel(oc.features.Bilinear()))}, live, 1, 0.0)
    assert shadow.bandit.actions == live.actions
    assert shadow.bandit.context == ("warm", "wet")
    assert shadow.bandit.policy == live.policy
    assert shadow.bandit.learnt.rounds == 0
    again = Shadow.of({**shadow.to_data(), "open": {}, "compared": {}}, shadow.bandit)
    assert again.to_data() == shadow.to_data()


def test_sums_too_large_to_tell_give_no_error_of_it() -> None:
    assert Comparison(outcomes=3, gain=1e200, squares=1e300).two_se is None
    found = Comparison(outcomes=2, gain=2e150, squares=4e300).two_se
    assert found is not None
    assert math.isclose(found, 2e150)


def test_an_action_that_could_not_be_taken_tells_nothing() -> None:
    live = _bandit()
    shadow = Shadow({"policy": encoded(oc.Greedy()), "model": None}, live, 1, 0.0)
    decision = live.propose([1.0, 0.5], id="d")
    shadow.record_decision(
        decision, {"index": decision.index, "own": 1.0, "taken": 1.0}, 0.0
    )  # as an import may bring it
    shadow.record_outcome("d", oc.events.learnt(decision, 1.0))
    assert (shadow.compared.decisions, shadow.compared.outcomes) == (1, 0)
    assert shadow.bandit.learnt.rounds == 1
