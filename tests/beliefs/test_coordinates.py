"""Distribution functions and quantiles of single coordinates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from overcast.beliefs._coordinates import bisect, cdf_of_points, place_among, quantiles_of_points

POINTS = np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 5.0], [9.0, -9.0]])
WEIGHTS = np.array([0.2, 0.5, 0.3, 0.0])


def test_distribution_function_of_points_by_hand() -> None:
    values = np.array([[0.5, -9.0], [1.0, 0.0], [2.5, 4.9], [9.0, 5.0]])
    expected = [[0.0, 0.0], [0.5, 0.7], [0.8, 0.7], [1.0, 1.0]]
    np.testing.assert_allclose(cdf_of_points(POINTS, WEIGHTS, values), expected)


def test_quantiles_of_points_by_hand() -> None:
    found = quantiles_of_points(POINTS, WEIGHTS, np.array([0.0, 0.5, 0.51, 0.8, 0.81, 1.0]))
    np.testing.assert_array_equal(found[:, 0], [1.0, 1.0, 2.0, 2.0, 3.0, 3.0])
    np.testing.assert_array_equal(found[:, 1], [0.0, 0.0, 0.0, 5.0, 5.0, 5.0])


def test_bisection_finds_quantiles_and_jumps() -> None:
    p = np.array([0.1, 0.5, 0.9])
    low, high = np.full((3, 1), -20.0), np.full((3, 1), 30.0)
    found = bisect(lambda x: np.asarray(scipy.special.ndtr(x)), p, low, high)
    np.testing.assert_allclose(found[:, 0], scipy.special.ndtri(p), atol=1e-12)
    np.testing.assert_allclose(bisect(lambda x: np.where(x >= 0.0, 1.0, 0.0), p, low, high), 0.0, atol=1e-20)
    np.testing.assert_array_equal(bisect(lambda x: np.ones_like(x), p, low, high), low)


@pytest.mark.parametrize(("size", "expected"), [(np.inf, (0.5, 0.8)), (4.0, (2.0 / 5.0, 4.2 / 5.0))])
def test_an_outcome_has_its_place_among_points(size: float, expected: tuple[float, float]) -> None:
    found = place_among(POINTS[:, :1], WEIGHTS, np.array([2.0]), size)
    np.testing.assert_allclose(found[:, 0], expected)
