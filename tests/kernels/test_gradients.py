"""Derivatives of kernels by the logarithms of their parameters, against central differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

from overcast._check import Array
from overcast.beliefs.cloud import Cloud
from overcast.kernels import RBF, Constant, Kernel, Linear, Matern, Polynomial, Product, Scaled, Sum

STEP = 1e-5
SCALES = (0.4, 1.3, 2.5)


def _cloud(n: int, c: int, kind: int, seed: int) -> Cloud:
    rng = np.random.default_rng(seed)
    spreads: list[Array | None] = [None, rng.gamma(1.0, 1.0, (n, c))]
    roots = rng.normal(size=(n, c, c))
    spreads.append(roots @ np.swapaxes(roots, 1, 2))
    return Cloud(rng.dirichlet(np.ones(n)), rng.normal(size=(n, c)), spreads[kind])


def _differences(kernel: Kernel, left: Cloud, right: Cloud) -> Array:
    """Return the derivatives of `compare` by central differences, (q, n, m)."""
    values = np.array(kernel.parameters())
    out = []
    for i in range(len(values)):
        step = np.zeros(len(values))
        step[i] = STEP
        high, low = (kernel.with_parameters((values * np.exp(s)).tolist()) for s in (step, -step))
        out.append((high.compare(left, right) - low.compare(left, right)) / (2.0 * STEP))
    return np.array(out)


def _check(kernel: Kernel, left: Cloud, right: Cloud) -> None:
    got = kernel.gradient(left, right)
    assert got.shape == (len(kernel.parameters()), len(left.weights), len(right.weights))
    np.testing.assert_allclose(got, _differences(kernel, left, right), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("scales", [0.7, SCALES], ids=["one scale", "one for each"])
@pytest.mark.parametrize("kinds", [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (1, 2), (2, 1), (2, 2)])
def test_rbf(kinds: tuple[int, int], scales: float | tuple[float, ...]) -> None:
    _check(RBF(scales), _cloud(4, 3, kinds[0], 0), _cloud(5, 3, kinds[1], 1))


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_rbf_of_one_dimension_and_with_itself(kind: int) -> None:
    cloud = _cloud(6, 1, kind, 2)
    _check(RBF(0.3), cloud, cloud)
    _check(RBF((0.3,)), cloud, cloud)


def test_rbf_of_five_dimensions() -> None:
    _check(RBF((0.5, 1.0, 2.0, 3.0, 0.7)), _cloud(3, 5, 2, 3), _cloud(4, 5, 2, 4))


def test_kinds_of_spread_agree() -> None:
    """Points are normal distributions without variance, and variances are covariances off whose diagonal is nothing."""
    kernel, left, right = RBF(SCALES), _cloud(4, 3, 1, 5), _cloud(5, 3, 0, 6)
    assert left.spread is not None
    full = left._replace(spread=left.spread[:, :, None] * np.eye(3))
    np.testing.assert_allclose(kernel.gradient(left, right), kernel.gradient(full, right), rtol=1e-12)
    flat = right._replace(spread=np.zeros((5, 3)))
    np.testing.assert_allclose(kernel.gradient(right, right), kernel.gradient(flat, flat), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("scales", [0.7, SCALES], ids=["one scale", "one for each"])
@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern(nu: float, scales: float | tuple[float, ...]) -> None:
    _check(Matern(nu, scales), _cloud(4, 3, 0, 0), _cloud(5, 3, 0, 1))


@pytest.mark.parametrize("scales", [0.7, (0.7, 0.8)], ids=["one scale", "one for each"])
@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern_where_points_meet(nu: float, scales: float | tuple[float, ...]) -> None:
    points = np.array([[0.0, 0.0], [0.0, 1e-200], [0.0, 1.0]])
    got = Matern(nu, scales).gradient(Cloud(np.ones(3), points), Cloud(np.ones(3), points))
    np.testing.assert_array_equal(got[:, [0, 1, 2], [0, 1, 2]], 0.0)
    np.testing.assert_allclose(got[:, 0, 1], 0.0, atol=1e-100)
    assert got[:, 0, 2].sum() > 0.1


@pytest.mark.parametrize(
    "kernel",
    [
        3.0 * RBF(0.7),
        2.0 * (3.0 * Matern(2.5, SCALES)),
        RBF(SCALES) + Matern(1.5, 0.5),
        0.5 * (RBF(0.7) + 2.0 * Constant() + Linear()) + Polynomial(2),
    ],
    ids=["multiple", "multiple of a multiple", "sum", "sum with fixed parts"],
)
def test_multiples_and_sums(kernel: Kernel) -> None:
    assert isinstance(kernel, (Scaled, Sum))
    _check(kernel, _cloud(4, 3, 0, 0), _cloud(5, 3, 0, 1))


@pytest.mark.parametrize("kernel", [Constant(), Linear(), Polynomial(3)])
def test_kernels_without_parameters(kernel: Kernel) -> None:
    assert kernel.parameters() == ()
    assert kernel.with_parameters(()) == kernel
    assert kernel.gradient(_cloud(4, 3, 0, 0), _cloud(5, 3, 0, 1)).shape == (0, 4, 5)
    with pytest.raises(ValueError, match="has no parameters"):
        kernel.with_parameters((1.0,))


def test_parameters_are_shared_out_in_order() -> None:
    kernel = 2.0 * Product(RBF((0.1, 0.2)), 3.0 * Matern(0.5, 0.3)) + Product(Linear(), RBF(0.4))
    assert kernel.parameters() == (2.0, 0.1, 0.2, 3.0, 0.3, 0.4)
    other = kernel.with_parameters((1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    assert other == 1.0 * Product(RBF((2.0, 3.0)), 4.0 * Matern(0.5, 5.0)) + Product(Linear(), RBF(6.0))
    assert kernel.with_parameters(kernel.parameters()) == kernel


def test_a_scalar_stays_a_scalar() -> None:
    assert RBF(1.0).with_parameters((2.0,)) == RBF(2.0)
    assert RBF((1.0,)).with_parameters((2.0,)) == RBF((2.0,))
    assert Matern(1.5, 1.0).with_parameters((2.0,)) == Matern(1.5, 2.0)
    assert Matern(1.5, (1.0,)).with_parameters((2.0,)) == Matern(1.5, (2.0,))


def test_a_normal_distribution_in_closed_form() -> None:
    """In one dimension, k = l / sqrt(l^2 + S) at a gap of zero, so that d log k / d log l = S / (l^2 + S)."""
    left, right = Cloud(np.ones(1), np.zeros((1, 1)), np.full((1, 1), 3.0)), Cloud(np.ones(1), np.zeros((1, 1)))
    assert math.isclose(RBF(2.0).gradient(left, right).item(), 2.0 / math.sqrt(7.0) * 3.0 / 7.0)
