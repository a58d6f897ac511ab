"""The embeddings of several beliefs side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from overcast._check import Array
from overcast.beliefs.cloud import Cloud, mixed
from overcast.kernels.base import Kernel, in_pieces


class Embeddings:
    """Embedded beliefs, their components one after the other, and all their inner products with others."""

    def __init__(self, clouds: Sequence[Cloud]) -> None:
        sizes = [len(cloud.weights) for cloud in clouds]
        self._cloud = mixed(clouds, np.ones(len(clouds)))
        self._starts = np.cumsum([0, *sizes[:-1]], dtype=np.intp)

    @classmethod
    def of_points(cls, kernel: Kernel, points: Array) -> Embeddings:
        """Return the kernel functions of points (n, c)."""
        return cls([kernel.embed_points(point[None], np.ones(1)) for point in points])

    def inner(self, kernel: Kernel, other: Embeddings) -> Array:
        """Return <mu, nu> for every pair, shape (n, m)."""
        left, right = self._cloud, other._cloud
        pieces = (kernel.compare(part, right) * right.weights for part in in_pieces(left, right))
        products = np.concatenate([np.add.reduceat(piece, other._starts, axis=1) for piece in pieces])
        return np.add.reduceat(products * left.weights[:, None], self._starts, axis=0)
