from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import overcast as oc
from overcast.bandit.arguments import Observations
from overcast.bandit.forecast import check_dim, correct, in_order
from overcast.bandit.learn import observe
from overcast.features import Disjoint
from support import refused


def _bandit(**options: Any) -> oc.Bandit:
    return oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0), **options)


def test_dimensions_come_in_the_order_of_their_names() -> None:
    state = _bandit(context=["warm", "wet"]).state
    belief = oc.Gaussian([1.0, 20.0], sd=[0.1, 2.0]).named(["wet", "warm"])
    np.testing.assert_array_equal(in_order(state, belief).mean(), [20.0, 1.0])
    assert in_order(_bandit().state, belief) is belief


def test_a_correction_moves_the_belief_and_says_how() -> None:
    plain, bandit = _bandit(), _bandit(recalibrate=True)
    belief = oc.Gaussian([1.0], sd=1.0)
    assert correct(plain.state, belief) == (belief, None, None)
    for t in range(60):
        bandit.learn(bandit.decide(oc.Gaussian([float(t % 7)], sd=1.0)), 1.0, context=[t % 7 + 3.0])
    found, stated, move = correct(bandit.state, belief)
    assert found.mean()[0] == pytest.approx(4.0, abs=0.3)
    assert stated is not None
    np.testing.assert_array_equal(stated[0], [1.0])
    assert move is not None
    np.testing.assert_array_equal(belief.moved(*move).mean(), found.mean())


def test_rounds_of_others_are_read_alike() -> None:
    rounds = Observations(np.array([0]), np.ones((1, 3)), np.ones(1), None, ("x", "y", "z"))
    state = _bandit().state
    check_dim(state, rounds)
    observe(state, rounds)
    assert (state.dim, state.context) == (3, ("x", "y", "z"))
    with refused(ValueError, "Bandit", "belief must have dimension 2, got 3"):
        check_dim(_bandit(context=["warm", "wet"]).state, rounds)


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
