"""The record of one dimension."""

from __future__ import annotations

import numpy as np

from overcast._check import Array
from overcast.calibration.bank import UNBOUNDED
from overcast.calibration.fit import Correction, fit
from overcast.calibration.track import START, LearntTrack, Track


def rows_of(days: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    means = rng.normal(10.0, 5.0, days)
    return np.stack([means, np.ones(days), rng.normal(means + 3.0, 2.0)], axis=1)


def learnt(rows: Array) -> LearntTrack:
    out = LearntTrack()
    for row in rows.tolist():
        out = out.after(row, UNBOUNDED)
    return out


def test_the_first_outcomes_are_fitted_together() -> None:
    rows = rows_of(START - 1)
    found, correction = learnt(rows), fit(*rows.T)
    assert found.bank is None
    assert found.predicted(12.0, 1.0) == (correction.mean(12.0), correction.deviation(1.0))
    assert found.size == START - 1


def test_then_experts_take_over_and_rows_are_dropped() -> None:
    found = learnt(rows_of(START + 30))
    assert found.bank is not None
    assert len(found.rows) == 0
    assert found.size == START + 30
    assert found.predicted(12.0, 1.0) == (found.bank.mean(12.0), found.bank.deviation(1.0))


def test_constants_stay_as_they_are_until_they_err() -> None:
    sure = np.tile([1.0, 0.0, 1.0], (60, 1))
    found = learnt(sure)
    assert found.predicted(1.0, 0.0) is None
    assert found.correction == Correction()
    assert len(found.rows) == START
    wrong = learnt(np.concatenate([sure, [[1.0, 0.0, 2.0]] * 3]))
    assert wrong.predicted(1.0, 0.0) is not None


def test_joined_records_hold_the_outcomes_of_both() -> None:
    few, many = learnt(rows_of(5)), learnt(rows_of(50, seed=1))
    for one, other in ((few, few), (few, many), (many, few), (many, many), (few, LearntTrack()), (LearntTrack(), many)):
        both = one.joined(other, UNBOUNDED)
        assert both.size == one.size + other.size
    assert LearntTrack().joined(LearntTrack(), UNBOUNDED).size == 0
    half = learnt(rows_of(15))
    assert half.joined(half, UNBOUNDED).bank is not None


def test_a_window_keeps_the_latest_rows() -> None:
    rows, found = rows_of(30), Track()
    for row in rows.tolist():
        found = found.after(row, 10)
    np.testing.assert_array_equal(found.rows, rows[-10:])
    assert found.predicted(12.0, 1.0) == (found.correction.mean(12.0), found.correction.deviation(1.0))
    assert found.joined(found, 10).size == 10
