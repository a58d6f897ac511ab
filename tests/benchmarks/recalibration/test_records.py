"""Records to judge recalibration by."""

from __future__ import annotations

import numpy as np
import pytest

from real_data import FOLDER, needs
from recalibration.records import DAYS, KINDS, MEMBERS, RAIN, generated, innsbruck


@pytest.mark.parametrize("kind", KINDS)
def test_generated_records_follow_from_their_seed(kind: str) -> None:
    one, again, other = generated(kind, 5), generated(kind, 5), generated(kind, 6)
    assert one.members.shape == (DAYS, MEMBERS)
    np.testing.assert_array_equal(one.outcomes, again.outcomes)
    np.testing.assert_array_equal(one.members, again.members)
    assert not np.array_equal(one.outcomes, other.outcomes)
    assert (one.bounds == RAIN) == ("rain" in kind)
    assert one.bounds != RAIN or one.outcomes.min() == 0.0


def test_faults_are_there() -> None:
    """A season's bias differs between quarters, and a changed model's before and after."""
    record = generated("seasonal bias", 0)
    errors = record.outcomes - record.members.mean(axis=1)
    quarters = [errors[start : start + 90].mean() for start in range(0, 1440, 90)]
    assert max(quarters) - min(quarters) > 1.0
    changed = generated("changed model", 0)
    errors = changed.outcomes - changed.members.mean(axis=1)
    months = [errors[start : start + 60].mean() for start in range(0, 1440, 60)]
    assert max(months) - min(months) > 1.5


@needs("forecast_innsbruck")
def test_innsbruck() -> None:
    temperature, rain, three = innsbruck(FOLDER / "forecast_innsbruck")
    assert (len(temperature), len(rain), len(three)) == (2749, 2749, 4971)
    assert (np.diff(temperature.days) > 0).all()
    assert rain.bounds == three.bounds == RAIN
