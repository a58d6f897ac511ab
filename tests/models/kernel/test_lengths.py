"""Length scales from distances and rewards: definitions, units, and processes whose lengths are known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import overcast as oc
from kernel_support import MAKERS, C, clouds_of, filled
from overcast._check import Array
from overcast.kernels import RBF, Product
from overcast.models.kernel.learner import KernelLearner
from overcast.models.kernel.lengths import IGNORED, MOST, Lengths, evenly_spaced, moments, typical
from support import refused


def test_a_length_is_a_standard_deviation_times_the_median_distance() -> None:
    rng = np.random.default_rng(0)
    means, variances = rng.normal(size=(9, 3)) * [1.0, 10.0, 0.1], rng.random((9, 3))
    s = np.sqrt(means.var(axis=0) + variances.mean(axis=0))
    distances = [
        math.sqrt(sum(((means[i] - means[j]) ** 2 + variances[i] + variances[j]) / s**2))
        for i, j in itertools.combinations(range(9), 2)
    ]
    np.testing.assert_allclose(typical(means, variances), s * np.median(distances), rtol=1e-12)


def test_unit_vectors_have_their_distance_as_length() -> None:
    np.testing.assert_allclose(typical(np.eye(4), np.zeros((4, 4))), np.full(4, math.sqrt(2.0)))


def test_equal_points_and_constant_coordinates_do_not_count() -> None:
    points = np.array([[1.0, 5.0, 290.0], [3.0, 5.0, 290.0], [3.0, 5.0, 290.0]])
    lengths = typical(points, np.zeros(points.shape))
    assert lengths[0] == pytest.approx(2.0)
    assert (lengths[1:] == IGNORED).all()
    assert (typical(points[1:], np.zeros((2, 3))) == IGNORED).all()
    single = typical(points[:1], np.array([[4.0, 0.0, 1.0]]))
    np.testing.assert_allclose(single[[0, 2]], [2.0 * 2.0, 2.0])  # two contexts of one belief: m = sqrt(2 + 2)
    assert single[1] == IGNORED


def test_units_and_zero_points_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    means, variances, unit = rng.normal(size=(20, 3)), rng.random((20, 3)), np.array([1e-6, 1.0, 1e6])
    moved = typical((means + 50.0) * unit, variances * unit**2)
    np.testing.assert_allclose(moved, unit * typical(means, variances), rtol=1e-9)


def test_of_many_points_some_are_compared() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(5000, 1))
    assert typical(points, np.zeros(points.shape))[0] == pytest.approx(0.954, rel=0.1)  # the median of |N(0, 2)|
    assert len(evenly_spaced(5000, MOST)) == MOST
    np.testing.assert_array_equal(evenly_spaced(3, MOST), [0, 1, 2])


@pytest.mark.parametrize("name", MAKERS)
def test_moments_are_those_of_the_beliefs(name: str) -> None:
    rng = np.random.default_rng(0)
    beliefs = [MAKERS[name](rng) for _ in range(7)]
    means, variances = moments(filled(RBF(1.0), clouds_of(RBF(1.0), MAKERS[name], 7)))
    np.testing.assert_allclose(means, [belief.mean() for belief in beliefs], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(variances, [np.diag(belief.cov()) for belief in beliefs], rtol=1e-9, atol=1e-12)


def _learner(rng: np.random.Generator, t: int, actions: Array) -> KernelLearner:
    """Return a learner of t rounds with random actions and contexts."""
    learner = KernelLearner(oc.KernelModel(Product(RBF(1.0), RBF(1.0)), 1.0), actions, C)
    points = learner.at(actions)
    for _ in range(t):
        index = int(rng.integers(len(actions)))
        learner.learn(learner.evidence(points, learner.view(oc.PointMass(rng.normal(size=C))), index), 0.0)
    return learner


def _values(lengths: Lengths) -> Array:
    return np.array(lengths.kernel.parameters())


def test_lengths_follow_distances_before_rewards_can_tell() -> None:
    rng = np.random.default_rng(3)
    actions = rng.normal(size=(8, 2))
    lengths = Lengths(actions, C)
    np.testing.assert_allclose(_values(lengths)[:2], typical(actions, np.zeros(actions.shape)))
    assert (_values(lengths)[2:] == IGNORED).all()
    learner = _learner(rng, 6, actions)
    lengths.fit(learner, rng.normal(size=6))
    np.testing.assert_allclose(_values(lengths)[2:], typical(*moments(learner.past[0])))


def test_rewards_tell_what_does_not_matter() -> None:
    """The second coordinate of the context has no effect, and the first one a strong one. In fifty other seeds, the
    ratio of their lengths after ten passes was at least 8, and the length of the action 2.5 times the typical one."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        actions = rng.normal(size=(8, 1))
        learner, lengths = _learner(rng, 80, actions), Lengths(actions, C)
        means, _ = moments(learner.past[0])
        rewards = np.sin(3.0 * means[:, 0]) + learner.taken[learner.place][:, 0] + 0.1 * rng.normal(size=80)
        for _ in range(10):
            lengths.fit(learner, rewards)
        action, first, second = _values(lengths)
        assert second > 5.0 * first
        assert action > 0.9 * typical(actions, np.zeros(actions.shape))[0]


def test_state_is_taken_over() -> None:
    rng = np.random.default_rng(4)
    actions = rng.normal(size=(8, 1))
    learner, lengths, other = _learner(rng, 30, actions), Lengths(actions, C), Lengths(actions, C)
    for _ in range(5):
        lengths.fit(learner, np.sin(9.0 * np.arange(30.0)))
    state = lengths.state() | {"more": np.zeros(1)}
    other.restore(state)
    assert other.kernel == lengths.kernel
    assert list(state) == ["more"]
    with refused(ValueError, "KernelModel", "typical must have shape"):
        other.restore({"typical": np.zeros(2), "powers": np.zeros(3)})
