"""Disjoint features: one parameter block an action, as in classic LinUCB."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.features.base import FeatureMap, no_closed_form


@dataclass(frozen=True)
class Disjoint(FeatureMap):
    """phi(x_i, c) holds c in block i and zeros elsewhere, d = k * c: nothing is shared between the `k` actions.

    Actions are the k unit vectors (`numpy.eye(k)`), which is what a bandit makes of a list of names. Add a constant
    entry to the context for an intercept. `LinearModel` keeps the blocks apart, so that a round costs k * c^2, not
    (k * c)^2; where noise and ridge are learnt, the blocks share them.

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

    def blocks(self, actions: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        """Return the block of each action, shape (..., k), after checking that rows are unit vectors."""
        if not (np.isin(actions, (0.0, 1.0)).all() and (actions.sum(axis=-1) == 1.0).all()):
            raise ValueError(f"Disjoint: actions must be unit vectors, rows of numpy.eye({self.k}), got other numbers")
        return np.asarray(actions.argmax(axis=-1))

    def _evaluate(self, actions: Array, contexts: Array) -> Array:
        self.blocks(actions)
        k, n = len(actions), len(contexts)
        return np.asarray(np.einsum("ki,nc->knic", actions, contexts)).reshape(k, n, -1)

    def _expected(self, actions: Array, belief: Belief) -> Array:
        if not belief.exact:
            raise no_closed_form(self, belief)
        return self._evaluate(actions, belief.mean()[None, :])[:, 0]

    def _sampled(self, actions: Array, belief: Belief, samples: int, rng: np.random.Generator) -> Array:
        return self._evaluate(actions, belief.sample_mean(samples, rng)[None, :])[:, 0]
