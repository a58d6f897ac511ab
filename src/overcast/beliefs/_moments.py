"""Raw moments E[prod_i c_i^powers[j, i]] in closed form, shared by several beliefs."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array

Powers = NDArray[np.int64]


def average(values: Array) -> Array:
    """Return the mean over the last axis but one, (..., n, q) to (..., q), by a product, which beats numpy's mean."""
    return np.asarray(_uniform(values.shape[-2]) @ values)


@lru_cache(maxsize=8)
def _uniform(n: int) -> Array:
    return np.full(n, 1.0 / n)


@lru_cache(maxsize=64)
def exponents(dim: int, degree: int) -> NDArray[np.int64]:
    """Return the exponents of all monomials in `dim` variables up to `degree`, lowest degree first, shape (m, dim)."""
    rows = [
        np.bincount(np.array(picks, dtype=np.int64), minlength=dim)
        for total in range(degree + 1)
        for picks in combinations_with_replacement(range(dim), total)
    ]
    out = np.array(rows, dtype=np.int64)
    out.setflags(write=False)
    return out


def of_points(points: Array, weights: Array, powers: Powers) -> Array:
    """Return the moments (m,) of a finite support: points (n, c), weights (n,), powers (m, c)."""
    top = int(powers.max(initial=0))
    # Products of whole columns: `points ** powers` would call pow() n * m * c times.
    table = [np.ascontiguousarray(points.T)]
    for _ in range(1, top):
        table.append(table[-1] * table[0])
    out = np.empty(len(powers))
    for j, row in enumerate(powers):
        term = weights
        for i in np.flatnonzero(row):
            term = term * table[row[i] - 1][i]
        out[j] = term.sum()
    return out


def of_gaussian(mean: Array, variance: Array, top: int) -> Array:
    """Return E[c_i^p] of normal coordinates for p = 0..top, shape (top + 1, *mean.shape).

    By Stein's lemma, E[c^(p+1)] = mean E[c^p] + p variance E[c^(p-1)].
    """
    table = np.empty((top + 1, *mean.shape))
    table[0] = 1.0
    if top:
        table[1] = mean
    for p in range(1, top):
        table[p + 1] = mean * table[p] + p * variance * table[p - 1]
    return table


def of_independent(table: Array, powers: Powers) -> Array:
    """Return the joint moments (..., m) of independent coordinates from `table` (top + 1, ..., c)."""
    coordinates = np.arange(powers.shape[1])
    # The two index arrays straddle the trial axes, so NumPy puts (m, c) first.
    picked = table[powers, ..., coordinates]
    return np.moveaxis(picked.prod(axis=1), 0, -1)
