"""Where in its forecast an outcome fell."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from overcast.beliefs import Moved
from overcast.beliefs.base import STAND_IN_DRAWS

MEMBERS = oc.Ensemble([[1.0], [2.0], [4.0]])


def interval(belief: oc.Belief, *outcome: float) -> list[list[float]]:
    found: list[list[float]] = belief.place(np.array(outcome)).T.tolist()
    return found


@pytest.mark.parametrize(
    ("belief", "outcome", "expected"),
    [
        (MEMBERS, 0.0, (0.0, 0.25)),
        (MEMBERS, 3.0, (0.5, 0.75)),
        (MEMBERS, 2.0, (0.25, 0.75)),  # a tie may stand on either side of its member
        (MEMBERS, 9.0, (0.75, 1.0)),
        (oc.Ensemble([[1.0], [2.0]], [0.5, 0.5]), 1.5, (1 / 3, 2 / 3)),
        (oc.Ensemble([[2.0]]), 1.0, (0.0, 0.0)),
        (oc.Ensemble([[2.0]]), 2.0, (0.0, 1.0)),
        (oc.Ensemble([[2.0]]), 3.0, (1.0, 1.0)),
        (oc.Ensemble([[2.0], [3.0]], [0.9, 0.1]), 2.5, (0.9, 0.9)),  # fewer than two, effectively
        (oc.PointMass([2.0]), 1.0, (0.0, 0.0)),
        (oc.PointMass([2.0]), 2.0, (0.0, 1.0)),
        (oc.PointMass([2.0]), 3.0, (1.0, 1.0)),
        (oc.Quantiles([0.1, 0.5, 0.9], [0.0, 2.0, 8.0], "none"), 1.0, (0.3, 0.3)),
        (oc.Quantiles([0.1, 0.5, 0.9], [0.0, 2.0, 8.0]), -1.0, (0.0, 0.1)),
        (oc.Quantiles([0.1, 0.5, 0.9], [0.0, 2.0, 8.0]), 9.0, (0.9, 1.0)),
        (oc.Quantiles([0.1, 0.5, 0.9], [0.0, 2.0, 8.0], "none"), 0.0, (0.0, 0.1)),
        (oc.Quantiles([0.1, 0.5, 0.9], [0.0, 0.0, 8.0]), 0.0, (0.0, 0.5)),
        (oc.Frozen(scipy.stats.binom(2, 0.5)), 1.0, (0.25, 0.75)),
    ],
)
def test_interval_by_hand(belief: oc.Belief, outcome: float, expected: tuple[float, float]) -> None:
    assert interval(belief, outcome)[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("belief", "law"),
    [
        (oc.Gaussian([1.0], 4.0), scipy.stats.norm(1.0, 2.0)),
        (oc.Frozen(scipy.stats.gamma(2.0)), scipy.stats.gamma(2.0)),
        (oc.as_belief(scipy.stats.Normal(mu=1.0, sigma=2.0)), scipy.stats.norm(1.0, 2.0)),
        (Moved(oc.Frozen(scipy.stats.gamma(2.0)), 1.0, 3.0), scipy.stats.gamma(2.0, loc=1.0, scale=3.0)),
    ],
)
def test_continuous_beliefs_give_their_distribution_function(belief: oc.Belief, law: scipy.stats.rv_continuous) -> None:
    for outcome in (-1.0, 0.5, 2.5):
        assert interval(belief, outcome)[0] == pytest.approx([law.cdf(outcome)] * 2)


def test_mixtures_average_and_parts_stand_side_by_side() -> None:
    rain = oc.Mixture([oc.PointMass([0.0]), oc.Gaussian([8.0], 4.0)], [0.75, 0.25])
    dry = scipy.stats.norm(8.0, 2.0).cdf(0.0)
    assert interval(rain, 0.0)[0] == pytest.approx([0.25 * dry, 0.75 + 0.25 * dry])
    both = oc.Independent([MEMBERS, oc.Gaussian([0.0, 0.0], [1.0, 0.0])])
    assert interval(both, 3.0, 0.0, 1.0) == [pytest.approx([0.5, 0.75]), pytest.approx([0.5, 0.5]), [1.0, 1.0]]


def test_draws_come_close_where_nothing_else_is_known() -> None:
    """A normal outcome at 0.5 falls within five standard errors of its place: false alarm below 1e-6, draws fixed."""
    sampler = oc.Sampler(lambda n, rng: rng.normal(size=(n, 1)), 1)
    low, high = interval(sampler, 0.5)[0]
    assert low == pytest.approx(scipy.stats.norm.cdf(0.5), abs=5 * np.sqrt(0.25 / STAND_IN_DRAWS))
    assert high - low == pytest.approx(1 / (STAND_IN_DRAWS + 1))
    assert interval(sampler, 0.5)[0] == [low, high]


@pytest.mark.parametrize(
    ("belief", "level", "inside", "outside"),
    [
        (MEMBERS, 0.5, 1.0, 0.5),
        (oc.Ensemble([[1.0], [2.0], [9.0]], [0.5, 0.5, 0.0]), 1 / 3, 1.5, 5.0),
        (oc.Quantiles([0.1, 0.5, 0.95], [0.0, 2.0, 8.0]), 0.8, 8.0, 8.1),
        (oc.Mixture([MEMBERS, oc.Quantiles([0.1, 0.9], [0.0, 8.0])]), 0.65, 5.0, -0.5),
        (Moved(MEMBERS, 1.0, 2.0), 0.5, 9.0, 9.1),
    ],
)
def test_reach_is_the_widest_interval_and_beyond_is_outside_it(
    belief: oc.Belief, level: float, inside: float, outside: float
) -> None:
    assert belief.reach().tolist() == pytest.approx([level])
    assert belief.beyond(np.array([inside])).tolist() == [False]
    assert belief.beyond(np.array([outside])).tolist() == [True]


def test_beliefs_that_say_all_reach_all() -> None:
    both = oc.Independent([MEMBERS, oc.Gaussian([0.0], 1.0), oc.Ensemble([[1.0]])])
    assert both.reach().tolist() == [0.5, 1.0, 1.0]
    assert both.beyond(np.array([9.0, 9.0, 1.0])).tolist() == [True, False, False]
