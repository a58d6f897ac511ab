"""Faults of forecasts in a sentence; the test of uniformity holds its false-alarm probability."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from forecast_support import members, normal
from overcast.calibration import check
from overcast.calibration.verdict import p_value


def test_over_confident_ensembles_are_said_to_be() -> None:
    points, outcomes = members(500, 11, 0.3)
    verdict = check(list(points), outcomes, ["temp"]).verdict
    assert verdict.startswith("temp: your forecasts are over-confident by a factor ")
    assert "fall outside the ensemble, 17 % expected" in verdict


def test_few_outcomes_are_not_judged() -> None:
    assert normal(5.0, t=49).verdict == "demand: 49 outcomes are too few to judge by; come back with 50 or more."
    assert "over-confident" in normal(5.0, t=50).verdict


def test_each_dimension_has_its_line_and_constants_are_named() -> None:
    rng = np.random.default_rng(0)
    beliefs = [oc.Gaussian([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]) for _ in range(100)]
    outcomes = np.stack([np.ones(100), rng.normal(0, 1, 100), rng.normal(0, 1, 100)], axis=1)
    lines = check(beliefs, outcomes).verdict.splitlines()
    assert lines[0] == "dimension 1: a constant, known exactly."
    assert "look right" in lines[1]
    assert "over-confident: too often they leave no room for error" in lines[2]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_members_that_are_far_too_wide_are_said_to_be(n: int) -> None:
    points, outcomes = members(300, n, 70.0)
    assert "under-confident by a factor " in check(list(points), outcomes).verdict


@pytest.mark.parametrize("n", [1, 3, 7])
def test_members_that_always_hit_are_constants(n: int) -> None:
    """0.1 averaged is not always 0.1."""
    assert check(np.full((60, n, 1), 0.1), np.full(60, 0.1)).verdict == "dimension 1: a constant, known exactly."


def test_a_member_that_has_nearly_all_the_weight_is_nearly_a_point() -> None:
    rng = np.random.default_rng(0)
    beliefs = [oc.Ensemble([[m], [m + 0.01]], [0.99, 0.01]) for m in rng.normal(size=300)]
    found = check(beliefs, rng.normal(0.0, 100.0, 300))
    assert "over-confident" in found.verdict
    assert found.verdict.endswith(
        "100 % of outcomes fall outside the ensemble, 0 % expected; nominal 80 % intervals cover 0 %."
    )


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
