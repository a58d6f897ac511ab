"""The test of uniformity holds its false-alarm probability, and finds what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from overcast.calibration.uniform import p_value


def test_false_alarms_are_as_rare_as_stated() -> None:
    """Of 1000 sets of uniform values 10 are expected below 0.01; 24 or more have a probability below 1e-4."""
    rng = np.random.default_rng(0)
    alarms = sum(p_value(rng.random(200)) < 0.01 for _ in range(1000))
    assert alarms <= 23


def test_days_that_resemble_each_other_raise_few_more() -> None:
    """AR(1) with 0.6, four in a hundred at 1 %; a test that ignored it would raise 30."""
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(300):
        x = rng.standard_normal(200)
        for t in range(1, 200):
            x[t] = 0.6 * x[t - 1] + 0.8 * x[t]
        alarms += p_value(scipy.stats.norm.cdf(x)) < 0.01
    assert alarms <= 27


@pytest.mark.parametrize(
    "wrong",
    [
        lambda u: scipy.stats.norm.cdf(scipy.stats.norm.ppf(u) + 0.4),  # biased
        lambda u: scipy.stats.norm.cdf(1.5 * scipy.stats.norm.ppf(u)),  # too sure
        lambda u: scipy.stats.norm.cdf(0.6 * scipy.stats.norm.ppf(u)),  # not sure enough
    ],
)
def test_what_is_wrong_is_found(wrong: object) -> None:
    assert callable(wrong)
    assert p_value(wrong(np.random.default_rng(2).random(300))) < 1e-4


def test_neyman_statistic_by_hand() -> None:
    """Independent draws, with lags off the table for three values: polynomials written out."""
    u = np.array([0.1, 0.5, 0.7])
    x = 2 * u - 1
    terms = [
        np.sqrt(3) * x,
        np.sqrt(5) * (3 * x**2 - 1) / 2,
        np.sqrt(7) * (5 * x**3 - 3 * x) / 2,
        np.sqrt(9) * (35 * x**4 - 30 * x**2 + 3) / 8,
    ]
    statistic = 0.0
    for term in terms:
        centred = term - term.mean()
        correlation = (centred[1:] * centred[:-1]).mean() / (centred**2).mean()
        statistic += term.sum() ** 2 / 3 / max(1.0, 1 + 2 * 0.5 * correlation)
    assert p_value(u) == pytest.approx(scipy.stats.chi2.sf(statistic, 4))
