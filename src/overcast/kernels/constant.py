"""The constant kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Cloud
from overcast.kernels.base import Kernel, Term


@dataclass(frozen=True)
class Constant(Kernel):
    """The constant kernel k(u, v) = 1: an intercept in a sum, or a factor that ignores actions or contexts.

    Examples
    --------
    >>> Constant()([[1.0]], [[3.0], [4.0]])
    array([[1., 1.]])
    """

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.ones((len(left), len(right)))

    def diagonal(self, points: Array) -> Array:
        return np.ones(len(points))

    def embed(self, belief: Belief) -> Cloud:
        return Cloud(np.ones(1), np.zeros((1, 1)))

    def embed_points(self, points: Array, weights: Array) -> Cloud:
        return Cloud(np.ones(1), np.zeros((1, 1)))

    def frequencies(self, normal: Array, rng: np.random.Generator) -> Array:
        return np.zeros(normal.shape)

    def terms(self, a: int) -> tuple[Term, ...]:
        return ((self, self),)
