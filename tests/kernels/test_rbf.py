"""The squared-exponential kernel: its series, its split, and its derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kernel_support import SCALES, check_gradient, random_cloud
from overcast._check import Array
from overcast.beliefs.cloud import Cloud
from overcast.kernels import (
    RBF,
    Kernel,
)
from support import refused

EXAMPLES: list[Kernel] = [RBF(0.8), RBF((0.5, 2.0))]


@pytest.mark.parametrize("scales", [0.3, 1.0, (0.2, 5.0)])
@pytest.mark.parametrize("reach", [0.0, 0.01, 1.0, 20.0])
def test_the_series_of_rbf_is_the_kernel_within_its_reach(scales: Any, reach: float) -> None:
    kernel = RBF(scales)
    widths = np.array([reach, 2 * reach])
    for fraction in np.linspace(0.0, 1.0, 41):
        gaps = fraction * widths
        product = 1.0
        for gap, (step, weights) in zip(gaps, kernel.series(widths), strict=True):
            angles = np.arange(len(weights)) * step * gap
            product *= weights[0] + 2 * float(weights[1:] @ np.cos(angles[1:]))
        assert product == pytest.approx(float(kernel(np.zeros((1, 2)), gaps[None])[0, 0]), abs=1e-10)


@pytest.mark.parametrize("scales", [0.7, SCALES], ids=["one scale", "one for each"])
@pytest.mark.parametrize("kinds", [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (1, 2), (2, 1), (2, 2)])
def test_gradients(kinds: tuple[int, int], scales: float | tuple[float, ...]) -> None:
    check_gradient(RBF(scales), random_cloud(4, 3, kinds[0], 0), random_cloud(5, 3, kinds[1], 1))


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_gradients_in_one_dimension_and_with_itself(kind: int) -> None:
    cloud = random_cloud(6, 1, kind, 2)
    check_gradient(RBF(0.3), cloud, cloud)
    check_gradient(RBF((0.3,)), cloud, cloud)


def test_gradients_in_five_dimensions() -> None:
    check_gradient(RBF((0.5, 1.0, 2.0, 3.0, 0.7)), random_cloud(3, 5, 2, 3), random_cloud(4, 5, 2, 4))


def test_kinds_of_cov_agree() -> None:
    """Points are normal distributions of variance zero, and variances are covariances with zeros off the diagonal."""
    kernel, left, right = RBF(SCALES), random_cloud(4, 3, 1, 5), random_cloud(5, 3, 0, 6)
    assert left.cov is not None
    full = left._replace(cov=left.cov[:, :, None] * np.eye(3))
    np.testing.assert_allclose(kernel.gradient(left, right), kernel.gradient(full, right), rtol=1e-12)
    flat = right._replace(cov=np.zeros((5, 3)))
    np.testing.assert_allclose(kernel.gradient(right, right), kernel.gradient(flat, flat), rtol=1e-12, atol=1e-15)


def test_a_normal_distribution_in_closed_form() -> None:
    """In one dimension, k = l / sqrt(l^2 + S) at a gap of zero, so that d log k / d log l = S / (l^2 + S)."""
    left, right = Cloud(np.ones(1), np.zeros((1, 1)), np.full((1, 1), 3.0)), Cloud(np.ones(1), np.zeros((1, 1)))
    assert math.isclose(RBF(2.0).gradient(left, right).item(), 2.0 / math.sqrt(7.0) * 3.0 / 7.0)


def test_density_slopes_against_central_differences() -> None:
    """The density at w is proportional to the product of l_i exp(-l_i^2 w_i^2 / 2)."""
    w, step = np.random.default_rng(0).normal(size=(7, 3)), 1e-5
    for kernel in (RBF(0.7), RBF(SCALES)):
        values = np.array(kernel.parameters())

        def log_density(logs: Array, kernel: RBF = kernel) -> Array:
            scales = kernel.with_parameters(np.exp(logs).tolist()).scales(3)
            return np.asarray(np.log(scales).sum() - ((scales * w) ** 2).sum(axis=1) / 2)

        units = step * np.eye(len(values))
        expected = [(log_density(np.log(values) + e) - log_density(np.log(values) - e)) / (2 * step) for e in units]
        np.testing.assert_allclose(kernel.density_slopes(w), expected, rtol=1e-7, atol=1e-8)


def test_too_few_length_scales_to_split() -> None:
    with refused(ValueError, "RBF", "lengthscale must have an entry for each dimension", "got 2"):
        RBF((1.0, 2.0)).terms(2)
