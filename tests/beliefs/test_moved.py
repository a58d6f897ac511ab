"""Beliefs shifted and stretched."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from overcast.beliefs import Moved
from support import refused


def test_moments_are_those_of_the_distribution_moved_by_scipy() -> None:
    moved = Moved(oc.Frozen(scipy.stats.gamma(2.5, scale=0.5)), shift=-1.0, scale=2.0)
    same = scipy.stats.gamma(2.5, loc=-1.0, scale=1.0)
    powers = np.arange(6)[:, None]
    np.testing.assert_allclose(moved.moments(powers), [same.moment(p) if p else 1.0 for p in range(6)], rtol=1e-10)


def test_joint_moments_are_those_of_the_moved_normal() -> None:
    cov = np.array([[2.0, 0.7], [0.7, 1.0]])
    moved = Moved(oc.Gaussian([1.0, -1.0], cov), shift=[3.0, 0.5], scale=[2.0, 0.1])
    same = oc.Gaussian([5.0, 0.4], cov * np.outer([2.0, 0.1], [2.0, 0.1]))
    powers = np.array([[3, 0], [2, 2], [1, 3], [0, 0], [1, 1]])
    np.testing.assert_allclose(moved.moments(powers), same.moments(powers))
    frequencies = np.array([[0.3, -1.0], [0.0, 0.0]])
    np.testing.assert_allclose(moved.characteristic(frequencies), same.characteristic(frequencies))
    cloud, expected = moved.cloud(), same.cloud()
    assert cloud is not None
    np.testing.assert_allclose(cloud.centres, expected.centres)
    assert cloud.spread is not None
    assert expected.spread is not None
    np.testing.assert_allclose(cloud.spread, expected.spread)


def test_a_finite_support_moves_with_it() -> None:
    moved = Moved(oc.Ensemble([[1.0], [3.0]], [0.25, 0.75]), shift=1.0, scale=2.0)
    finite = moved.support()
    assert finite is not None
    np.testing.assert_array_equal(finite[0], [[3.0], [7.0]])
    np.testing.assert_array_equal(finite[1], [0.25, 0.75])
    assert moved.moments(np.array([[3]])) == pytest.approx(0.25 * 27 + 0.75 * 343)


def test_what_does_not_fit_is_refused() -> None:
    with refused(ValueError, "Moved", "scale must be >= 0", "-1.0"):
        Moved(oc.PointMass([1.0, 2.0]), shift=0.0, scale=[1.0, -1.0])
    with refused(ValueError, "Moved", "shift must have shape (2,)"):
        Moved(oc.PointMass([1.0, 2.0]), shift=[0.0, 1.0, 2.0], scale=1.0)
    with refused(TypeError, "Moved", "beliefs"):
        Moved([1.0], shift=0.0, scale=1.0)  # type: ignore[arg-type]
