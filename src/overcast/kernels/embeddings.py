"""Mean embeddings: inner products k(mu, nu) = E[k(c, c')] for independent c ~ mu and c' ~ nu."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from overcast._check import Array
from overcast.beliefs.cloud import Cloud, kind_of, mixture

if TYPE_CHECKING:
    from overcast.kernels.base import Kernel

# Largest array of one comparison of two beliefs: an ensemble of 20,000 with itself would take 3 GB.
CHUNK = 2_000_000


def chunks(left: Cloud, right: Cloud) -> list[Cloud]:
    """Split the components of `left` into chunks small enough to compare with all of `right` at once."""
    full = max(kind_of(left.cov), kind_of(right.cov)) == 2  # one matrix per pair
    n = max(1, CHUNK // (len(right.weights) * (right.centres.shape[1] ** 2 if full else 1)))
    return [left.rows(slice(i, i + n)) for i in range(0, len(left.weights), n)]


def inner(kernel: Kernel, left: Cloud, right: Cloud) -> float:
    """Return E[k(c, c')] for two embedded beliefs."""
    parts = chunks(left, right)
    return float(sum(part.weights @ kernel.compare(part, right) @ right.weights for part in parts))


class Embeddings:
    """Several embedded beliefs, with concatenated components."""

    def __init__(self, clouds: Sequence[Cloud]) -> None:
        sizes = [len(cloud.weights) for cloud in clouds]
        self._cloud = mixture(clouds, np.ones(len(clouds)))
        self._starts = np.cumsum([0, *sizes[:-1]], dtype=np.intp)

    @classmethod
    def of_points(cls, kernel: Kernel, points: Array) -> Embeddings:
        """Embed points (n, c), as the kernel functions k(c_i, .)."""
        return cls([kernel.embed_points(point[None], np.ones(1)) for point in points])

    def inner(self, kernel: Kernel, other: Embeddings) -> Array:
        """Return <mu, nu> for every pair, shape (n, m)."""
        left, right = self._cloud, other._cloud
        parts = (kernel.compare(part, right) * right.weights for part in chunks(left, right))
        products = np.concatenate([np.add.reduceat(part, other._starts, axis=1) for part in parts])
        return np.add.reduceat(products * left.weights[:, None], self._starts, axis=0)
