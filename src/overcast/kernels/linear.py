"""The linear kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Cloud
from overcast.kernels.base import Kernel, Term, no_closed_form
from overcast.kernels.constant import Constant


@dataclass(frozen=True)
class Linear(Kernel):
    """k(u, v) = u^T v. Embeddings need the means alone: E[k] = E[c]^T E[c'].

    `Product(Linear(), Linear())` is the kernel of `features.Bilinear`.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(left @ right.T)

    def diagonal(self, points: Array) -> Array:
        return np.asarray(np.vecdot(points, points))

    def embed(self, belief: Belief) -> Cloud:
        if not belief.exact:
            raise no_closed_form(self, belief)
        return Cloud(np.ones(1), belief.mean()[None])

    def embed_points(self, points: Array, weights: Array) -> Cloud:
        return Cloud(np.ones(1), (weights @ points)[None])

    def terms(self, a: int) -> tuple[Term, ...]:
        return (self, Constant()), (Constant(), self)
