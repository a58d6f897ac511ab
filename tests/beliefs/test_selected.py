"""Beliefs about some dimensions of another, in another order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from overcast import testing
from overcast.beliefs import Moved, Selected
from support import refused

POINTS = np.random.default_rng(0).normal(size=(6, 3))
COV = np.array([[2.0, 0.7, 0.1], [0.7, 1.0, -0.2], [0.1, -0.2, 3.0]])
STUDENT = oc.Frozen(scipy.stats.multivariate_t([0.0, 1.0, 2.0], COV, df=9))
EXAMPLES: list[oc.Belief] = [
    Selected(STUDENT, [2, 0]),
    Selected(oc.Independent([oc.Ensemble(POINTS[:, :2]), oc.Gaussian([1.0], 2.0)]), [0, 2, 1]),
    Selected(oc.Sampler(lambda n, rng: rng.gamma(2.0, 3.0, size=(n, 2)), 2), [1]),
]
#: beliefs of three dimensions, and the kind of their selection [2, 0]
KINDS: list[tuple[oc.Belief, type[oc.Belief]]] = [
    (oc.PointMass([1.0, 2.0, 3.0]), oc.PointMass),
    (oc.Gaussian([1.0, 2.0, 3.0], [0.5, 2.0, 1.0]), oc.Gaussian),
    (oc.Gaussian([1.0, 2.0, 3.0], COV), oc.Gaussian),
    (oc.Ensemble(POINTS), oc.Ensemble),
    (oc.Ensemble(POINTS, [0.1, 0.3, 0.0, 0.2, 0.15, 0.25]), oc.Ensemble),
    (oc.Mixture([oc.Gaussian([0.0, 1.0, 2.0], 0.3), oc.PointMass([2.0, 2.0, 1.0])], [0.4, 0.6]), oc.Mixture),
    (oc.Independent([oc.Gaussian([1.0], 0.5), oc.Ensemble(POINTS[:, :2])]), oc.Independent),
    (oc.Quantiles([0.1, 0.4, 0.9], np.sort(POINTS[:3], axis=0)), oc.Quantiles),
    (Moved(STUDENT, [1.0, 2.0, 3.0], [0.1, 1.0, 2.0]), Moved),
    (STUDENT, Selected),
    (Selected(STUDENT, [1, 2, 0]), Selected),
]


@pytest.mark.parametrize(("belief", "kind"), KINDS, ids=[f"{type(b).__name__}{i}" for i, (b, _) in enumerate(KINDS)])
def test_a_selection_is_the_margin_and_stays_of_its_kind(belief: oc.Belief, kind: type[oc.Belief]) -> None:
    named = belief.named(["a", "b", "c"])
    some = named.select(["c", "a"])
    assert type(some) is kind
    assert some.names == ("c", "a")
    assert some.dim == 2
    np.testing.assert_allclose(some.mean(), belief.mean()[[2, 0]])
    np.testing.assert_allclose(some.cov(), belief.cov()[np.ix_([2, 0], [2, 0])], atol=1e-12)
    testing.check_belief(some)


def test_moments_distribution_and_waves_are_those_of_the_margin() -> None:
    whole = oc.Independent([oc.Gaussian([1.0, -1.0], [[2.0, 0.7], [0.7, 1.0]]), oc.Gaussian([3.0], 0.5)])
    apart = Selected(whole, [0, 2, 1])
    same = oc.Gaussian([1.0, 3.0, -1.0], [[2.0, 0.0, 0.7], [0.0, 0.5, 0.0], [0.7, 0.0, 1.0]])
    powers = np.array([[3, 0, 1], [1, 2, 1], [0, 0, 0]])
    np.testing.assert_allclose(apart.moments(powers), same.moments(powers))
    waves = np.array([[0.3, -1.0, 0.2], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(apart.characteristic(waves), same.characteristic(waves))
    values = np.array([[0.0, 1.0, 2.0], [3.0, 3.0, -3.0]])
    np.testing.assert_allclose(apart.cdf(values), same.cdf(values))
    np.testing.assert_allclose(apart.quantile([0.2, 0.9]), same.quantile([0.2, 0.9]))
    cloud, expected = apart.cloud(), same.cloud()
    assert cloud is not None
    assert cloud.cov is not None
    assert expected.cov is not None
    np.testing.assert_allclose(cloud.cov, expected.cov)
    assert not apart.beyond(np.array([9.0, 9.0, 9.0])).any()


def test_independent_parts_stay_parts_if_their_dimensions_stay_together() -> None:
    whole = oc.Independent([oc.Ensemble(POINTS[:, :2]), oc.Gaussian([1.0], 2.0)])
    assert repr(whole.select([2, 1, 0])) == "Independent([Gaussian(mean=[1.0], cov=[2.0]), Ensemble(6 points, dim=2)])"
    assert type(whole.select([0, 2, 1])) is Selected
    assert whole.select([0, 1, 2]) is whole


def test_what_does_not_fit_is_refused() -> None:
    belief = oc.PointMass([1.0, 2.0])
    with refused(TypeError, "PointMass", "dimensions must be a list", "put it in brackets"):
        belief.select("a")
    with refused(ValueError, "PointMass", "indices, as the belief has no names", "'a'"):
        belief.select(["a"])
    with refused(ValueError, "PointMass", "some of a, b", "'c'"):
        belief.named(["a", "b"]).select(["c"])
    for wrong in ([], [0, 0], [2], [-1]):
        with refused(ValueError, "PointMass", "distinct and at least one of the 2"):
            belief.select(wrong)
    with refused(TypeError, "PointMass", "whole number"):
        belief.select([0.5])  # type: ignore[arg-type]
