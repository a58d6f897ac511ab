"""Intervals that cover as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

import overcast as oc
from overcast.calibration import Conformal
from support import refused


def test_coverage_holds_whatever_happens() -> None:
    """The bound (b + h) / (h n), h = 0.05 of the largest error so far at least, holds for any sequence of outcomes."""
    rng = np.random.default_rng(0)
    outcomes = np.concatenate([rng.normal(size=700), 40.0 * np.sign(rng.normal(size=600)), np.linspace(0, 90, 700)])
    safe = Conformal([0.1, 0.5, 0.9])
    below = np.empty((2000, 3))
    for t, outcome in enumerate(outcomes):
        below[t] = outcome <= safe([0.0]).values[:, 0]
        safe.learn([0.0], [outcome])
    np.testing.assert_allclose(below.mean(axis=0), safe.levels, atol=0.05)


def test_a_step_is_a_share_of_the_largest_error() -> None:
    safe = Conformal([0.25])
    safe.learn(oc.Gaussian([1.0], 1.0), [3.0])  # the quantile lay at 1 - 0.674
    first = -0.6744897501960817 + 0.05 * 2.0 * 0.25
    assert safe(oc.Gaussian([1.0], 1.0)).values[0, 0] == pytest.approx(1.0 + first)
    safe.learn(oc.Gaussian([0.0], 1.0), [-1.0])
    assert safe(oc.PointMass([0.0])).values[0, 0] == pytest.approx(first - 0.05 * 2.0 * 0.75)


def test_before_the_first_outcome_the_forecast_counts() -> None:
    found = Conformal([0.1, 0.9])(oc.Gaussian([1.0, 2.0], [4.0, 0.0]))
    np.testing.assert_allclose(found.values, [[1.0 - 2 * 1.2815515655, 2.0], [1.0 + 2 * 1.2815515655, 2.0]])
    assert repr(Conformal()) == "Conformal(7 levels, nothing learnt)"


def test_what_does_not_fit_is_refused() -> None:
    for wrong in ([], [0.5, 0.5], [0.0, 0.5], [0.9, 1.0]):
        with refused(ValueError, "Conformal", "levels"):
            Conformal(wrong)
    safe = Conformal()
    safe.learn([0.0], [1.0])
    with refused(ValueError, "Conformal", "belief must have dimension 1, got 2"):
        safe([0.0, 1.0])
    with refused(ValueError, "Conformal", "context"):
        safe.learn([0.0], [np.nan])
