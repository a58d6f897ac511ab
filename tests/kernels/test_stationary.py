"""Length scales of stationary kernels, and the derivatives and limits of the Matérn kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernel_support import SCALES, check_gradient, random_cloud
from overcast.beliefs.cloud import Cloud
from overcast.kernels import RBF, Kernel, Matern
from support import refused

EXAMPLES: list[Kernel] = [Matern(0.5, 0.8), Matern(1.5, (0.5, 2.0)), Matern(2.5)]
SHAPE = (5, 3)
LEFT, RIGHT = np.zeros(SHAPE), np.ones(SHAPE)


def test_distances_that_are_very_small_or_very_large() -> None:
    far = np.array([[0.0], [1e-9], [40.0], [1e9]])
    for kernel in (RBF(1.0), Matern(0.5), Matern(1.5), Matern(2.5)):
        row = kernel(far[:1], far)[0]
        assert row[0] == 1.0
        assert row[1] == pytest.approx(1.0, abs=2e-9)
        assert 0.0 <= row[2] < 1e-12
        assert row[3] == 0.0


@pytest.mark.parametrize("cls", [RBF, lambda scale: Matern(0.5, scale)])
@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (0.0, ValueError),
        (-1.0, ValueError),
        (math.nan, ValueError),
        (math.inf, ValueError),
        ([1.0, 0.0], ValueError),
        ([1.0, math.nan], ValueError),
        ([], ValueError),
        ([[1.0]], ValueError),
        ("1", TypeError),
        (None, TypeError),
        (True, TypeError),
        (["a"], TypeError),
    ],
)
def test_bad_length_scales(cls: Callable[[Any], Kernel], value: Any, kind: type[Exception]) -> None:
    owner = "RBF" if cls is RBF else "Matern"
    with refused(kind, owner, "lengthscale must", "got"):
        cls(value)


def test_length_scales_of_another_dimension() -> None:
    for kernel in (RBF((1.0, 2.0)), Matern(1.5, (1.0, 2.0))):
        with refused(ValueError, type(kernel).__name__, "lengthscale must have 3 entries", "got 2"):
            kernel(LEFT, RIGHT)


def test_length_scales_are_numbers_or_tuples() -> None:
    assert RBF([0.5, 1]) == RBF((0.5, 1.0)) == RBF(np.array([0.5, 1.0]))  # type: ignore[arg-type]
    assert RBF(np.float64(1.0)) == RBF(1) != RBF((1.0,))
    np.testing.assert_array_equal(RBF(2.0).scales(3), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(Matern(1.5, (2.0, 3.0)).scales(2), [2.0, 3.0])


def test_a_scalar_stays_a_scalar() -> None:
    assert RBF(1.0).with_parameters((2.0,)) == RBF(2.0)
    assert RBF((1.0,)).with_parameters((2.0,)) == RBF((2.0,))
    assert Matern(1.5, 1.0).with_parameters((2.0,)) == Matern(1.5, 2.0)
    assert Matern(1.5, (1.0,)).with_parameters((2.0,)) == Matern(1.5, (2.0,))


@pytest.mark.parametrize("lengthscale", [1e-200, 1e200, (1.0, 1e-160)])
def test_length_scales_that_numbers_cannot_square_are_refused(lengthscale: float | tuple[float, ...]) -> None:
    with refused(ValueError, "RBF", "lengthscale must lie between 1e-100 and 1e+100"):
        RBF(lengthscale)


def test_matern_comes_closer_to_rbf_as_it_gets_smoother() -> None:
    left, right = np.random.default_rng(0).normal(size=(5, 3)), np.random.default_rng(1).normal(size=(4, 3))
    gaps = [float(np.abs(Matern(nu, 1.0)(left, right) - RBF(1.0)(left, right)).max()) for nu in (0.5, 1.5, 2.5)]
    assert gaps[0] > gaps[1] > gaps[2]


def test_matern_does_not_split() -> None:
    for kernel in (Matern(1.5), 2.0 * Matern(1.5), RBF(1.0) + Matern(2.5)):
        with refused(TypeError, "Matern", "does not split", "Product(action_kernel, context_kernel)"):
            kernel.terms(2)


@pytest.mark.parametrize("scales", [0.7, SCALES], ids=["one scale", "one for each"])
@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_gradients(nu: float, scales: float | tuple[float, ...]) -> None:
    check_gradient(Matern(nu, scales), random_cloud(4, 3, 0, 0), random_cloud(5, 3, 0, 1))


@pytest.mark.parametrize("scales", [0.7, (0.7, 0.8)], ids=["one scale", "one for each"])
@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_gradients_where_points_meet(nu: float, scales: float | tuple[float, ...]) -> None:
    points = np.array([[0.0, 0.0], [0.0, 1e-200], [0.0, 1.0]])
    got = Matern(nu, scales).gradient(Cloud(np.ones(3), points), Cloud(np.ones(3), points))
    np.testing.assert_array_equal(got[:, [0, 1, 2], [0, 1, 2]], 0.0)
    np.testing.assert_allclose(got[:, 0, 1], 0.0, atol=1e-100)
    assert got[:, 0, 2].sum() > 0.1


@pytest.mark.parametrize(
    ("nu", "kind", "words"),
    [(2.0, ValueError, "nu must be 0.5, 1.5 or 2.5, got 2"), ("1.5", TypeError, "nu must be a number")],
)
def test_bad_smoothness(nu: Any, kind: type[Exception], words: str) -> None:
    with refused(kind, "Matern", words):
        Matern(nu)
