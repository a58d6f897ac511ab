"""Experts with many memories."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from overcast._check import Array
from overcast.calibration import bank
from overcast.calibration.bank import MEMORIES, STIFFNESS, TRUST, UNBOUNDED, Bank, start_bank
from overcast.calibration.fit import PRIOR_BIAS, PRIOR_FACTOR, PRIOR_SLOPE, fit


def rows_of(days: int, seed: int = 0, bias: float = 3.0, slope: float = 0.1, factor: float = 2.0) -> Array:
    """Return means, spreads and outcomes (days, 3)."""
    rng = np.random.default_rng(seed)
    means, spreads = rng.normal(10.0, 5.0, days), rng.gamma(4.0, 0.25, days)
    return np.stack([means, spreads, rng.normal(means + bias + slope * (means - 10.0), factor * spreads)], axis=1)


def taught(rows: Array, bounds: tuple[float, float] = UNBOUNDED) -> Bank:
    out = start_bank(rows[:20], fit(*rows[:20].T))
    for row in rows[20:].tolist():
        out = out.after((row[0], row[1], row[2]), bounds)
    return out


def test_a_lasting_fault_is_learnt() -> None:
    """Standard errors after 1000 outcomes are 0.07 of the bias, 0.013 of the slope, 3 % of the factor; five each."""
    found = taught(rows_of(1000))
    assert found.bias == pytest.approx(3.0, abs=0.35)
    assert found.slope == pytest.approx(0.1, abs=0.07)
    assert found.factor == pytest.approx(2.0, rel=0.15)
    assert found.mean(15.0) == pytest.approx(18.5, abs=0.5)
    assert found.deviation(1.0) == pytest.approx(2.0, rel=0.15)
    assert found.memory > 50.0


def test_lines_minimise_their_penalised_squares() -> None:
    """Each expert's line solves the normal equations that are written out here, with the next longer one as its aim."""
    found = taught(rows_of(60))
    lines, c = found._lines, found.centre
    for family, stiffness in enumerate(STIFFNESS):
        aim, tie, hold = np.zeros(2), PRIOR_BIAS, PRIOR_SLOPE * found.variance
        for k in reversed(range(len(MEMORIES))):
            at = family * len(MEMORIES) + k
            one, x, xx, e, xe = found.sums[at]
            level = np.array([1.0, c])
            penalty = tie * np.outer(level, level) + np.diag([0.0, hold])
            left = np.array([[one, x], [x, xx]]) + penalty
            np.testing.assert_allclose(lines[at], np.linalg.solve(left, [e, xe] + penalty @ aim), rtol=1e-9, atol=1e-9)
            aim, tie, hold = lines[at], bank.TIE, stiffness * found.variance


def test_sums_forget_exponentially() -> None:
    """Recomputed from the whole record, for errors of which none is wild, with spreads all equal."""
    rows = rows_of(50, slope=0.0)
    rows[:, 2] = rows[:, 0] + np.random.default_rng(1).uniform(-1.0, 1.0, 50)
    rows[:, 1] = 1.0
    found = taught(rows)
    ages = np.arange(49, -1, -1)
    for k, memory in enumerate(MEMORIES):
        kept = (1.0 - 1.0 / memory) ** ages
        x, e = (rows[:, 0] - found.origin) / found.unit, (rows[:, 2] - rows[:, 0]) / found.unit
        expected = [kept.sum(), kept @ x, kept @ x**2, kept @ e, kept @ (x * e)]
        np.testing.assert_allclose(found.sums[k], expected, rtol=1e-9)
        slow = (1.0 - 1.0 / max(memory, bank.LEAST)) ** ages
        assert found.counts[k, 0] == pytest.approx(slow.sum())


def test_factors_are_drawn_to_those_of_longer_memories() -> None:
    found = taught(rows_of(40))
    for k in (5, 11):
        expected = (found.squares[k] + PRIOR_FACTOR * found.first) / (found.counts[k] + PRIOR_FACTOR)
        np.testing.assert_allclose(found._factors[k] ** 2, expected)
    expected = (found.squares[4] + PRIOR_FACTOR * found._factors[5] ** 2) / (found.counts[4] + PRIOR_FACTOR)
    np.testing.assert_allclose(found._factors[4] ** 2, expected)


def test_weights_are_those_of_bayes_with_a_share_for_all() -> None:
    rows = rows_of(31)
    before, row = taught(rows[:30]), rows[30].tolist()
    x, spreads = before._x(row[0]), before._spreads(row[1] / before.unit)
    errors = (row[2] - row[0]) / before.unit - before._added(x)
    scale = before._factors * spreads
    likelihood = scipy.stats.t(5).pdf(errors[:, None] / scale * 1.0) / scale
    expected = before.weights * likelihood
    expected = 0.998 * expected / expected.sum() + 0.002 * bank._SHARES
    after = before.after((row[0], row[1], row[2]), UNBOUNDED)
    np.testing.assert_allclose(after.weights, expected, rtol=1e-9)
    assert after.weights.sum() == pytest.approx(1.0)


def test_a_sudden_change_is_followed_within_weeks() -> None:
    """The bias turns from 3 to -3 after 500 days; errors have a deviation of 1, so 0.5 is two standard errors of 15."""
    first, then = rows_of(500, bias=3.0, factor=1.0), rows_of(20, seed=1, bias=-3.0, factor=1.0)
    before, after = taught(first), taught(np.concatenate([first, then]))
    assert before.bias == pytest.approx(3.0, abs=0.4)
    assert after.bias == pytest.approx(-3.0, abs=1.0)
    assert after.memory < 0.3 * before.memory


def test_trust_is_learnt() -> None:
    """Spreads tell the size of errors in one record, and nothing in the other."""
    rng = np.random.default_rng(0)
    told = rows_of(800)
    blind = told.copy()
    blind[:, 2] = told[:, 0] + 3.0 + rng.normal(0.0, 2.0, 800)

    def trust(found: Bank) -> float:
        return float(found.weights.sum(axis=0) @ TRUST)

    assert trust(taught(told)) > 0.8
    assert trust(taught(blind)) < 0.2


@pytest.mark.parametrize("wild", [1e3, -1e6, 1e140])
def test_wild_outcomes_and_forecasts_do_little_harm(wild: float) -> None:
    rows = rows_of(400)
    clean = taught(rows)
    for column in (0, 1, 2):
        dirty = rows.copy()
        dirty[30::20, column] = abs(wild) if column == 1 else wild
        found = taught(dirty)
        assert found.mean(10.0) == pytest.approx(clean.mean(10.0), abs=1.0)
        assert 0.6 < found.deviation(1.0) / clean.deviation(1.0) < 1.8


@pytest.mark.parametrize("unit", [1e-140, 1e-6, 1000.0, 1e140])
def test_units_do_not_matter(unit: float) -> None:
    plain, scaled = taught(rows_of(80)), taught(unit * rows_of(80))
    assert scaled.mean(unit * 12.0) == pytest.approx(unit * plain.mean(12.0), rel=1e-6)
    assert scaled.deviation(unit * 1.5) == pytest.approx(unit * plain.deviation(1.5), rel=1e-6)


def test_where_the_scale_begins_does_not_matter() -> None:
    plain, moved = taught(rows_of(80)), taught(np.add(rows_of(80), [273.15, 0.0, 273.15]))
    assert moved.mean(12.0 + 273.15) == pytest.approx(plain.mean(12.0) + 273.15)
    assert moved.deviation(1.5) == pytest.approx(plain.deviation(1.5))


def test_forecasts_without_spread_get_that_of_the_errors() -> None:
    """The standard error of the deviation is 3 %."""
    rows = rows_of(600)
    rows[:, 1] = 0.0
    found = taught(rows)
    assert found.deviation(0.0) == pytest.approx((rows[:, 2] - rows[:, 0]).std(), rel=0.15)
    assert found.factor == np.inf


def test_errors_that_are_all_equal_leave_a_small_deviation() -> None:
    rows = np.stack([np.arange(40.0), np.zeros(40), np.arange(40.0) + 3.0], axis=1)
    found = taught(rows)
    assert found.mean(20.0) == pytest.approx(23.0, abs=0.3)
    assert 0.0 < found.deviation(0.0) < 1.0


def test_censored_outcomes_show_the_variable_behind() -> None:
    """Half of the outcomes are cut off at zero; without knowing, the mean would be 0.4 and the deviation 0.6."""
    rng = np.random.default_rng(0)
    rows = np.stack([np.zeros(2000), np.ones(2000), np.maximum(rng.normal(0.0, 1.0, 2000), 0.0)], axis=1)
    found = taught(rows, (0.0, np.inf))
    assert found.mean(0.0) == pytest.approx(0.0, abs=0.15)
    assert found.deviation(1.0) == pytest.approx(1.0, rel=0.15)
    mirrored = taught(rows * [1.0, 1.0, -1.0], (-np.inf, 0.0))
    assert mirrored.mean(0.0) == pytest.approx(-found.mean(0.0), abs=1e-6)


@pytest.mark.parametrize("error", [-3.0, -0.5, 0.0, 2.0, 9.0])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_conditional_moments_beyond_a_bound(error: float, side: float) -> None:
    """Those of the truncated normal distribution by scipy."""
    a, b = (error / 2.0, np.inf) if side > 0 else (-np.inf, error / 2.0)
    truth = scipy.stats.truncnorm(a, b, scale=2.0)
    mean, square = bank._beyond(np.array([error]), 2.0, side)
    assert mean[0] == pytest.approx(truth.mean(), rel=1e-6)
    assert square[0] == pytest.approx(truth.var() + truth.mean() ** 2, rel=1e-6)


def test_joined_banks_know_what_both_know() -> None:
    one, other = taught(rows_of(300)), taught(rows_of(300, seed=1) * 1.0)
    both = one.joined(other)
    assert both.n == 600
    assert both.bias == pytest.approx(0.5 * (one.bias + other.bias), abs=0.4)
    assert both.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(one.joined(one)._lines[5], one._lines[5], atol=0.02)
    swapped = other.joined(one)
    assert swapped.mean(12.0) == pytest.approx(both.mean(12.0))
    assert swapped.deviation(1.0) == pytest.approx(both.deviation(1.0), rel=1e-3)


def test_wild_outcomes_among_the_first_do_little_harm() -> None:
    """Five of the first twenty, more than the fit to them bears."""
    rows = rows_of(120)
    clean = taught(rows)
    rows[1:20:4, 2] = -1e6
    found = taught(rows)
    assert found.mean(10.0) == pytest.approx(clean.mean(10.0), abs=1.0)
    assert 0.6 < found.deviation(1.0) / clean.deviation(1.0) < 2.5
