"""Maps of any form, such as a function: their designs write out the features of all actions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._linalg import Indices, apply, folded
from overcast.beliefs.base import Belief, Beliefs
from overcast.features.base import FeatureMap, no_closed_form
from overcast.features.design import Design, Index, Row, View, pick


class Prepared:
    """Expectations of phi(x, .) for fixed actions (k, a); here from the points of a finite support, or from draws."""

    def __init__(self, features: Dense, actions: Array, c: int) -> None:
        self._features = features
        self._actions = actions
        self._context_dim = c

    def with_actions(self, actions: Array, of: Indices) -> Prepared:
        """Return the same for other actions, in which row i is the present row of[i], or new if it is -1."""
        out = copy.copy(self)
        out._actions = actions
        # One by one, so that the last digit does not depend on which actions came together.
        out._extend(of, [self._features._prepare(action[None], self._context_dim) for action in actions[of < 0]])
        return out

    def _extend(self, of: Indices, new: list[Any]) -> None:
        """Reorder what was computed for each action, and add that of the new actions, each prepared on its own."""

    def expected(self, belief: Belief) -> Array:
        """Return E_mu[phi(x, c)], shape (k, d), or raise NoClosedForm."""
        finite = belief.support()
        if finite is None:  # the support is infinite, or has too many points
            raise no_closed_form(self._features, belief)
        return np.asarray(np.einsum("knd,n->kd", self._features._evaluate(self._actions, finite[0]), finite[1]))

    def sampled(self, belief: Belief, samples: int, rng: np.random.Generator) -> Array:
        """Return the average of phi over `samples` draws, shape (k, d)."""
        return np.asarray(self._features._evaluate(self._actions, belief.sample(samples, rng)).mean(axis=1))

    def deviations(self, belief: Belief, excess: float, which: slice = slice(None)) -> Array:
        """Return A (k, n, d) with A_k^T A_k = Cov(phi) of some actions, from contexts that stand for the belief."""
        points, weights = belief.stand_in()
        phi = self._features._evaluate(self._actions[which], points)
        centred = phi - (weights[:, None] * phi).sum(axis=1, keepdims=True)
        return np.asarray(centred * np.sqrt(weights * (1.0 + excess))[:, None])


class Dense(FeatureMap):
    """A map of any form.

    Expectations are exact if the belief has finite support. A map overrides `_prepare` if it knows more expectations,
    or if it can compute something once for fixed actions.

    Examples
    --------
    >>> import overcast as oc
    >>> gap = oc.features.Function(lambda actions, contexts: (actions[:, None] - contexts[None]) ** 2, 1)
    >>> isinstance(gap, Dense), gap.expected([[1.0]], oc.Ensemble([[0.0], [3.0]]))
    (True, array([[2.5]]))
    """

    def _prepare(self, actions: Array, c: int) -> Prepared:
        """Return the object that gives the expectations for checked actions (k, a) in every round."""
        return Prepared(self, actions, c)

    def _design(self, actions: Array, c: int) -> DenseDesign:
        return DenseDesign(self, actions, c)


@dataclass(frozen=True)
class Function(Dense):
    """phi(x, c) = fn(actions, contexts), e.g. the last layer of a network.

    Expectations are exact if the belief has finite support; pass `samples=` for other beliefs.

    Parameters
    ----------
    fn : takes actions (k, a) and contexts (n, c), and returns features (k, n, dim)
    dim : number of features, d

    Examples
    --------
    >>> distance = Function(lambda x, c: ((x[:, None] - c[None]) ** 2).sum(-1, keepdims=True), dim=1)
    >>> distance([[0.0], [1.0]], [[3.0]])
    array([[[9.]],
    <BLANKLINE>
           [[4.]]])
    """

    fn: Callable[[Array, Array], Array]
    dim: int

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise TypeError(f"Function: fn must be a function of actions and contexts, got {_check.short(self.fn)}")
        _check.integer("Function", "dim", self.dim, at_least=1)

    def size(self, a: int, c: int) -> int:
        return self.dim

    def _evaluate(self, actions: Array, contexts: Array) -> Array:
        shape = (len(actions), len(contexts), self.dim)
        return _check.array("Function", "fn's result", self.fn(actions, contexts), shape)


class DenseDesign(Design):
    """The terms of a view are psi itself, (..., k, d). Covariances come from contexts that stand for the belief."""

    stacks = False  # the features of all actions under many beliefs would take too much room

    def __init__(self, features: Dense, actions: Array, c: int) -> None:
        super().__init__(features, actions, c)
        d = features.size(actions.shape[-1], c)
        self.shape, self.terms_shape = (d,), (self.k, d)
        sets = actions if actions.ndim > 2 else [actions]
        self._prepared = [features._prepare(own, c) for own in sets]  # of each trial, or one for all

    def _take(self, actions: Array, of: Indices) -> None:
        self.terms_shape = (self.k, *self.shape)
        self._prepared = [self._prepared[0].with_actions(actions, of)]

    def _each(self, beliefs: Beliefs, compute: Callable[..., Array], *given: Iterable[Any]) -> Array:
        """Return `compute(prepared, belief, *given)`, or that of each trial, stacked."""
        prepared = self._prepared if len(self._prepared) > 1 else repeat(self._prepared[0])
        found = [compute(*own) for own in zip(prepared, beliefs.singles(), *given, strict=False)]
        return np.stack(found) if beliefs.leading else found[0]

    def _expected(self, beliefs: Beliefs) -> Array:
        return self._each(beliefs, lambda prepared, belief: prepared.expected(belief))

    def _sampled(self, beliefs: Beliefs, samples: int, rng: Any) -> Array:
        rngs = rng if beliefs.leading else [rng]
        return self._each(beliefs, lambda prepared, belief, own: prepared.sampled(belief, samples, own), rngs)

    def features(self, terms: Array) -> Array:
        return terms

    def along(self, view: View, theta: Array) -> Array:
        return apply(view.terms, theta)

    def quadratic(self, view: View, M: Array) -> Array:
        return np.asarray(np.vecdot(view.terms @ M, view.terms))

    def context_variance(self, view: View, M: Array) -> Array:
        def variance(prepared: Prepared, belief: Belief, own: Array) -> Array:
            away = prepared.deviations(belief, view.excess)
            return np.asarray(np.vecdot(away @ own, away).sum(axis=-1))

        return self._each(view.beliefs, variance, M if view.beliefs.leading else [M])

    def row(self, view: View, index: Index, cov: bool) -> Row:
        def covariance(prepared: Prepared, belief: Belief, i: int) -> Array:
            away = prepared.deviations(belief, view.excess, slice(i, i + 1))[0]
            return folded(away.T @ away)

        # A copy: a decision may wait long for its reward, and a slice would keep the features of all actions in memory.
        psi = np.array(pick(view.terms, index, view.terms.shape[:-2]))
        return Row(psi, self._each(view.beliefs, covariance, np.atleast_1d(index)) if cov else None)
