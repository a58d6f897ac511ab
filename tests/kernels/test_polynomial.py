"""The linear and the polynomial kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from overcast.kernels import Kernel, Linear, Polynomial
from support import refused

EXAMPLES: list[Kernel] = [Linear(), Polynomial(2, 0.5, 2.0), Polynomial(3, offset=0.0)]
LEFT, RIGHT = (np.random.default_rng(seed).normal(size=(n, 3)) for seed, n in ((0, 5), (1, 4)))


def test_a_polynomial_kernel_is_the_inner_product_of_its_features() -> None:
    """(s u v + o)^2 = o^2 + 2 o s u v + s^2 u^2 v^2 in one dimension."""
    s, o = 0.3, 1.7
    cloud = Polynomial(2, s, o).embed_points(np.array([[2.0]]), np.ones(1))
    np.testing.assert_allclose(cloud.centres, [[o, math.sqrt(2 * o * s) * 2.0, s * 4.0]], rtol=1e-14)
    for degree, size in ((1, 4), (2, 10), (3, 20)):  # binomial(degree + 3, 3) monomials in three variables
        kernel = Polynomial(degree, s, o)
        rows = [kernel.embed_points(u[None], np.ones(1)).centres[0] for u in (*LEFT, *RIGHT)]
        assert rows[0].shape == (size,)
        np.testing.assert_allclose(np.array(rows[:5]) @ np.array(rows[5:]).T, kernel(LEFT, RIGHT), rtol=1e-12)
    highest = Polynomial(3, offset=0.0).embed_points(LEFT[:1], np.ones(1))
    assert highest.centres.shape == (1, 10)


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ((0,), ValueError, "degree must be >= 1, got 0"),
        ((1.5,), TypeError, "degree must be a whole number"),
        ((2, 0.0), ValueError, "scale must be > 0"),
        ((2, 1.0, -1.0), ValueError, "offset must be >= 0"),
    ],
)
def test_bad_arguments(arguments: tuple[Any, ...], kind: type[Exception], words: str) -> None:
    with refused(kind, "Polynomial", words):
        Polynomial(*arguments)


def test_embeddings_are_means() -> None:
    points, weights = np.random.default_rng(0).normal(size=(5, 2)), np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    cloud = Linear().embed_points(points, weights)
    np.testing.assert_array_equal(cloud.weights, [1.0])
    np.testing.assert_allclose(cloud.centres, [weights @ points], rtol=1e-14)
    assert cloud.cov is None
