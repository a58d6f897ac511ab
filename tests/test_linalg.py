"""Products for any leading axes against plain ones, and symmetric matrices as rows of numbers against their traces."""

from __future__ import annotations

import numpy as np
import pytest

from overcast._check import Array
from overcast._linalg import add_outer, apply, at_most, dot, folded, root, triangle, upper


def _random(*shape: int) -> Array:
    A = np.random.default_rng(0).normal(size=(*shape, shape[-1]))
    return np.asarray(A + A.swapaxes(-1, -2))


@pytest.mark.parametrize("shape", [(1,), (4,), (3, 4), (2, 3, 5)])
def test_the_product_of_the_triangles_is_the_trace_of_the_product(shape: tuple[int, ...]) -> None:
    a, b = _random(*shape), _random(*shape)[..., ::-1, ::-1]
    expected = np.trace(a @ b, axis1=-2, axis2=-1)
    np.testing.assert_allclose(np.vecdot(folded(a), upper(b)), expected, rtol=1e-12, atol=1e-12)


def test_the_triangle_goes_row_by_row_and_counts_what_it_leaves_out() -> None:
    matrix = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
    np.testing.assert_array_equal(upper(matrix), [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(folded(matrix), [1, 4, 6, 4, 10, 6])
    i, j, times = triangle(3)
    np.testing.assert_array_equal(matrix[i, j], upper(matrix))
    assert times.sum() == 9


def test_the_shared_tables_cannot_be_written_to() -> None:
    for table in triangle(5):
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 1


@pytest.mark.parametrize("leading", [(), (3,), (2, 3)], ids=str)
def test_products_with_any_leading_axes(leading: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    matrix, scale = _random(*leading, 4), rng.normal(size=leading)
    vector, other = rng.normal(size=(2, *leading, 4))
    np.testing.assert_allclose(apply(matrix, vector), np.einsum("...ij,...j->...i", matrix, vector), rtol=1e-12)
    np.testing.assert_allclose(dot(vector, other), (vector * other).sum(axis=-1), rtol=1e-12)
    expected = matrix + scale[..., None, None] * vector[..., :, None] * vector[..., None, :]
    add_outer(matrix, vector, float(scale) if not leading else scale)
    np.testing.assert_allclose(matrix, expected, rtol=1e-12, atol=1e-14)


def test_the_product_of_two_vectors_is_a_plain_number() -> None:
    assert type(dot(np.ones(3), np.ones(3))) is float


def test_products_that_overflow_are_infinite_without_a_warning() -> None:
    """Warnings are errors in this suite."""
    assert dot(np.array([1e200]), np.array([1e200])) == np.inf
    np.testing.assert_array_equal(dot(np.array([[1e200], [2.0]]), np.array([[1e200], [3.0]])), [np.inf, 6.0])


def test_at_most_is_false_for_what_is_too_large_negative_or_no_number() -> None:
    assert at_most(0.0, 1.0)
    assert at_most(np.array(1.0), 1.0)
    assert at_most(np.array([0.0, 1.0]), 1.0)
    for value in (1.1, -0.1, np.nan, np.inf):
        assert not at_most(value, 1.0)
        assert not at_most(np.array(value), 1.0)
        assert not at_most(np.array([0.5, value]), 1.0)


def test_a_square_that_rounding_left_below_zero_has_root_zero() -> None:
    squares = np.array([4.0, -1e-18, 0.0])
    out = root(squares)
    assert out is squares
    np.testing.assert_array_equal(out, [2.0, 0.0, 0.0])
