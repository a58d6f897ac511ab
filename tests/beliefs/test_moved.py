"""Beliefs shifted and stretched."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from overcast.beliefs import Moved
from support import refused

EXAMPLES: list[oc.Belief] = [
    Moved(oc.Frozen(scipy.stats.gamma(2.5, scale=0.5)), shift=-1.0, scale=2.0),
    Moved(oc.Gaussian([1.0, -1.0], [[2.0, 0.7], [0.7, 1.0]]), shift=[1.0, 0.0], scale=[3.0, 0.0]),
    Moved(oc.Ensemble(np.random.default_rng(0).normal(size=(6, 2))), shift=[0.1, 0.7], scale=[3.0, 0.1]),
    Moved(oc.Frozen(scipy.stats.binom(5, 0.3)), shift=0.1, scale=0.3),
]


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
    assert cloud.cov is not None
    assert expected.cov is not None
    np.testing.assert_allclose(cloud.cov, expected.cov)


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


def test_distribution_function_and_quantiles_are_those_of_the_distribution_moved_by_scipy() -> None:
    same = scipy.stats.gamma(2.5, loc=-1.0, scale=1.0)
    values, levels = np.linspace(-2.0, 6.0, 9), np.array([0.0, 0.2, 0.5, 0.99])
    np.testing.assert_allclose(EXAMPLES[0].cdf(values[:, None])[:, 0], same.cdf(values))
    np.testing.assert_allclose(EXAMPLES[0].quantile(levels)[:, 0], same.ppf(levels))


def test_a_scale_of_zero_leaves_a_point() -> None:
    moved = Moved(oc.Frozen(scipy.stats.gamma(2.5)), shift=2.0, scale=0.0)
    np.testing.assert_array_equal(moved.cdf([[1.9], [2.0]]), [[0.0], [1.0]])
    np.testing.assert_array_equal(moved.quantile([0.0, 0.5, 1.0]), np.full((3, 1), 2.0))
    np.testing.assert_array_equal(moved.place(np.array([2.0])), [[0.0], [1.0]])


def test_jumps_are_met_in_spite_of_rounding() -> None:
    for belief in EXAMPLES[2:]:
        finite = belief.support()
        assert finite is not None
        for point in finite[0]:
            low, high = belief.place(point)
            assert (high - low > 0.01 * finite[1].min()).all()
            assert not belief.beyond(point).any()
