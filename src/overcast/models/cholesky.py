"""A Cholesky factor that grows by one row at a time."""

from __future__ import annotations

import math

import numpy as np

from overcast._check import Array

# Rows that share one product. Within a block the inverse of the factor is kept, so that a solve is a few products of
# matrices; finished blocks never change and nothing is copied when the factor grows.
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
        self._inverse: list[Array] = []  # of each block, the inverse of its diagonal block, (BLOCK, BLOCK)
        self._size = 0
        self.log_det = 0.0  #: log det M

    def __len__(self) -> int:
        return self._size

    def solve(self, right: Array) -> Array:
        """Return L^-1 right for right (t, m), shape (t, m)."""
        out = np.empty((self._size, right.shape[1]))
        for i, (before, inverse) in enumerate(zip(self._before, self._inverse, strict=True)):
            low = i * BLOCK
            high = min(low + BLOCK, self._size)
            n = high - low
            part = right[low:high]
            if low:
                part = part - before[:n] @ out[:low]
            np.matmul(inverse[:n, :n], part, out=out[low:high])
        return out

    def append(self, row: Array, pivot: float) -> None:
        """Add a row to L: its entries `row` (t,) before the diagonal, L^-1 times those of M, and `pivot` > 0 on it."""
        n = self._size % BLOCK
        low = self._size - n
        if n == 0:
            self._before.append(np.empty((BLOCK, low)))
            self._inverse.append(np.zeros((BLOCK, BLOCK)))
        inverse = self._inverse[-1]
        self._before[-1][n] = row[:low]
        inverse[n, :n] = row[low:] @ inverse[:n, :n] * (-1.0 / pivot)
        inverse[n, n] = 1.0 / pivot
        self._size += 1
        self.log_det += 2.0 * math.log(pivot)
