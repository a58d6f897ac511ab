from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

import examples
import overcast as oc
from memory_support import differences, unchanged
from overcast.bandit.decide import adopt
from overcast.beliefs import NoClosedForm
from overcast.features import Bilinear, Disjoint
from overcast.models import Exp4, Model
from support import refused

MODELS = [
    oc.LinearModel(Bilinear(), ridge=1.0),
    oc.LinearModel(Bilinear()),
    oc.KernelModel(oc.kernels.Product(oc.kernels.RBF(1.0), oc.kernels.RBF(1.0)), ridge=1.0),
    oc.KernelModel(),
]


@pytest.mark.parametrize("options", [{}, {"samples": 3}, {"recalibrate": True, "history": 4}], ids=repr)
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_records_adopted_in_order_leave_what_deciding_left(model: Any, options: Any) -> None:
    """Also for decisions that wait while others are made."""
    decides, adopts = (oc.Bandit([[1.0, 0.5], [0.2, -1.0]], model, oc.UCB(), **options) for _ in range(2))
    rng, waiting = np.random.default_rng(0), []
    for t in range(12):
        decision = decides.decide(oc.Gaussian(rng.normal(size=2), 0.3), id=f"{t}")
        adopts.adopt(oc.Decision.from_json(json.loads(json.dumps(decision.to_json()))))
        waiting.append(decision.id)
        if t % 3 == 2:
            ticket, reward = waiting.pop(0), float(rng.normal())
            context = rng.normal(size=2) if t % 2 else None
            for bandit in (decides, adopts):
                bandit.learn(ticket, reward, context)
    assert differences(decides, adopts) == []


def test_what_is_no_decision_of_such_a_bandit_is_refused() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2)), oc.UCB())
    decision = bandit.decide([1.0, 2.0])
    other = oc.Bandit(["x", "y"], oc.LinearModel(Disjoint(2)), oc.UCB()).decide([1.0, 2.0])
    wide = oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2)), oc.UCB()).decide([1.0, 2.0, 3.0])
    with unchanged(bandit):
        for wrong, kind, words in (
            ("monday", TypeError, "decision must be a Decision, got str 'monday'"),
            (decision, ValueError, "must not be open already"),
            (other, ValueError, "decision must hold one of the actions' names"),
            (wide, ValueError, "must have dimension 2, got 3"),
        ):
            with refused(kind, "Bandit", words):
                adopt(bandit.state, wrong)


def test_actions_without_names_are_known_by_index_and_vector() -> None:
    """A vector from before actions had more entries counts as the same."""
    bandit = oc.Bandit(np.eye(2), oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0))
    decision = bandit.propose([1.0, 2.0], id="one")
    other = oc.Bandit(np.eye(2)[::-1], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0)).decide([1.0, 2.0])
    with refused(ValueError, "Bandit", "must be about one of the bandit's own actions", "for index 0"):
        adopt(bandit.state, other)
    bandit.add_actions([[0.0, 0.0, 1.0]])
    with unchanged(bandit):
        made = adopt(bandit.state, decision)
    assert made.waiting.action == decision.index


def _from_record(decision: oc.Decision) -> oc.Decision:
    return oc.Decision.from_json(json.loads(json.dumps(decision.to_json())))


@pytest.mark.parametrize("options", [{}, {"samples": 3}, {"samples": "t", "recalibrate": True}], ids=repr)
@pytest.mark.parametrize(("model", "actions"), examples.examples("models"), ids=examples.label)
def test_a_bandit_adopts_its_own_proposal_as_it_adopts_its_record(model: Model, actions: Any, options: Any) -> None:
    """To the last bit, for every model; some are adopted in another order, some not, some after a reward."""
    try:
        model.view(model.start(np.array(actions, dtype=float), 2), oc.Gaussian([1.0, 2.0], 0.1))
    except NoClosedForm:
        options = {"samples": 3} | options
    policy = oc.Proportional() if isinstance(model, Exp4) else oc.UCB(1.0)
    mine, other = (oc.Bandit(actions, model, policy, history=9, **options) for _ in range(2))
    rng, used = np.random.default_rng(3), 0
    waiting: list[str] = []
    for t in range(16):
        beliefs = [oc.Gaussian(rng.normal(size=2), [0.3, 0.2]), oc.Ensemble(rng.normal(size=(4, 2)))]
        proposals = [mine.propose(belief, id=f"{t} {i}") for i, belief in enumerate(beliefs)]
        adopted = proposals[: 1 + t % 2][::-1]
        if t % 5 == 4:  # the bandit learns before it adopts
            ticket, reward = waiting.pop(0), float(rng.normal())
            for bandit in (mine, other):
                bandit.learn(ticket, reward)
        for decision in adopted:
            used += decision.basis_of(mine) is not None
            mine.adopt(decision)
            other.adopt(_from_record(decision))
            waiting.append(decision.id)
        ticket, reward, context = waiting.pop(0), float(rng.normal()), rng.normal(size=2) if t % 3 else None
        for bandit in (mine, other):
            bandit.learn(ticket, reward, context)
    assert used == 20  # of 24: four came before a reward
    assert differences(mine, other) == []


def test_a_proposal_that_is_adopted_unchanged_is_not_viewed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0))
    bandit.learn(bandit.decide([1.0, 2.0]), 3.0)
    decision = bandit.propose([1.0, 2.0], id="one")
    assert bandit.state.learner is not None
    monkeypatch.setattr(bandit.state.learner, "view", None)
    bandit.adopt(decision)
    assert bandit.state.pending.open["one"].round == 2
    assert decision.basis_of(bandit) is None  # it is not needed any more
    assert decision.forecasts_before(bandit) is not None


def test_no_copy_and_no_other_bandit_has_the_basis_of_a_proposal() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0))
    bandit.learn(bandit.decide([1.0, 2.0]), 3.0)
    decision = bandit.propose([1.0, 2.0], id="one")
    assert decision.basis_of(bandit) is not None
    assert decision.basis_of(copy.copy(bandit)) is None
    for again in (copy.copy(decision), copy.deepcopy(decision), pickle.loads(pickle.dumps(decision))):
        assert again.basis_of(bandit) is None
    assert _from_record(decision).basis_of(bandit) is None
    bandit.observe("a", [1.0, 2.0], 1.0)
    assert decision.basis_of(bandit) is None


def test_dimensions_that_got_names_since_a_proposal_are_put_in_order() -> None:
    mine, other = (oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0)) for _ in range(2))
    for bandit in (mine, other):
        bandit.learn(bandit.decide([1.0, 2.0], id="zero"), 3.0)
    first = mine.propose({"warm": 1.0, "wet": 5.0}, id="one")
    second = mine.propose({"wet": 2.0, "warm": 7.0}, id="two")
    for decision in (first, second):
        mine.adopt(decision)
        other.adopt(_from_record(decision))
    assert mine.context == ("warm", "wet")
    for bandit in (mine, other):
        bandit.learn("two", 1.0)
    assert differences(mine, other) == []
