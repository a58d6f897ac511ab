"""Symmetric matrices as rows of numbers, so that many inner products with one of them are a single product."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array


@lru_cache(maxsize=64)
def triangle(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Return rows and columns of the upper triangle, and how often each entry occurs in the matrix; all read-only."""
    i, j = np.triu_indices(d)
    out = i, j, np.where(i == j, 1.0, 2.0)
    for array in out:
        array.setflags(write=False)
    return out


@lru_cache(maxsize=64)
def _places(d: int) -> NDArray[np.intp]:
    """Return where the matrix, row after row, holds the upper triangle."""
    i, j, _ = triangle(d)
    return np.asarray(i * d + j)


def upper(matrix: Array) -> Array:
    """Return the upper triangle of symmetric matrices (..., d, d), shape (..., d (d + 1) / 2)."""
    d = matrix.shape[-1]
    return np.asarray(matrix.reshape(*matrix.shape[:-2], d * d).take(_places(d), axis=-1))


def folded(matrix: Array) -> Array:
    """Return the upper triangle with the lower one added to it: its product with `upper(other)` is tr(matrix other).

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.array([[1.0, 2.0], [2.0, 3.0]]), np.array([[4.0, 5.0], [5.0, 6.0]])
    >>> float(folded(a) @ upper(b)), float((a * b).sum())
    (42.0, 42.0)
    """
    return np.asarray(upper(matrix) * triangle(matrix.shape[-1])[2])
