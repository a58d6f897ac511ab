"""Forecasts that anybody could make."""

from __future__ import annotations

import numpy as np
import pytest

from overcast.calibration import reference


def test_climatology_is_the_score_of_the_other_outcomes() -> None:
    """Recomputed by scoringrules, one ensemble of all others for each outcome, ties included."""
    sr = pytest.importorskip("scoringrules")
    outcomes = np.random.default_rng(0).normal(size=(40, 2)).round(1)
    expected = np.empty_like(outcomes)
    for i in range(40):
        others = np.delete(outcomes, i, axis=0)
        expected[i] = sr.crps_ensemble(outcomes[i], others.T, estimator="nrg")
    np.testing.assert_allclose(reference.climatology(outcomes), expected, rtol=1e-9)


def test_persistence_is_the_distance_to_the_outcome_before() -> None:
    found = reference.persistence(np.array([[1.0], [4.0], [2.0]]))
    np.testing.assert_array_equal(found, [[np.nan], [3.0], [2.0]])


def test_one_outcome_has_no_reference() -> None:
    assert np.isnan(reference.climatology(np.ones((1, 1)))).all()
    assert np.isnan(reference.persistence(np.ones((1, 1)))).all()
    assert np.isnan(reference.skill(np.ones((1, 1)), np.full((1, 1), np.nan))).all()


def test_skill_counts_rows_that_both_know() -> None:
    score, other = np.array([[9.0], [1.0], [1.0]]), np.array([[np.nan], [4.0], [4.0]])
    assert reference.skill(score, other)[0] == pytest.approx(0.75)
    assert reference.skill(0.0 * other[1:], other[1:])[0] == 1.0
