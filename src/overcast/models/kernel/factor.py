"""A Cholesky factor that grows by one row at a time."""

from __future__ import annotations

import math

import numpy as np

from overcast._check import Array

# Rows of a tile, which share one product. Full tiles never change, and nothing is copied when the factor grows. Each
# tile stores the inverse of its diagonal block, so that solving takes only NumPy's products: SciPy's BLAS has separate
# threads, and the threads of the two would wait for each other.
TILE = 64
# The inverse of a tile loses the digits of its condition number. Above this, a solution is refined once.
WELL_CONDITIONED = 1e3
# Up to so many right-hand sides, one product each is faster than a joint one, which copies L.
FEW = 4


class Cholesky:
    """A Cholesky factor L, L L^T = M, of a positive definite M (t, t) whose rows arrive one by one.

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
        self._before: list[Array] = []  # per tile, the entries of L left of its diagonal block, (TILE, before)
        self._within: list[Array] = []  # per tile, its diagonal block, (TILE, TILE)
        self._inverse: list[Array] = []  # per tile, the inverse of that block
        self._largest: list[tuple[float, float]] = []  # per tile, the largest entries of block and inverse
        self._size = 0
        self.log_det = 0.0  #: log det M

    @classmethod
    def of(cls, matrix: Array) -> Cholesky:
        """Factorise a matrix M (t, t); raise LinAlgError if it is not positive definite."""
        root = np.linalg.cholesky(matrix)
        out = cls()
        for low in range(0, len(root), TILE):
            n = min(TILE, len(root) - low)
            before, within, inverse = np.empty((TILE, low)), np.zeros((TILE, TILE)), np.zeros((TILE, TILE))
            before[:n] = root[low : low + n, :low]
            within[:n, :n] = root[low : low + n, low : low + n]
            inverse[:n, :n] = np.tril(np.linalg.inv(within[:n, :n]))
            out._before.append(before)
            out._within.append(within)
            out._inverse.append(inverse)
            out._largest.append((float(np.abs(within).max()), float(np.abs(inverse).max())))
        out._size = len(root)
        out.log_det = 2.0 * float(np.log(root.diagonal()).sum())
        return out

    def product(self) -> Array:
        """Return M, (t, t)."""
        root = np.zeros((self._size, self._size))
        for i, (before, within) in enumerate(zip(self._before, self._within, strict=True)):
            low = i * TILE
            rows = root[low : low + TILE]
            rows[:, :low] = before[: len(rows)]
            rows[:, low : low + TILE] = within[: len(rows), : len(rows)]
        return root @ root.T

    def last(self) -> tuple[Array, float]:
        """Return the last row of L: the entries before the diagonal, (t - 1,), and the pivot."""
        n = (self._size - 1) % TILE
        within = self._within[-1]
        return np.concatenate([self._before[-1][n], within[n, :n]]), float(within[n, n])

    def __len__(self) -> int:
        return self._size

    def solve(self, right: Array) -> Array:
        """Return L^-1 right for right (t, m), shape (t, m)."""
        few = right.shape[1] <= FEW
        out = np.empty((self._size, right.shape[1]), order="F" if few else "C")
        for i, before in enumerate(self._before):
            low = i * TILE
            high = min(low + TILE, self._size)
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

    def solve_one(self, right: Array) -> Array:
        """Return L^-1 right for one right-hand side (t,), with half the overhead of `solve`."""
        out = np.empty(self._size)
        for i, before in enumerate(self._before):
            low = i * TILE
            high = min(low + TILE, self._size)
            n = high - low
            part = right[low:high] - before[:n].dot(out[:low]) if low else right[low:high]
            inverse = self._inverse[i][:n, :n]
            solution = inverse.dot(part)
            if math.prod(self._largest[i]) > WELL_CONDITIONED:
                solution += inverse.dot(part - self._within[i][:n, :n].dot(solution))
            out[low:high] = solution
        return out

    def append(self, row: Array, pivot: float) -> None:
        """Append a row to L: `row` (t,), which is L^-1 times the new row of M, and the diagonal entry `pivot` > 0."""
        n = self._size % TILE
        low = self._size - n
        if n == 0:
            self._before.append(np.empty((TILE, low)))
            self._within.append(np.zeros((TILE, TILE)))
            self._inverse.append(np.zeros((TILE, TILE)))
            self._largest.append((0.0, 0.0))
        within, inverse = self._within[-1], self._inverse[-1]
        self._before[-1][n] = row[:low]
        within[n, :n], within[n, n] = row[low:], pivot
        inverse[n, :n], inverse[n, n] = row[low:] @ inverse[:n, :n] * (-1.0 / pivot), 1.0 / pivot
        largest = (float(np.abs(square[n, : n + 1]).max()) for square in (within, inverse))
        self._largest[-1] = max(self._largest[-1][0], next(largest)), max(self._largest[-1][1], next(largest))
        self._size += 1
        self.log_det += 2.0 * math.log(pivot)
