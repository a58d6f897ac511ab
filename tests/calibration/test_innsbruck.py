"""Recalibration of a real ensemble: 11 members of temperature and rain at Innsbruck over 16 years."""

from __future__ import annotations

import numpy as np
import pytest

from overcast.calibration import Calibration, check, fit, recalibrate
from overcast.datasets.forecasts import ForecastRecord, read_innsbruck
from real_data import FOLDER, needs

pytestmark = needs("forecast_innsbruck")
RAIN, TEMP = 0, 1


@pytest.fixture(scope="module")
def record() -> ForecastRecord:
    return read_innsbruck(FOLDER)


@pytest.fixture(scope="module")
def raw(record: ForecastRecord) -> Calibration:
    return check(record.beliefs, record.outcomes, record.names)


@pytest.fixture(scope="module")
def after(record: ForecastRecord) -> Calibration:
    """The second half of the record, each forecast corrected by what was known by then."""
    half = len(record.outcomes) // 2
    with pytest.warns(UserWarning, match=r"below zero, where nothing ever was; write .*bounds=\[\(0, None\), None\]"):
        fixed = recalibrate(record.beliefs, record.outcomes)
    return check(fixed[half:], record.outcomes[half:], record.names)


def test_raw_temperatures_are_far_off(raw: Calibration) -> None:
    assert raw.outside is not None
    assert raw.outside[TEMP] > 0.99
    assert raw.bias[TEMP] == pytest.approx(8.9, abs=0.05)
    assert raw.coverage(0.8)[TEMP] < 0.02
    assert "temp: your forecasts are too low by 8.9 and over-confident by a factor " in raw.verdict
    assert "99 % of outcomes fall outside the ensemble, 17 % expected" in raw.verdict


def test_recalibrated_temperatures_are_covered_as_stated(after: Calibration) -> None:
    assert 0.75 <= after.coverage(0.8)[TEMP] <= 0.85
    assert 0.45 <= after.coverage(0.5)[TEMP] <= 0.6
    assert abs(after.bias[TEMP]) < 0.5


def test_rain_needs_its_bounds(record: ForecastRecord, after: Calibration) -> None:
    """Without them members below zero are forecast; with them the score is lower by a twentieth at least."""
    pytest.importorskip("scoringrules")
    assert after.p_values[RAIN] < 0.01
    half = len(record.outcomes) // 2
    fixed = recalibrate(record.beliefs, record.outcomes, bounds=[(0.0, None), (None, None)])
    bounded = check(fixed[half:], record.outcomes[half:], record.names)
    assert 0.75 <= bounded.coverage(0.8)[RAIN] <= 0.87
    assert bounded.crps[RAIN] < 0.95 * after.crps[RAIN]
    assert bounded.crps[TEMP] == pytest.approx(after.crps[TEMP])
    assert min(float(belief.quantile(1e-9)[RAIN]) for belief in fixed[1:]) == 0.0


def test_scores_improve(record: ForecastRecord, after: Calibration) -> None:
    pytest.importorskip("scoringrules")
    half = len(record.outcomes) // 2
    before = check(record.beliefs[half:], record.outcomes[half:], record.names)
    gain = after.crps / before.crps
    assert gain[TEMP] < 0.25
    assert gain[RAIN] < 0.9
    assert after.energy < 0.4 * before.energy


def test_doubting_the_spread_earns_its_place(record: ForecastRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    """With spreads taken at their word and stretched by a factor alone, the score is a tenth higher at least."""
    pytest.importorskip("scoringrules")
    half = len(record.outcomes) // 2

    def score() -> float:
        fixed = recalibrate(record.beliefs, record.outcomes, memory=500, bounds=[(0.0, None), None])
        return float(check(fixed[half:], record.outcomes[half:]).crps[TEMP])

    doubting = score()
    monkeypatch.setattr(fit, "TRUST", np.ones(1))
    monkeypatch.setattr(fit, "PRIOR_TRUST", np.ones(1))
    assert score() > 1.1 * doubting


def test_the_slope_earns_its_place(after: Calibration) -> None:
    """Errors are a fifth smaller than those of forecasts that only have the best constant added in hindsight."""
    half = len(after)
    record = read_innsbruck(FOLDER)
    errors = (record.outcomes - np.array([belief.mean() for belief in record.beliefs]))[-half:, TEMP]
    ours = after.outcomes[:, TEMP] - after.stated[:, 0, TEMP]
    assert np.sqrt(np.mean(ours**2)) < 0.85 * errors.std()
