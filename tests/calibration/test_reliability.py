"""Probabilities of an event against how often it happened."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression  # type: ignore[import-untyped]

from overcast.calibration.reliability import Reliability, reliability


def made(bold: float = 1.0, n: int = 600, seed: int = 0) -> Reliability:
    """Return probabilities in tenths that are too bold by a factor in log odds."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 10, n) / 10
    odds = bold * np.log(truth / (1 - truth))
    return reliability("rain", (1 / (1 + np.exp(-odds))).round(12), rng.random(n) < truth)


@pytest.mark.parametrize("bold", [0.3, 1.0, 3.0])
def test_the_parts_add_up_and_are_never_negative(bold: float) -> None:
    found = made(bold)
    assert found.brier == pytest.approx(found.miscalibration - found.discrimination + found.uncertainty, abs=1e-12)
    assert min(found.miscalibration, found.discrimination, found.uncertainty) >= -1e-12
    assert found.skill == pytest.approx((found.discrimination - found.miscalibration) / found.uncertainty)


def test_frequencies_are_those_of_isotonic_regression() -> None:
    """By scikit-learn, one row per forecast."""
    found = made()
    other = IsotonicRegression().fit(found.probabilities, found.happened.astype(float))
    np.testing.assert_allclose(found.frequencies, other.predict(found.values), atol=1e-9)
    assert found.counts.sum() == 600


def test_with_rising_frequencies_it_is_murphys_decomposition() -> None:
    """Reliability and resolution in bins, one bin per value (Murphy 1973)."""
    found = made(n=20_000)
    rates = np.array([found.happened[found.probabilities == p].mean() for p in found.values])
    assert (np.diff(rates) > 0).all()
    share, base = found.counts / 20_000, found.happened.mean()
    assert found.miscalibration == pytest.approx(share @ (found.values - rates) ** 2)
    assert found.discrimination == pytest.approx(share @ (rates - base) ** 2)


def test_right_forecasts_lie_within_the_band_and_bold_ones_do_not() -> None:
    """Nine frequencies each lie within their 90 % bands: all but three do with probability 0.99."""
    right, bold = made(), made(3.0)

    def inside(found: Reliability) -> int:
        return int(((found.frequencies >= found.low - 1e-12) & (found.frequencies <= found.high + 1e-12)).sum())

    assert inside(right) >= 6
    assert inside(bold) <= 5
    assert bold.miscalibration > 5 * right.miscalibration


def test_limits() -> None:
    sure = reliability("rain", np.array([0.0, 1.0, 1.0]), np.array([False, True, True]))
    assert (sure.brier, sure.miscalibration, sure.skill) == (0.0, 0.0, 1.0)
    never = reliability("rain", np.array([0.1, 0.2]), np.array([False, False]))
    assert never.uncertainty == 0.0
    assert np.isnan(never.skill)
    assert never.discrimination == 0.0
