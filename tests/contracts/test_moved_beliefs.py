"""Beliefs stay of their kind when they are moved, and pass the conformance checks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from overcast import testing
from overcast.beliefs import Moved

POINTS = np.random.default_rng(0).normal(size=(6, 2))
SHIFT, SCALE, NONE = np.array([3.0, -1.0]), np.array([2.0, 0.5]), np.zeros(2)
#: beliefs of two dimensions, and the kind that each becomes
KINDS: list[tuple[oc.Belief, type[oc.Belief]]] = [
    (oc.PointMass([1.0, 2.0]), oc.PointMass),
    (oc.Gaussian([1.0, 2.0], [0.5, 2.0]), oc.Gaussian),
    (oc.Gaussian([1.0, 2.0], [[2.0, 0.7], [0.7, 1.0]]), oc.Gaussian),
    (oc.Ensemble(POINTS), oc.Ensemble),
    (oc.Ensemble(POINTS, [0.1, 0.3, 0.0, 0.2, 0.15, 0.25]), oc.Ensemble),
    (oc.Mixture([oc.Gaussian([0.0, 1.0], 0.3), oc.PointMass([2.0, 2.0])], [0.5, 0.5]), oc.Mixture),
    (oc.Independent([oc.Gaussian([1.0], 0.5), oc.Quantiles([0.1, 0.9], [1.0, 2.0])]), oc.Independent),
    (oc.Quantiles([0.1, 0.4, 0.9], [[0.0, -3.0], [1.0, -1.0], [4.0, -1.0]]), oc.Quantiles),
    (oc.Sampler(lambda n, rng: rng.gamma(2.0, 3.0, size=(n, 2)), 2), oc.Sampler),
    (oc.Frozen(scipy.stats.multivariate_t([0.0, 1.0], np.eye(2), df=7)), Moved),
    (Moved(oc.Frozen(scipy.stats.multivariate_t([0.0, 1.0], np.eye(2), df=7)), 1.0, 2.0), Moved),
]


@pytest.mark.parametrize(("belief", "kind"), KINDS, ids=[f"{type(b).__name__}{i}" for i, (b, _) in enumerate(KINDS)])
def test_moved_beliefs(belief: oc.Belief, kind: type[oc.Belief]) -> None:
    moved = belief.moved(SHIFT, SCALE, NONE)
    assert type(moved) is kind
    assert moved.exact == belief.exact
    np.testing.assert_allclose(moved.mean(), SHIFT + SCALE * belief.mean())
    np.testing.assert_allclose(moved.cov(), belief.cov() * np.outer(SCALE, SCALE), atol=1e-12)
    np.testing.assert_allclose(
        moved.sample(20, np.random.default_rng(5)), SHIFT + SCALE * belief.sample(20, np.random.default_rng(5))
    )
    testing.check_belief(moved)


@pytest.mark.parametrize("belief", [belief for belief, _ in KINDS])
def test_no_move_is_the_belief_itself(belief: oc.Belief) -> None:
    assert belief.moved(np.zeros(2), np.ones(2), NONE) is belief


#: beliefs without variance in the second dimension, and the kind that each becomes when it is blurred
SURE: list[tuple[oc.Belief, type[oc.Belief]]] = [
    (oc.PointMass([1.0, 2.0]), oc.Gaussian),
    (oc.Gaussian([1.0, 2.0], [0.5, 0.0]), oc.Gaussian),
    (oc.Ensemble([[1.0, 2.0], [3.0, 2.0], [4.0, 2.0]], [0.2, 0.3, 0.5]), oc.Ensemble),
    (oc.Independent([oc.Gaussian([1.0], 0.5), oc.PointMass([2.0])]), oc.Independent),
    (oc.Mixture([oc.Gaussian([1.0, 2.0], [0.5, 0.0]), oc.PointMass([3.0, 2.0])]), oc.Mixture),
    (oc.Quantiles([0.1, 0.9], [[0.0, 2.0], [1.0, 2.0]]), oc.Independent),
    (oc.Sampler(lambda n, rng: np.stack([rng.normal(size=n), np.full(n, 2.0)], axis=1), 2), oc.Sampler),
]


@pytest.mark.parametrize(("belief", "kind"), SURE, ids=[type(b).__name__ for b, _ in SURE])
def test_a_blurred_dimension_gets_a_variance_and_the_other_is_kept(belief: oc.Belief, kind: type[oc.Belief]) -> None:
    moved = belief.moved(np.array([0.0, 5.0]), np.ones(2), np.array([0.0, 3.0]))
    assert type(moved) is kind
    testing.check_belief(moved)
    expected = belief.cov() + np.diag([0.0, 9.0])
    tolerance = 1e-12 if moved.exact else 0.5  # five standard errors of an estimate from 10,000 draws
    np.testing.assert_allclose(moved.mean(), belief.mean() + np.array([0.0, 5.0]), atol=tolerance)
    np.testing.assert_allclose(moved.cov(), expected, atol=tolerance)


def test_members_that_are_all_the_same_are_blurred_in_every_dimension() -> None:
    moved = oc.Ensemble([[1.0, 2.0]] * 50).moved(NONE, np.ones(2), np.array([0.5, 3.0]))
    assert isinstance(moved, oc.Ensemble)
    np.testing.assert_allclose(moved.cov(), np.diag([0.25, 9.0]), atol=1e-12)
    assert len(moved.support()[1]) == 100
