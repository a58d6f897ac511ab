"""Forgetting: what it wins in a world that turns, and what it costs in one that stands still."""

from __future__ import annotations

import math

import pytest

import overcast as oc
from overcast._check import Array

STEPS, TRIALS = 400, 12


def _regret(speed: float, discount: float | None = None, window: int | None = None) -> Array:
    env = oc.environments.Drifting(speed=speed)
    model = oc.LinearModel(env.features, discount=discount, window=window)
    return oc.simulate(env, model, oc.UCB(), steps=STEPS, trials=TRIALS, seed=5).regret[:, -1]


@pytest.fixture(scope="module")
def remembering() -> dict[float, Array]:
    return {speed: _regret(speed) for speed in (0.0, 0.005)}


each = pytest.mark.parametrize(("discount", "window"), [(0.99, None), (None, 200)])


@each
def test_forgetting_wins_where_theta_turns(
    remembering: dict[float, Array], discount: float | None, window: int | None
) -> None:
    """Paired trials; less than two thirds of the regret, and six standard errors of the gap."""
    forgetting = _regret(0.005, discount, window)
    gap = remembering[0.005] - forgetting
    assert forgetting.mean() < remembering[0.005].mean() * 2 / 3
    assert gap.mean() > 6 * gap.std(ddof=1) / math.sqrt(TRIALS)


@each
def test_forgetting_costs_little_where_nothing_moves(
    remembering: dict[float, Array], discount: float | None, window: int | None
) -> None:
    """Less than a quarter of what it wins elsewhere, by four standard errors: t with 11 degrees of freedom, 0.001."""
    cost = _regret(0.0, discount, window) - remembering[0.0]
    won = remembering[0.005] - _regret(0.005, discount, window)
    spare = won / 4 - cost
    assert spare.mean() > 4 * spare.std(ddof=1) / math.sqrt(TRIALS)


def test_a_window_beyond_the_last_round_and_a_discount_of_one_forget_nothing(remembering: dict[float, Array]) -> None:
    """Solved anew in every round instead of updated, so the same up to rounding, which may break a tie some day."""
    for regret in (_regret(0.0, window=STEPS), _regret(0.0, discount=1.0)):
        assert regret == pytest.approx(remembering[0.0], rel=1e-9)
