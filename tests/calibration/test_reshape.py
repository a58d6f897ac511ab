"""Ensembles with corrected margins."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from overcast.calibration import reshape
from overcast.calibration.bounds import Range

FREE = Range()


def test_members_are_normal_quantiles_in_the_order_of_the_members() -> None:
    points = np.random.default_rng(0).normal(size=(60, 2))
    found = reshape.members(oc.Ensemble(points), [(5.0, 2.0, FREE), None])
    np.testing.assert_array_equal(found[:, 0].argsort(), points[:, 0].argsort())
    np.testing.assert_array_equal(found[:, 1], points[:, 1])
    assert found[:, 0].mean() == pytest.approx(5.0)
    assert found[:, 0].std() == pytest.approx(2.0)
    levels = (np.arange(60) + 0.5) / 60
    nodes = scipy.stats.norm.ppf(levels)
    np.testing.assert_allclose(np.sort(found[:, 0]), 5.0 + 2.0 * nodes / nodes.std(), rtol=1e-9)


def test_few_members_stand_for_several_points_each() -> None:
    belief = oc.Ensemble([[0.0], [1.0], [5.0]])
    found = reshape.members(belief, [(5.0, 2.0, FREE)])
    assert found.shape == (51, 1)
    assert found[:17].max() < found[17:34].min()
    assert found[17:34].max() < found[34:].min()
    corrected = belief.moved(points=found)
    assert corrected.mean()[0] == pytest.approx(5.0)
    assert corrected.variance()[0] == pytest.approx(4.0)


def test_weights_are_kept() -> None:
    belief = oc.Ensemble([[0.0], [1.0], [9.0]], weights=[0.7, 0.3, 0.0])
    corrected = belief.moved(points=reshape.members(belief, [(5.0, 2.0, FREE)]))
    finite = corrected.support()
    assert finite is not None
    points, weights = finite
    assert weights[points[:, 0] < 5.0 + 2.0 * float(scipy.stats.norm.ppf(0.7))].sum() == pytest.approx(0.7, abs=0.02)
    assert corrected.mean()[0] == pytest.approx(5.0)
    assert corrected.variance()[0] == pytest.approx(4.0)


def test_members_that_agree_seem_to_depend_on_nothing() -> None:
    found = reshape.members(oc.Ensemble(np.ones((100, 2))), [(0.0, 1.0, FREE)] * 2)
    assert abs(np.corrcoef(*found.T).min()) < 0.35


def test_bounds_hold_their_share_of_members() -> None:
    found = reshape.members(oc.Gaussian([1.0], 4.0), [(0.0, 1.0, Range(low=0.0))])
    assert (found >= 0.0).all()
    assert (found == 0.0).mean() == pytest.approx(0.5, abs=0.03)


def test_what_keeps_its_shape() -> None:
    assert not reshape.is_reshaped(oc.Gaussian([1.0], 4.0), [FREE])
    assert not reshape.is_reshaped(oc.Ensemble(np.zeros((201, 1))), [FREE])
    assert reshape.is_reshaped(oc.Ensemble(np.zeros((200, 1))), [FREE])
    assert reshape.is_reshaped(oc.Gaussian([1.0, 1.0], 4.0), [FREE, Range(high=3.0)])
