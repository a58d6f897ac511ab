"""The correction of one dimension."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import pytest

from overcast._check import Array
from overcast.calibration.fit import Correction, _scale, fit

Record = tuple[Array, Array, Array]
NORMAL = NormalDist()
QUANTILE = NORMAL.inv_cdf(0.9)


def record(n: int, bias: float = 0.0, slope: float = 0.0, factor: float = 1.0, seed: int = 0) -> Record:
    """Return means, spreads and outcomes with known faults."""
    rng = np.random.default_rng(seed)
    means, spreads = rng.normal(10.0, 5.0, n), rng.gamma(4.0, 0.25, n)
    return means, spreads, rng.normal(means + bias + slope * (means - 10.0), factor * spreads)


def test_known_faults_are_recovered() -> None:
    """Standard errors: bias 0.13, slope 0.03, factor 6 %; four of them."""
    found = fit(*record(500, bias=4.0, slope=-0.3, factor=3.0))
    assert found.bias == pytest.approx(4.0, abs=0.55)
    assert found.slope == pytest.approx(-0.3, abs=0.12)
    assert found.factor == pytest.approx(3.0, rel=0.24)
    assert found.trust > 0.9, "spreads that tell the error are believed"
    assert found.mean(20.0) == pytest.approx(21.0, abs=1.5)
    assert found.deviation(2.0) == pytest.approx(6.0, rel=0.24)


def test_spreads_that_tell_nothing_are_not_believed() -> None:
    rng = np.random.default_rng(1)
    means, spreads, _ = record(500)
    found = fit(means, spreads, rng.normal(means, 2.0))
    assert found.trust < 0.2
    assert found.deviation(0.5) == pytest.approx(2.0, rel=0.2)
    assert found.deviation(2.0) == pytest.approx(2.0, rel=0.3)


def test_right_forecasts_stay_nearly_as_they_are() -> None:
    found = fit(*record(500))
    assert abs(found.bias) < 0.2
    assert abs(found.slope) < 0.05
    assert found.deviation(1.0) == pytest.approx(1.0, rel=0.15)


def test_one_outcome_changes_little() -> None:
    found = fit(np.array([10.0]), np.array([1.0]), np.array([11.0]))
    assert found.mean(10.0) == pytest.approx(10.25)
    assert found.slope * found.extent == 0.0
    assert found.deviation(1.0) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("wild", [1e3, 1e6, -1e9])
def test_outliers_do_little_harm(wild: float) -> None:
    """Every twentieth outcome is wild, always on the same side; the rest has a standard deviation of 3."""
    means, spreads, outcomes = record(500, bias=2.0, factor=3.0)
    clean = fit(means, spreads, outcomes)
    outcomes = outcomes.copy()
    outcomes[::20] = wild
    found = fit(means, spreads, outcomes)
    assert abs(found.bias - clean.bias) < 0.6
    assert abs(found.slope - clean.slope) < 0.1
    assert 0.85 < found.deviation(1.0) / clean.deviation(1.0) < 1.3


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("wild", [1e3, 1e6, -1e9])
def test_a_wild_outcome_among_the_first_does_little_harm(at: int, wild: float) -> None:
    """The others are right, with a spread of 1: at most 30 spreads count, and from the third outcome on few."""
    rng = np.random.default_rng(0)
    outcomes = rng.normal(size=12)
    outcomes[at] = wild
    for n in range(1, 13):
        found = fit(np.zeros(n), np.ones(n), outcomes[:n])
        assert abs(found.mean(0.0)) < (8.0 if n <= 2 else 3.0)
        assert found.deviation(1.0) < (20.0 if n <= 2 else 5.0)


def test_large_biases_are_corrected_from_the_first_outcome_on() -> None:
    """Ten spreads too low: n of n + 3 after n outcomes."""
    for n in range(1, 9):
        found = fit(np.zeros(n), np.ones(n), np.full(n, 10.0))
        assert found.mean(0.0) == pytest.approx(10.0 * n / (n + 3))


@pytest.mark.parametrize("unit", [1e-6, 1000.0, 1e100])
def test_units_do_not_matter(unit: float) -> None:
    means, spreads, outcomes = record(80, bias=2.0, slope=0.2, factor=2.0)
    plain, scaled = fit(means, spreads, outcomes), fit(unit * means, unit * spreads, unit * outcomes)
    assert scaled.mean(unit * 12.0) == pytest.approx(unit * plain.mean(12.0))
    assert scaled.deviation(unit * 1.5) == pytest.approx(unit * plain.deviation(1.5))


def test_where_the_scale_begins_does_not_matter() -> None:
    """Kelvin instead of Celsius."""
    means, spreads, outcomes = record(80, bias=2.0, slope=0.2, factor=2.0)
    plain, moved = fit(means, spreads, outcomes), fit(means + 273.15, spreads, outcomes + 273.15)
    assert moved.mean(12.0 + 273.15) == pytest.approx(plain.mean(12.0) + 273.15)
    assert moved.deviation(1.5) == pytest.approx(plain.deviation(1.5))


def test_constants_need_no_correction() -> None:
    assert fit(np.ones(5), np.zeros(5), np.ones(5)) == Correction()


def test_forecasts_without_spread_get_that_of_the_errors() -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(10.0, 5.0, 400)
    found = fit(means, np.zeros(400), rng.normal(means + 1.0, 2.0))
    assert found.bias == pytest.approx(1.0, abs=0.4)
    assert found.deviation(0.0) == pytest.approx(2.0, rel=0.25)


def test_a_forecast_that_claims_hardly_any_error_is_not_believed() -> None:
    found = fit(*record(500, factor=2.0))
    assert found.deviation(0.0) == found.deviation(0.05 * found.usual)
    assert found.deviation(0.0) > 0.0


def test_forecasts_that_hit_twice_are_not_certain() -> None:
    found = fit(np.full(2, 3.0), np.ones(2), np.full(2, 3.0))
    assert 0.5 < found.deviation(1.0) < 1.0
    assert found.bias == 0.0


def test_the_slope_does_not_go_beyond_the_forecasts_seen() -> None:
    found = fit(*record(100, slope=-0.5))
    far = found.centre + 2 * found.extent
    assert found.mean(far) - far == pytest.approx(found.mean(found.centre + found.extent) - found.centre - found.extent)


def test_weighted_regression_by_another_route() -> None:
    """At its fixed point the fit solves Huber's weighted ridge regression, here with the matrix written out."""
    means, spreads, outcomes = record(60, bias=1.0, slope=0.3, factor=2.0)
    found = fit(means, spreads, outcomes)
    x = (means - means.mean()) / means.std()
    e = outcomes - means
    usual = np.sqrt(np.mean(spreads**2))
    u = np.sqrt((1 - found.trust) * usual**2 + found.trust * np.maximum(spreads, 0.1 * usual) ** 2)
    r = e - found.bias - found.slope * means.std() * x
    scale = np.sort(np.abs(r) / u)[48] / 1.2815515655446004
    z = np.abs(r) / (scale * u)
    w = np.where(z > 3.0, 3.0 / z, 1.0) * np.exp(2 * (np.log(u).mean() - np.log(u)))
    design = np.stack([np.ones(60), x], axis=1)
    matrix = design.T @ (w[:, None] * design) + np.diag([3.0, 10.0])
    np.testing.assert_allclose(
        np.linalg.solve(matrix, design.T @ (w * e)), [found.bias, found.slope * means.std()], atol=0.02
    )
    assert found.factor == pytest.approx(np.sqrt((60 * scale**2 * 61 / 59 + 5) / 65), rel=0.02)


# Of n = 3, 4, 5 errors the second largest counts; it stands for the share (n - 1.5) / n of a normal distribution.
LEFT_OUT = {3: NORMAL.inv_cdf(0.75), 4: NORMAL.inv_cdf(0.8125), 5: NORMAL.inv_cdf(0.85)}


@pytest.mark.parametrize(
    ("ratios", "scale"),
    [
        ([3.0], 3.0 / QUANTILE),
        ([3.0, 1.0], 3.0 / QUANTILE),
        ([3.0, 1.0, 9.0], 3.0 / LEFT_OUT[3]),
        ([3.0, 1.0, 9.0, 4.0], 4.0 / LEFT_OUT[4]),
        ([3.0, 1.0, 9.0, 4.0, 2.0], 4.0 / LEFT_OUT[5]),
        ([3.0, 1.0, 9.0, 4.0, 2.0, 5.0], 5.0 / QUANTILE),
        (range(1, 11), 9.0 / QUANTILE),
        (range(1, 16), 13.0 / QUANTILE),
    ],
)
def test_the_scale_of_few_errors(ratios: Sequence[float], scale: float) -> None:
    """Four fifths of the errors lie below the one that counts; of three to five the largest is left out."""
    assert _scale(np.array(ratios)) == pytest.approx(scale, rel=1e-12)
    assert _scale(np.array([ratios, ratios])) == pytest.approx([scale, scale], rel=1e-12)


@pytest.mark.parametrize("spread", [0.0, 2.0])
@pytest.mark.parametrize("n", range(1, 9))
def test_the_deviation_after_few_outcomes(n: int, spread: float) -> None:
    """By hand for equal forecasts: n of n + 3 parts of the mean error, the scale of the rest, times the root of
    (n + 1) / (n - 1), as the mean was fitted to the same errors; a stated spread counts as five outcomes more."""
    errors = np.array([3.0, 1.0, -1.0, -2.5, 2.0, -0.5, 1.5, 0.5])[:n]
    bias = errors.sum() / (n + 3)
    rest = np.sort(np.abs(errors - bias))
    counts = rest[-1] / QUANTILE if n < 3 else rest[-2] / LEFT_OUT.get(n, QUANTILE)
    deviation = counts * np.sqrt((n + 1) / (n - 1) if n > 1 else 1.0)
    if spread:
        deviation = np.sqrt((n * deviation**2 + 5 * spread**2) / (n + 5))
    found = fit(np.full(n, 7.0), np.full(n, spread), 7.0 + errors)
    assert found.mean(7.0) == pytest.approx(7.0 + bias, rel=1e-12)
    assert found.deviation(spread) == pytest.approx(deviation, rel=1e-12)


def test_one_or_two_wild_outcomes_count_as_thirty_spreads() -> None:
    """Of two, the larger spread counts. From the third outcome on nothing is cut off: the scale shows what is wild."""
    assert fit(np.zeros(1), np.ones(1), np.array([1e6])).mean(0.0) == pytest.approx(30.0 / 4)
    assert fit(np.zeros(1), np.ones(1), np.array([-29.0])).mean(0.0) == pytest.approx(-29.0 / 4)
    spreads = np.array([1.0, 2.0])
    for cut, wild in (([60.0, 60.0], [1e6, 61.0]), ([60.0, -60.0], [1e6, -1e3])):
        assert fit(np.zeros(2), spreads, np.array(wild)) == fit(np.zeros(2), spreads, np.array(cut))
    assert fit(np.zeros(2), spreads, np.array([59.0, 0.0])) != fit(np.zeros(2), spreads, np.array([60.0, 0.0]))
    assert fit(np.zeros(3), np.ones(3), np.full(3, 1e6)).mean(0.0) == pytest.approx(1e6 * 3 / 6)
