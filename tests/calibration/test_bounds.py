"""Outcomes with bounds as the visible part of a normal variable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from overcast.calibration.bounds import Range, ranges
from support import refused


@pytest.mark.parametrize(
    ("bounds", "values"),
    [
        (Range(), [-3.0, 0.0, 7.5]),
        (Range(low=0.0), [0.0, 0.3, 25.0]),
        (Range(low=-2.0), [-2.0, 0.0, 7.0]),
        (Range(high=10.0), [-90.0, 9.0, 10.0]),
        (Range(0.0, 1.0), [0.0, 0.4, 1.0]),
    ],
)
def test_values_within_the_bounds_come_back_in_order(bounds: Range, values: list[float]) -> None:
    inside = np.array([bounds.inward(value) for value in values])
    assert (np.diff(inside) > 0.0).all()
    np.testing.assert_allclose(bounds.outward(inside), values, atol=1e-12)
    far = bounds.outward(np.array([-1e3, 1e3]))
    assert far[0] >= bounds.low
    assert far[1] <= bounds.high
    assert ranges(bounds.pair()) == (bounds,)


def test_a_bound_is_where_the_normal_variable_stops() -> None:
    assert Range(low=3.0).limits == (0.0, np.inf)
    assert Range(high=3.0).limits == (-np.inf, 0.0)
    assert Range(1.0, 3.0).limits == (1.0, 3.0)
    assert Range(low=3.0).inward(3.0) == 0.0
    assert Range(low=3.0).inward(-9.0) == 0.0
    assert Range().free
    assert not Range(low=3.0).free


def test_spreads_follow_the_slope_of_the_root() -> None:
    """Far from the bound, d sqrt(y) = dy / (2 sqrt(y))."""
    assert Range(low=0.0).spread(100.0, 2.0) == pytest.approx(2.0 / 20.0, rel=1e-3)
    assert Range(high=0.0).spread(-100.0, 2.0) == pytest.approx(2.0 / 20.0, rel=1e-3)
    assert Range(0.0, 1.0).spread(0.5, 0.2) == 0.2


def test_one_pair_serves_all_dimensions() -> None:
    assert ranges(None) == ()
    assert ranges((0, None)) == (Range(low=0.0),)
    assert ranges([(0, None), None, (None, 1)]) == (Range(low=0.0), Range(), Range(high=1.0))


@pytest.mark.parametrize("wrong", [5, "ab", (), (1.0,), (1.0, 2.0, 3.0), [(0.0, 1.0), (1.0,)], [(0, 1), "ab"]])
def test_what_is_no_pair_is_refused(wrong: Any) -> None:
    with refused(ValueError, "Recalibrated", "bounds must be"):
        ranges(wrong)


def test_bounds_must_leave_room() -> None:
    with refused(ValueError, "Recalibrated", "bounds must be low < high, got tuple (1, 1)"):
        ranges((1, 1))
    with refused(ValueError, "Recalibrated", "bounds must be"):
        ranges((np.nan, 1))
