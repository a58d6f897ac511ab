"""The kernel matrix of all rounds: from a grid, in groups, and from the definition."""

from __future__ import annotations

import numpy as np
import pytest

import overcast as oc
from kernel_support import ARMS, FITTED, SMOOTH, C, Log, belief_of, likelihood_of, log_of, matrix_of
from overcast.beliefs.cloud import Cloud
from overcast.kernels import RBF, Product
from overcast.models.kernel import likelihood as module


@pytest.mark.parametrize("context_kernel", [RBF(0.5), RBF((0.5, 0.8))])
@pytest.mark.parametrize("normal", [False, True])
def test_the_grid_of_frequencies_agrees_with_all_pairs(
    context_kernel: RBF, normal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    log: Log = []
    for i in range(6):
        points = rng.normal(size=(15, C))
        members: list[oc.Belief] = [oc.Gaussian(point, 0.1) if normal else oc.PointMass(point) for point in points]
        log.append((i % len(ARMS), oc.Mixture(members), 1.0))
    likelihood = likelihood_of(Product(RBF(1.0), context_kernel), log)
    parameters = np.array([1.0, *context_kernel.parameters()])
    on_grid = likelihood.gram(parameters, slopes=True)
    monkeypatch.setattr(module, "MIN_FOR_GRID", 1000)
    direct = likelihood.gram(parameters, slopes=True)
    np.testing.assert_allclose(on_grid[0], direct[0], atol=1e-9)
    np.testing.assert_allclose(on_grid[1], direct[1], atol=1e-8)


def test_a_matrix_of_many_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of("mixed", 15)
    parameters = np.array(SMOOTH.parameters())
    expected = matrix_of(SMOOTH, log)
    for size in (1, 4, 1000):
        monkeypatch.setattr(module, "MAX_GROUP", size)
        found, _ = likelihood_of(SMOOTH, log).gram(parameters, slopes=True)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_clouds_are_shared_by_models_that_differ_in_parameters() -> None:
    """`adopt` relies on it: embeddings do not depend on parameters."""
    for kernel, kind in FITTED:
        other = kernel.with_parameters([2.0 * value for value in kernel.parameters()])
        rng = np.random.default_rng(0)
        belief = belief_of(kind, rng)
        for (_, first), (_, second) in zip(kernel.terms(2), other.terms(2), strict=True):
            one, two = first.embed(belief), second.embed(belief)
            assert isinstance(one, Cloud)
            np.testing.assert_array_equal(one.centres, two.centres)
