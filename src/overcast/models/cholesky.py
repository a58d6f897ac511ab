"""A Cholesky factor that grows by one row at a time."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.blas import dtrsm

from overcast._check import Array

# Rows that share one product; finished blocks never change and nothing is copied when the factor grows. Within a block
# the factor is solved by substitution: its inverse would be no faster, and lose all digits where M is nearly singular.
BLOCK = 96


class Cholesky:
    """L with L L^T = M for a positive definite M (t, t) whose rows arrive one by one.

    Examples
    --------
    >>> factor = Cholesky()
    >>> factor.append(np.empty(0), 2.0)
    >>> factor.append(factor.solve(np.array([[2.0]]))[:, 0], 3.0)
    >>> factor.solve(np.array([[2.0], [10.0]]))
    array([[1.],
           [3.]])
    """

    def __init__(self) -> None:
        self._before: list[Array] = []  # of each block, the entries of L left of its diagonal block, (BLOCK, before)
        self._within: list[Array] = []  # of each block, its diagonal block, (BLOCK, BLOCK)
        self._size = 0
        self.log_det = 0.0  #: log det M

    def __len__(self) -> int:
        return self._size

    def solve(self, right: Array) -> Array:
        """Return L^-1 right for right (t, m), shape (t, m)."""
        out = np.empty((self._size, right.shape[1]))
        for i, (before, within) in enumerate(zip(self._before, self._within, strict=True)):
            low = i * BLOCK
            high = min(low + BLOCK, self._size)
            n = high - low
            part = right[low:high]
            if low:
                part = part - before[:n] @ out[:low]
            # Transposed, rows are the columns that BLAS takes without a copy.
            out[low:high] = dtrsm(1.0, within[:n, :n].T, part.T, side=1).T
        return out

    def append(self, row: Array, pivot: float) -> None:
        """Add a row to L: its entries `row` (t,) before the diagonal, L^-1 times those of M, and `pivot` > 0 on it."""
        n = self._size % BLOCK
        low = self._size - n
        if n == 0:
            self._before.append(np.empty((BLOCK, low)))
            self._within.append(np.zeros((BLOCK, BLOCK)))
        self._before[-1][n] = row[:low]
        self._within[-1][n, :n] = row[low:]
        self._within[-1][n, n] = pivot
        self._size += 1
        self.log_det += 2.0 * math.log(pivot)
