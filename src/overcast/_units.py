"""Unit vectors stored by the index of their 1, which label actions without an array (k, k)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array


class Units:
    """k unit vectors with `size` entries: row i is 1 at place[i], and 0 elsewhere.

    It has the shape and the rows of the array (k, size), to which `numpy.asarray` converts it.

    Examples
    --------
    >>> units = Units(np.array([2, 0]), 3)
    >>> units.shape, np.asarray(units).tolist()
    ((2, 3), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    """

    ndim = 2

    def __init__(self, place: NDArray[np.intp], size: int) -> None:
        self.place, self.size = place, size

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.place), self.size

    def __len__(self) -> int:
        return len(self.place)

    def __getitem__(self, rows: Any) -> Array | Units:
        """Return one row as an array (size,), or some rows as unit vectors."""
        if isinstance(rows, (int, np.integer)):
            out = np.zeros(self.size)
            out[self.place[rows]] = 1.0
            return out
        return Units(self.place[rows], self.size)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        out = np.zeros(self.shape, dtype=np.float64 if dtype is None else dtype)
        out[np.arange(len(self)), self.place] = 1.0
        return out

    def widened(self, size: int) -> Units:
        """Append zeros to each vector, up to `size` entries."""
        return Units(self.place, size)


#: vectors of actions, (k, a)
Vectors = Array | Units


def same_vectors(left: Vectors, right: Vectors) -> bool:
    """Return whether two sets of vectors are equal, row by row."""
    if isinstance(left, Units) and isinstance(right, Units):
        return left.size == right.size and np.array_equal(left.place, right.place)
    return left.shape == right.shape and np.array_equal(np.asarray(left), np.asarray(right))


class Points:
    """k actions (k, a), prepared for questions; subclasses hold what their learner precomputes.

    Examples
    --------
    >>> len(Points(np.array([[1.0], [2.0]])))
    2
    """

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors

    def __len__(self) -> int:
        """Return k."""
        return int(self.vectors.shape[-2])
