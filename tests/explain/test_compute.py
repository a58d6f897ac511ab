"""The search for the least move of a forecast that changes the choice."""

from __future__ import annotations

import pytest

from overcast.explain.compute import _find_least_move


@pytest.mark.parametrize(("edge", "reach"), [(3.0, 10.0), (0.0123, 10.0), (-7.5, 10.0), (1e-5, 1.0)])
def test_the_search_finds_where_the_choice_changes(edge: float, reach: float) -> None:
    move = _find_least_move(lambda move: move / edge >= 1.0, reach)
    assert move == pytest.approx(edge, rel=1e-5)
    assert _find_least_move(lambda move: False, reach) is None


def test_the_search_takes_the_nearer_side_and_no_island() -> None:
    assert _find_least_move(lambda move: move >= 1.0 or move <= -0.9, 10.0) == pytest.approx(-0.9, rel=1e-5)
    move = _find_least_move(lambda move: 1.0 <= move <= 1.05 or move >= 1.1, 40.0)  # 0.99 of the move must not do
    assert move is not None
    assert not 1.0 <= 0.99 * move <= 1.05
