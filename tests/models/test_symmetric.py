"""Symmetric matrices as rows of numbers, against their traces."""

from __future__ import annotations

import numpy as np
import pytest

from overcast._check import Array
from overcast.models.symmetric import folded, triangle, upper


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
