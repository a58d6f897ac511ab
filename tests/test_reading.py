from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import overcast as oc
from overcast.features import Disjoint
from overcast.observations import Observations
from overcast.reading import begun, check_dim, corrected, in_order, learner_for
from support import refused


def _bandit(**options: Any) -> oc.Bandit:
    return oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0), **options)


def test_dimensions_come_in_the_order_of_their_names() -> None:
    memory = _bandit(context=["warm", "wet"]).memory
    belief = oc.Gaussian([1.0, 20.0], sd=[0.1, 2.0]).named(["wet", "warm"])
    np.testing.assert_array_equal(in_order(memory, belief).mean(), [20.0, 1.0])
    assert in_order(_bandit().memory, belief) is belief


def test_a_correction_moves_the_belief_and_says_how() -> None:
    plain, bandit = _bandit(), _bandit(recalibrate=True)
    belief = oc.Gaussian([1.0], sd=1.0)
    assert corrected(plain.memory, belief) == (belief, None, None)
    for t in range(60):
        bandit.learn(bandit.decide(oc.Gaussian([float(t % 7)], sd=1.0)), 1.0, context=[t % 7 + 3.0])
    found = corrected(bandit.memory, belief)
    assert found.belief.mean()[0] == pytest.approx(4.0, abs=0.3)
    assert found.stated is not None
    np.testing.assert_array_equal(found.stated[0], [1.0])
    assert found.move is not None
    np.testing.assert_array_equal(belief.moved(*found.move).mean(), found.belief.mean())


def test_the_first_decision_begins_and_later_ones_change_nothing() -> None:
    bandit = _bandit()
    memory, belief = bandit.memory, oc.Gaussian([1.0, 2.0], sd=1.0).named(["warm", "wet"])
    learner = learner_for(memory, belief)
    assert memory.learner is None
    out = begun(memory, learner, belief)
    assert (out.learner, out.dim, out.context) == (learner, 2, ("warm", "wet"))
    assert out.reference is memory.actions.vectors
    assert begun(out, learner, oc.PointMass([1.0, 2.0])) is out
    assert learner_for(out, belief) is learner


def test_rounds_of_others_are_read_alike() -> None:
    rounds = Observations(np.array([0]), np.ones((1, 3)), np.ones(1), None, ("x", "y", "z"))
    memory = _bandit().memory
    out = begun(memory, learner_for(memory, rounds), rounds)
    assert (out.dim, out.context) == (3, ("x", "y", "z"))
    with refused(ValueError, "Bandit", "belief must have dimension 2, got 3"):
        check_dim(_bandit(context=["warm", "wet"]).memory, rounds)


@pytest.mark.parametrize("context", [["warm", "wet"], None])
def test_a_forecast_of_one_quantity_for_a_bandit_of_two_says_how_to_join(context: Any) -> None:
    bandit, row = _bandit(context=context), pd.DataFrame({"q0.1": [1.0], "q0.5": [2.0], "q0.9": [4.0]})
    joined: Any = {"warm": 3.0, "wet": row} if context else oc.Independent([oc.PointMass([3.0]), oc.as_belief(row)])
    decision = bandit.decide(joined)
    write = "{'warm': ..., 'wet': ...}" if context else "oc.Independent"
    with refused(ValueError, "Bandit", "belief must have dimension 2, got 1; give one forecast for each", write):
        bandit.decide(row)
    with refused(ValueError, "Bandit", "context must have dimension 2, got 1; give one forecast for each", write):
        bandit.learn(decision, 1.0, context=row)
    bandit.learn(decision, 1.0, context=joined)
