"""Linear algebra for any leading axes, with faster calls for none."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import ddot, dger

from overcast._check import Array

Indices = NDArray[np.intp]


def apply(matrix: Array, vector: Array) -> Array:
    """Return matrix @ vector, shape (..., n)."""
    return matrix.dot(vector) if vector.ndim == 1 else (matrix @ vector[..., None])[..., 0]


def dot(left: Array, right: Array) -> float | Array:
    """Return the inner product along the last axis, a float for two vectors; infinite on overflow."""
    if left.ndim == 1:
        return float(ddot(left, right))
    with np.errstate(over="ignore"):  # BLAS does not warn either
        return np.asarray(np.vecdot(left, right))


def add_outer(matrix: Array, vector: Array, scale: float | Array) -> None:
    """Add scale * vector vector^T to symmetric matrices in place."""
    if vector.ndim == 1:
        # The transpose of a symmetric matrix is the column-major one that BLAS updates without a copy.
        dger(scale, vector, vector, a=matrix.T, overwrite_a=1)
    else:
        matrix += np.einsum("...i,...j->...ij", vector * np.asarray(scale)[..., None], vector)


def at_most(value: float | Array, limit: float) -> bool:
    """Return whether 0 <= value <= limit everywhere; False for NaN."""
    if isinstance(value, np.ndarray) and value.ndim:
        return bool(value.min(initial=limit) >= 0.0 and value.max(initial=0.0) <= limit)
    return bool(0.0 <= value <= limit)


def root(squares: Array) -> Array:
    """Take the square root in place, with slightly negative squares as zero."""
    np.maximum(squares, 0.0, out=squares)
    return np.sqrt(squares, out=squares)


@lru_cache(maxsize=64)
def triangle(d: int) -> tuple[Indices, Indices, Array]:
    """Return rows, columns and multiplicities (1 or 2) of the upper triangle's entries, read-only."""
    i, j = np.triu_indices(d)
    out = i, j, np.where(i == j, 1.0, 2.0)
    for array in out:
        array.setflags(write=False)
    return out


@lru_cache(maxsize=64)
def _places(d: int) -> Indices:
    """Return the flat indices of the upper triangle."""
    i, j, _ = triangle(d)
    return np.asarray(i * d + j)


def upper(matrix: Array) -> Array:
    """Return the upper triangle of symmetric matrices (..., d, d) as rows of numbers (..., d (d + 1) / 2)."""
    d = matrix.shape[-1]
    if matrix.ndim == 2:
        return matrix.reshape(-1)[_places(d)]
    return matrix.reshape(*matrix.shape[:-2], d * d).take(_places(d), axis=-1)


def folded(matrix: Array) -> Array:
    """Return the upper triangle plus the lower one, whose product with `upper(other)` is tr(matrix other).

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.array([[1.0, 2.0], [2.0, 3.0]]), np.array([[4.0, 5.0], [5.0, 6.0]])
    >>> float(folded(a) @ upper(b)), float((a * b).sum())
    (42.0, 42.0)
    """
    return upper(matrix) * triangle(matrix.shape[-1])[2]
