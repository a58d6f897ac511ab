"""Scores by the library against double loops."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.integrate

import overcast as oc
from overcast._check import Array
from overcast.calibration.scores import crps, energy
from support import refused

pytest.importorskip("scoringrules")
POINTS = np.random.default_rng(0).normal(size=(7, 2))
WEIGHTS = np.array([0.1, 0.3, 0.0, 0.2, 0.1, 0.25, 0.05])


def naive(points: Array, weights: Array, y: Array) -> float:
    """E||X - y|| - E||X - X'|| / 2, pair by pair."""
    first = sum(w * np.linalg.norm(p - y) for p, w in zip(points, weights, strict=True))
    pairs = [
        (w * v, np.linalg.norm(p - q))
        for p, w in zip(points, weights, strict=True)
        for q, v in zip(points, weights, strict=True)
    ]
    return float(first - sum(w * d for w, d in pairs) / 2)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_ensembles(weights: Array | None) -> None:
    y = np.array([0.4, -3.0])
    belief = oc.Ensemble(POINTS, weights)
    used = np.full(7, 1 / 7) if weights is None else weights
    expected = [naive(POINTS[:, [i]], used, y[[i]]) for i in range(2)]
    np.testing.assert_allclose(crps([belief], y[None]), [expected])
    np.testing.assert_allclose(energy([belief], y[None]), [naive(POINTS, used, y)])


def test_normal_beliefs_by_integration() -> None:
    from scipy.stats import norm

    belief, y = oc.Gaussian([1.0, 5.0], [4.0, 0.0]), np.array([[2.5, 7.0]])
    below = scipy.integrate.quad(lambda x: norm.cdf(x, 1.0, 2.0) ** 2, -30, 2.5)[0]
    above = scipy.integrate.quad(lambda x: norm.sf(x, 1.0, 2.0) ** 2, 2.5, 30)[0]
    np.testing.assert_allclose(crps([belief], y), [[below + above, 2.0]], rtol=1e-6)


def test_a_point_is_scored_by_its_error() -> None:
    y = np.array([[4.0, -1.0]])
    np.testing.assert_allclose(crps([oc.PointMass([1.0, 1.0])], y), [[3.0, 2.0]])
    np.testing.assert_allclose(energy([oc.PointMass([1.0, 1.0])], y), [np.sqrt(13.0)])


def test_quantiles_by_their_own_grid() -> None:
    """Uniform on [0, 1]: the score of y is y^2 - y + 1/3 inside."""
    uniform = oc.Quantiles([0.0, 1.0], [0.0, 1.0])
    np.testing.assert_allclose(crps([uniform], np.array([[0.3]])), [[0.09 - 0.3 + 1 / 3]], atol=1e-4)


def test_the_library_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scoringrules", None)
    with refused(ImportError, "calibration", "scoringrules", "pip install 'overcast[scores]'"):
        crps([oc.PointMass([1.0])], np.array([[1.0]]))
