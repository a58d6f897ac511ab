"""Disjoint features: one block of parameters for each action, as in classic LinUCB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._linalg import Indices, folded, upper
from overcast._units import Units, Vectors
from overcast.beliefs.base import Beliefs
from overcast.features.base import FeatureMap, no_closed_form
from overcast.features.design import Design, DesignPoints, Index, Row, View, pick
from overcast.features.linear import Bilinear
from overcast.features.standard import (
    Frame,
    Moments,
    add_near_constant,
    compress_diagonal,
    constant_of_moments,
    expand_diagonal,
    side_of_moments,
    variety,
)

# The context terms of this map are the context itself.
_CONTEXT = Bilinear()


@dataclass(frozen=True)
class Disjoint(FeatureMap):
    """phi(x_i, c) holds c in block i and zeros elsewhere, d = k * c: the `k` actions share no parameters.

    Actions are the k unit vectors (`numpy.eye(k)`), which a bandit assigns to a list of names. Add a constant entry to
    the context for an intercept. `LinearModel` stores one matrix per block, so a round costs k * c^2, not (k * c)^2.
    All blocks share learnt noise and ridge.

    Examples
    --------
    >>> Disjoint(2)(np.eye(2), [[3.0, 4.0]])
    array([[[3., 4., 0., 0.]],
    <BLANKLINE>
           [[0., 0., 3., 4.]]])
    """

    k: int

    def __post_init__(self) -> None:
        _check.integer("Disjoint", "k", self.k, at_least=1)

    def size(self, a: int, c: int) -> int:
        if a != self.k:
            raise ValueError(f"Disjoint: actions must be unit vectors of {self.k} entries, got vectors of {a}")
        return self.k * c

    def blocks(self, actions: Vectors) -> Indices:
        """Return the block of each action, shape (..., k); raise ValueError unless all rows are unit vectors."""
        if isinstance(actions, Units):
            return actions.place
        if not (np.isin(actions, (0.0, 1.0)).all() and (actions.sum(axis=-1) == 1.0).all()):
            raise ValueError(f"Disjoint: actions must be unit vectors, rows of numpy.eye({self.k}), got other numbers")
        return np.asarray(actions.argmax(axis=-1))

    def widened(self, a: int) -> Disjoint:
        return Disjoint(a)

    def names(self, actions: Sequence[str], contexts: Sequence[str]) -> list[str]:
        return [f"{action} {context}" for action in actions for context in contexts]

    def _evaluate(self, actions: Array, contexts: Array) -> Array:
        self.blocks(actions)
        k, n = len(actions), len(contexts)
        return np.asarray(np.einsum("ki,nc->knic", actions, contexts)).reshape(k, n, -1)

    def _design(self, a: int, c: int) -> DisjointDesign:
        return DisjointDesign(self, c)


class DisjointDesign(Design):
    """The design of `Disjoint`. The terms of a view are E[c], shape (..., c), the features of each action's block."""

    def __init__(self, features: Disjoint, c: int, standard: bool = False) -> None:
        super().__init__(features, features.k, c)
        self.map, self._standard = features, standard
        self.shape, self.terms_shape = (features.k, c), (c,)
        self.terms = c if standard else 0

    def at(self, vectors: Vectors) -> DisjointPoints:
        return DisjointPoints(self, vectors)

    def widened(self, k: int) -> DisjointDesign:
        """Return the design with more blocks."""
        return DisjointDesign(self.map.widened(k), self._context_dim, self._standard)

    def standard(self, reference: Vectors) -> DisjointDesign:
        return DisjointDesign(self.map, self._context_dim, standard=True)

    def moments(self, view: View) -> Moments | None:
        if not self._standard:
            return None
        return Moments(view.terms, np.broadcast_to(view.beliefs.variance() * (1.0 + view.excess), view.terms.shape))

    def frame(self, moments: Moments) -> Frame:
        matrix, one, _ = add_near_constant(side_of_moments(moments), constant_of_moments(moments))
        matrix = compress_diagonal(matrix)
        diversity = np.asarray(variety(moments).mean(axis=-1))
        return Frame(matrix, matrix, np.repeat(one[..., None, :], self.shape[0], axis=-2), diversity)

    def through(self, view: View, frame: Frame) -> View:
        return View(frame.turn_terms(view.terms), view.beliefs, view.excess)

    def coefficients(self, frame: Frame | None) -> Array | None:
        return None if frame is None else expand_diagonal(frame.matrix, frame.one.ndim)

    def _expected(self, beliefs: Beliefs) -> Array:
        if not beliefs.exact:
            raise no_closed_form(self._features, beliefs)
        return beliefs.mean()

    def _sampled(self, beliefs: Beliefs, samples: int, rng: Any) -> Array:
        return beliefs.sample_mean(samples, rng)


class DisjointPoints(DesignPoints):
    """Actions of `Disjoint`, by their blocks."""

    def __init__(self, design: DisjointDesign, vectors: Vectors) -> None:
        super().__init__(vectors)
        self._design = design
        self._blocks = design.map.blocks(vectors)  # (k,) or (r, k)

    def features(self, terms: Array) -> Array:
        full = np.asarray(self.vectors)[..., :, None] * terms[..., None, None, :]  # (..., k, blocks, c)
        return full.reshape(*full.shape[:-2], -1)

    def along(self, view: View, theta: Array) -> Array:
        return self._of_actions(np.vecdot(theta, view.terms[..., None, :]))

    def quadratic(self, view: View, M: Array) -> Array:
        m = view.terms
        *_, blocks, c, _ = M.shape
        rows = M.reshape(*M.shape[:-3], blocks * c, c)  # of all blocks, for one product
        half = (rows @ m[..., None]).reshape(*m.shape[:-1], blocks, c)
        return self._of_actions((half @ m[..., None])[..., 0])

    def context_variance(self, view: View, M: Array) -> Array:
        return self._of_actions(np.vecdot(upper(M), _covariance(view)[..., None, :]))

    def _of_actions(self, by_block: Array) -> Array:
        """Look up the value of each action's block, (..., blocks) to (..., k)."""
        if self._blocks.ndim == 1:
            return by_block[..., self._blocks]
        return np.take_along_axis(by_block, self._blocks, axis=-1)

    def row(self, view: View, index: Index, cov: bool) -> Row:
        block = pick(self._blocks, index, self._blocks.shape[:-1])
        return Row(view.terms.copy(), _covariance(view) if cov else None, block, self._design.moments(view))


def _covariance(view: View) -> Array:
    """Return the folded covariance of the context, including the excess by sampling, (..., c (c + 1) / 2)."""
    return folded(_CONTEXT.term_covariance(view.beliefs)) * (1.0 + view.excess)
