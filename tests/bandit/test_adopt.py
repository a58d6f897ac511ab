from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import overcast as oc
from memory_support import differences, unchanged
from overcast.bandit.decide import adopt
from overcast.features import Bilinear, Disjoint
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
