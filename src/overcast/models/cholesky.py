"""A Cholesky factor that grows by one row at a time."""

from __future__ import annotations

import math

import numpy as np

from overcast._check import Array

# Rows that share one product; finished blocks never change and nothing is copied when the factor grows. Within a block
# the inverse of L is kept, so that NumPy's products are all it takes: SciPy's own BLAS has threads of its own, and the
# two wait for each other's.
BLOCK = 64

# The inverse of a block loses as many digits as its condition number has. Above this, a solution is refined once.
WELL_CONDITIONED = 1e3

# Right-hand sides up to which one product each is faster than one for all, which copies L as it goes.
FEW = 4


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
        self._inverse: list[Array] = []  # and the inverse of that
        self._largest: list[tuple[float, float]] = []  # and the largest entries of the two
        self._size = 0
        self.log_det = 0.0  #: log det M

    def __len__(self) -> int:
        return self._size

    def solve(self, right: Array) -> Array:
        """Return L^-1 right for right (t, m), shape (t, m)."""
        few = right.shape[1] <= FEW
        out = np.empty((self._size, right.shape[1]), order="F" if few else "C")
        for i, before in enumerate(self._before):
            low = i * BLOCK
            high = min(low + BLOCK, self._size)
            n = high - low
            part = right[low:high]
            if low:
                rows = before[:n]
                known = np.stack([rows @ column for column in out[:low].T], axis=1) if few else rows @ out[:low]
                part = part - known
            inverse = self._inverse[i][:n, :n]
            solution = inverse @ part
            if math.prod(self._largest[i]) > WELL_CONDITIONED:
                solution += inverse @ (part - self._within[i][:n, :n] @ solution)
            out[low:high] = solution
        return out

    def append(self, row: Array, pivot: float) -> None:
        """Add a row to L: its entries `row` (t,) before the diagonal, L^-1 times those of M, and `pivot` > 0 on it."""
        n = self._size % BLOCK
        low = self._size - n
        if n == 0:
            self._before.append(np.empty((BLOCK, low)))
            self._within.append(np.zeros((BLOCK, BLOCK)))
            self._inverse.append(np.zeros((BLOCK, BLOCK)))
            self._largest.append((0.0, 0.0))
        within, inverse = self._within[-1], self._inverse[-1]
        self._before[-1][n] = row[:low]
        within[n, :n], within[n, n] = row[low:], pivot
        inverse[n, :n], inverse[n, n] = row[low:] @ inverse[:n, :n] * (-1.0 / pivot), 1.0 / pivot
        largest = (float(np.abs(block[n, : n + 1]).max()) for block in (within, inverse))
        self._largest[-1] = max(self._largest[-1][0], next(largest)), max(self._largest[-1][1], next(largest))
        self._size += 1
        self.log_det += 2.0 * math.log(pivot)
