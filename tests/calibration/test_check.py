"""Forecasts judged by what happened."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from forecast_support import members, normal
from overcast.calibration import check
from support import refused


def test_right_forecasts_look_right() -> None:
    """The PIT is uniform; the test's false-alarm probability is 1 %, for a fixed seed."""
    found = normal(errors=1.0)
    assert found.p_values[0] > 0.01
    assert "look right" in found.verdict
    assert "false-alarm probability of 1 %" in found.verdict
    for level in (0.5, 0.8, 0.9, 0.95):
        assert found.coverage(level)[0] == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 1000))
    assert found.factor[0] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(("errors", "word"), [(2.3, "over"), (1 / 2.3, "under")])
def test_the_factor_is_recovered(errors: float, word: str) -> None:
    found = normal(errors)
    assert found.factor[0] == pytest.approx(errors, rel=0.1)
    assert f"{word}-confident by a factor 2." in found.verdict


@pytest.mark.parametrize(("bias", "word"), [(3.0, "low"), (-3.0, "high")])
def test_the_bias_is_recovered(bias: float, word: str) -> None:
    found = normal(1.0, bias)
    assert found.bias[0] == pytest.approx(bias, abs=0.25)
    assert f"your forecasts are too {word} by 3" in found.verdict
    assert "confident" not in found.verdict


def test_good_ensembles_have_flat_ranks_and_two_in_n_plus_one_outside() -> None:
    """20,000 outcomes among 9 members: shares of 0.1 within five standard errors, 1e-5 for all ten."""
    points, outcomes = members(20_000, 9, 1.0)
    found = check(list(points), outcomes)
    assert found.members == 9
    assert found.ranks is not None
    np.testing.assert_allclose(found.ranks[:, 0], 0.1, atol=5 * np.sqrt(0.09 / 20_000))
    assert found.outside is not None
    assert found.outside[0] == pytest.approx(0.2, abs=0.015)
    assert found.factor[0] == pytest.approx(1.0, abs=0.05)
    assert "20 % expected" in found.verdict


def test_ranks_are_counts() -> None:
    points, outcomes = members(50, 4, 0.5)
    found = check(list(points), outcomes)
    below = (points[:, :, 0] < outcomes[:, None]).sum(axis=1)
    assert found.ranks is not None
    np.testing.assert_allclose(found.ranks[:, 0], np.bincount(below, minlength=5) / 50)
    assert found.outside is not None
    assert found.outside[0] == np.mean((below == 0) | (below == 4))


def test_scores_are_averages() -> None:
    pytest.importorskip("scoringrules")
    found = check([oc.PointMass([1.0, 2.0]), oc.PointMass([0.0, 0.0])], [[2.0, 2.0], [0.0, 3.0]])
    np.testing.assert_allclose(found.crps, [0.5, 1.5])
    assert found.energy == pytest.approx(2.0)
    single = check([oc.PointMass([1.0]), oc.PointMass([0.0])], [2.0, 3.0])
    assert single.energy == pytest.approx(2.0)


def test_histogram_spreads_intervals_evenly() -> None:
    found = check([oc.Ensemble([[1.0], [2.0], [3.0]])] * 2, [0.0, 4.0])
    np.testing.assert_allclose(found.histogram(8)[:, 0], [0.25, 0.25, 0, 0, 0, 0, 0.25, 0.25])
    sure = check([oc.PointMass([1.0])] * 4, [0.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(sure.histogram(4)[:, 0], [0.25, 0.0, 0.0, 0.75])
    assert sure.coverage(0.9)[0] == 0.0


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_members_that_are_right_look_right(n: int) -> None:
    """The test's false-alarm probability is 1 %, for a fixed seed; shares within four standard errors."""
    points, outcomes = members(400, n, 1.0, seed=1)
    found = check(list(points), outcomes)
    level = (n - 1) / (n + 1)
    assert "look right" in found.verdict
    assert f"nominal {100 * level:.0f} % intervals cover" in found.verdict
    assert found.level[0] == pytest.approx(level)
    assert found.coverage(level)[0] == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 400))
    assert found.coverage(0.99)[0] == pytest.approx(found.coverage(level)[0]), "the members bound no wider interval"


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_members_that_are_far_too_narrow_cover_nothing(n: int) -> None:
    points, outcomes = members(300, n, 1 / 70)
    found = check(list(points), outcomes)
    for level in (0.3, 0.5, 0.8, 0.95):
        assert found.coverage(level)[0] < 0.05
    assert "over-confident by a factor " in found.verdict
    assert found.verdict.endswith((" cover 0 %.", " cover 1 %.", " cover 2 %."))


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("hits", [0, 150, 290])
def test_members_that_are_all_the_same_are_judged_as_points(n: int, hits: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(0.1, 1.0, 300)
    outcomes = np.where(np.arange(300) < hits, values, 100 * rng.normal(size=300))
    found = check(np.repeat(values[:, None, None], n, axis=1), outcomes)
    point = check([oc.PointMass([value]) for value in values], outcomes)
    np.testing.assert_array_equal(found.intervals, point.intervals)
    assert found.verdict == point.verdict
    assert "look right" not in found.verdict
    assert found.coverage(0.8)[0] == pytest.approx(0.8 * hits / 300)
    assert found.factor[0] == point.factor[0]
    assert found.outside is not None
    assert found.outside[0] == pytest.approx(1 - hits / 300)
    assert len(found.plot().axes) == 2


def test_members_that_agree_now_and_then_keep_their_ranks() -> None:
    """Rain on one day of ten, 5 members as good as the truth: agreement on no rain is no certainty.

    The test's false-alarm probability is 1 %, for a fixed seed.
    """
    rng = np.random.default_rng(2)
    rain = np.where(rng.random((600, 6)) < 0.1, rng.gamma(2.0, 3.0, (600, 6)), 0.0)
    found = check(rain[:, :5, None], rain[:, 5])
    assert "look right" in found.verdict


def test_quantiles_cover_nothing_beyond_the_outermost() -> None:
    rng = np.random.default_rng(0)
    found = check([oc.Quantiles([0.4, 0.6], [-0.1, 0.1])] * 300, rng.normal(0.0, 100.0, 300))
    assert found.level[0] == pytest.approx(0.2)
    assert found.coverage(0.8)[0] < 0.05
    median = check([oc.Quantiles([0.5], [0.0])] * 300, rng.normal(0.0, 100.0, 300))
    assert median.verdict.endswith("nominal 80 % intervals cover 0 %.")


def test_what_does_not_fit_is_refused() -> None:
    with refused(ValueError, "check", "outcomes must have shape (2, c), got (3, 1)"):
        check([[1.0], [2.0]], [1.0, 2.0, 3.0])
    with refused(ValueError, "check", "dimension 1 of the outcomes, got 11 at index 0", "(n, 1)"):
        check(np.zeros((5, 11)), np.zeros(5))
    with refused(ValueError, "Frozen", "mean and variance must exist", "cauchy"):
        check([oc.Frozen(scipy.stats.cauchy())], [1.0])
    with refused(ValueError, "check", "names must be 1"):
        check([[1.0]], [1.0], ["a", "b"])
    with refused(ValueError, "check", "outcomes must be finite"):
        check([[1.0]], [np.nan])
    with refused(ValueError, "check", "outcomes", "(t, c)"):
        check([], [])
    with refused(ValueError, "Calibration", "level must be < 1"):
        normal(1.0, t=60).coverage(1.0)


def test_repr_says_what_it_covers() -> None:
    assert repr(normal(1.0, t=60)).startswith("Calibration(60 outcomes of demand; nominal 80% intervals cover ")
