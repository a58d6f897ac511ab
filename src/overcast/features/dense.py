"""Maps of any form, such as a function: their points hold the features of all actions explicitly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._linalg import apply, folded
from overcast._units import Vectors
from overcast.beliefs.base import Belief, Beliefs
from overcast.features.base import FeatureMap, no_closed_form
from overcast.features.design import Design, DesignPoints, Index, Row, View, pick


class WeightedContexts(NamedTuple):
    """Contexts (n, c) with weights (n,) in place of a belief; weights are None for draws, which are equally likely."""

    contexts: Array
    weights: Array | None


class Prepared:
    """Computes expectations of phi(x, .) for fixed actions (k, a); here from weighted contexts."""

    def __init__(self, features: Dense, actions: Array, c: int) -> None:
        self._features, self._actions = features, actions

    def expected(self, embedded: Any) -> Array:
        """Return E_mu[phi(x, c)], shape (k, d), for a belief as `Dense._embed` or `Dense._embed_draws` returns it."""
        contexts, weights = embedded
        phi = self._features._evaluate(self._actions, contexts)
        return np.asarray(phi.mean(axis=1) if weights is None else np.einsum("knd,n->kd", phi, weights))

    def deviations(self, belief: Belief, excess: float, which: slice = slice(None)) -> Array:
        """Return A (k, n, d) with A_k^T A_k = Cov(phi) of some actions, from `stand_in` contexts of the belief."""
        points, weights = belief.stand_in()
        phi = self._features._evaluate(self._actions[which], points)
        centred = phi - (weights[:, None] * phi).sum(axis=1, keepdims=True)
        return np.asarray(centred * np.sqrt(weights * (1.0 + excess))[:, None])


class Dense(FeatureMap):
    """A map of any form.

    Expectations are exact if the belief has finite support. A map with closed forms for more beliefs overrides `_embed`
    and `_embed_draws`, which summarise a belief, and `_prepare`, whose result combines the summary with fixed actions.

    Examples
    --------
    >>> import overcast as oc
    >>> gap = oc.features.Function(lambda actions, contexts: (actions[:, None] - contexts[None]) ** 2, 1)
    >>> isinstance(gap, Dense), gap.expected([[1.0]], oc.Ensemble([[0.0], [3.0]]))
    (True, array([[2.5]]))
    """

    def _embed(self, belief: Belief, a: int) -> Any:
        """Summarise a belief for expectations under actions of dimension `a`, or raise NoClosedForm."""
        finite = belief.support()
        if finite is None:  # the support is infinite, or has too many points
            raise no_closed_form(self, belief)
        return WeightedContexts(*finite)

    def _embed_draws(self, draws: Array, a: int) -> Any:
        """Summarise the empirical distribution of draws (n, c)."""
        return WeightedContexts(draws, None)

    def _prepare(self, actions: Array, c: int) -> Prepared:
        """Return an object that computes the expectations for checked actions (k, a) in every round."""
        return Prepared(self, actions, c)

    def _design(self, a: int, c: int) -> DenseDesign:
        return DenseDesign(self, a, c)


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
    """The design of a `Dense` map. The terms of a view are the map's summary of a belief, or a list for several."""

    stacks = False  # the features of all actions under many beliefs would take too much memory

    def __init__(self, features: Dense, a: int, c: int) -> None:
        super().__init__(features, a, c)
        self.map = features
        self.shape = (features.size(a, c),)

    def at(self, vectors: Vectors) -> DensePoints:
        return DensePoints(self.map, np.asarray(vectors), self._context_dim)

    def _expected(self, beliefs: Beliefs) -> Any:
        summaries = [self.map._embed(belief, self._action_dim) for belief in beliefs.singles()]
        return summaries if beliefs.leading else summaries[0]

    def _sampled(self, beliefs: Beliefs, samples: int, rng: Any) -> Any:
        each = zip(beliefs.singles(), rng if beliefs.leading else [rng], strict=True)
        summaries = [
            self.map._embed_draws(belief.sample(samples, generator), self._action_dim) for belief, generator in each
        ]
        return summaries if beliefs.leading else summaries[0]


class DensePoints(DesignPoints):
    """The features of all actions, computed for each belief. Covariances come from its `stand_in` contexts."""

    def __init__(self, features: Dense, vectors: Array, c: int) -> None:
        super().__init__(vectors)
        sets = vectors if vectors.ndim > 2 else [vectors]
        self._prepared = [features._prepare(actions, c) for actions in sets]  # of each trial, or one for all
        self._latest: tuple[Any, Array] | None = None  # the latest terms asked about, and psi

    def _each(self, several: bool, compute: Callable[..., Array], *arguments: Iterable[Any]) -> Array:
        """Return `compute(prepared, *arguments)`, stacked over beliefs if there are several."""
        prepared = self._prepared if len(self._prepared) > 1 else repeat(self._prepared[0])
        results = [compute(*entries) for entries in zip(prepared, *arguments, strict=False)]
        return np.stack(results) if several else results[0]

    def features(self, terms: Any) -> Array:
        if self._latest is None or self._latest[0] is not terms:
            several = isinstance(terms, list)
            psi = self._each(
                several, lambda prepared, summary: prepared.expected(summary), terms if several else [terms]
            )
            self._latest = terms, psi
        return self._latest[1]

    def along(self, view: View, theta: Array) -> Array:
        return apply(self.features(view.terms), theta)

    def quadratic(self, view: View, M: Array) -> Array:
        psi = self.features(view.terms)
        return np.asarray(np.vecdot(psi @ M, psi))

    def context_variance(self, view: View, M: Array) -> Array:
        def variance(prepared: Prepared, belief: Belief, matrix: Array) -> Array:
            away = prepared.deviations(belief, view.excess)
            return np.asarray(np.vecdot(away @ matrix, away).sum(axis=-1))

        return self._each(bool(view.beliefs.leading), variance, view.beliefs.singles(), M if M.ndim > 2 else repeat(M))

    def row(self, view: View, index: Index, cov: bool) -> Row:
        def covariance(prepared: Prepared, belief: Belief, i: int) -> Array:
            away = prepared.deviations(belief, view.excess, slice(i, i + 1))[0]
            return folded(away.T @ away)

        psi, several = self.features(view.terms), bool(view.beliefs.leading)
        # A copy: a decision may wait long for its reward, and a slice would keep all actions' features in memory.
        features = np.array(pick(psi, index, psi.shape[:-2]))
        if not cov:
            return Row(features)
        return Row(features, self._each(several, covariance, view.beliefs.singles(), np.atleast_1d(index)))
