"""Maps whose features are products of an action term and a context term, which makes expectations cheap."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from overcast._check import Array
from overcast._linalg import Indices, triangle
from overcast._units import Units, Vectors
from overcast.beliefs._moments import average
from overcast.beliefs.base import Belief, Beliefs, NoClosedForm
from overcast.features.base import FeatureMap, no_closed_form
from overcast.features.design import Design, DesignPoints, Index, Row, View, pick
from overcast.features.standard import (
    Frame,
    Moments,
    Side,
    compress_diagonal,
    enlarge_constant,
    enlarge_constant_term,
    expand_diagonal,
    scaled,
)

# With at most this many terms p, a table stores the p (p + 1) / 2 distinct products z_i z_j of every action, and one
# matrix product gives the quadratic forms z^T G z of all actions. Reading a larger table takes longer than it saves.
MAX_TABULATED_TERMS = 24
# Most numbers in a table.
MAX_TABLE = 4_000_000
# With at most this many multiplications k d^2, a single bandit stores all features, which takes fewer calls.
MAX_DENSE_WORK = 50_000
# Tolerance for equal standard terms of actions.
SAME = 1e-9


class Separable(FeatureMap):
    """A map whose every feature is a product of one action term and one context term.

    phi_i(x, c) = z_{j(i)}(x) s_{m(i)}(c), so phi is linear in the statistic s(c), and its expectation needs only
    E_mu[s(c)], however many actions there are.

    Examples
    --------
    >>> import overcast as oc
    >>> phi = oc.features.Polynomial(2)
    >>> isinstance(phi, Separable), phi.expected([[1.0]], oc.Gaussian([3.0], sd=2.0))
    (True, array([[ 1.,  3., 13.,  1.,  3.,  1.]]))
    """

    @abstractmethod
    def action_terms(self, actions: Array) -> Array:
        """Return z(x): (..., k, a) gives (..., k, p)."""

    @abstractmethod
    def context_terms(self, contexts: Array) -> Array:
        """Return s(c): (..., c) gives (..., q)."""

    @abstractmethod
    def pairs(self, a: int, c: int) -> tuple[Indices, Indices]:
        """Return j and m, shape (d,): feature i is action term j[i] times context term m[i]."""

    @abstractmethod
    def _expected_terms(self, beliefs: Beliefs) -> Array:
        """Return E_mu[s(c)] from exact moments, shape (..., q)."""

    def expected_terms(self, beliefs: Beliefs) -> Array:
        """Return E_mu[s(c)], shape (..., q)."""
        if not beliefs.exact:
            raise no_closed_form(self, beliefs)
        return self._expected_terms(beliefs)

    def sampled_terms(self, beliefs: Beliefs, samples: int, rng: Any) -> Array:
        """Return the average of s(c) over fresh draws, shape (..., q)."""
        return average(self.context_terms(beliefs.sample(samples, rng)))

    def term_covariance(self, beliefs: Beliefs) -> Array:
        """Return Cov_mu(s(c)), shape (..., q, q), from the belief's `stand_in` points without a closed form."""
        if beliefs.certain:
            terms = self.context_terms(beliefs.mean())
            return np.zeros((*terms.shape, terms.shape[-1]))
        try:
            return self._term_covariance(beliefs)
        except NoClosedForm:
            return beliefs.each(self._covariance_of_stand_in)

    def _term_covariance(self, beliefs: Beliefs) -> Array:
        """Return Cov_mu(s(c)) in closed form, or raise NoClosedForm, which is the default."""
        raise no_closed_form(self, beliefs)

    def _covariance_of_stand_in(self, belief: Belief) -> Array:
        """Return Cov(s(c)) over the belief's `stand_in` points, (q, q)."""
        points, weights = belief.stand_in()
        terms = self.context_terms(points)
        centred = terms - weights @ terms
        return np.asarray((centred * weights[:, None]).T @ centred)

    def standard_actions(self, actions: Array) -> Side:
        """Standardise action terms on actions (..., k, a), by default to mean square one."""
        return scaled(np.sqrt((self.action_terms(actions) ** 2).mean(axis=-2)))

    def action_basis(self, actions: Array, side: Side) -> Any:
        """Return the basis for `standard_action_terms`, from actions (..., k, a) with the standard terms `side`."""
        return side.matrix.swapaxes(-1, -2)

    def standard_action_terms(self, actions: Array, basis: Any) -> Array:
        """Return standard terms (..., k, p) of actions (..., k, a) in this basis."""
        return np.asarray(self.action_terms(actions) @ basis)

    def standard_contexts(self, moments: Moments) -> Side:
        """Standardise context terms for contexts with these moments, by default to mean square one."""
        return scaled(np.sqrt(moments.mean**2 + moments.variance))

    def variety(self, moments: Moments) -> Array:
        """Return the share of each standard context term's mean square that comes from its variance, (..., q)."""
        square = moments.mean**2 + moments.variance
        return np.asarray(moments.variance / np.where(square > 0.0, square, 1.0))

    def actions_change(self, j: Indices) -> Indices:
        """Return the indices of features that vary with the action, from each feature's action term j (d,)."""
        return np.arange(len(j))

    def constant(self, of_action: Array, of_context: Array, j: Indices, m: Indices) -> Array:
        """Return the parameters (..., d) of the function that is 1, at least nearly; zeros if there is none.

        of_action, of_context : (..., p) and (..., q), the same for functions of the action or the context alone
        j, m : (d,) `pairs`
        """
        one = of_action.take(j, axis=-1) * of_context.take(m, axis=-1)
        # The constant is linear in the features only if all products of its terms are features.
        products = np.count_nonzero(of_action, axis=-1) * np.count_nonzero(of_context, axis=-1)
        return np.asarray(one * (np.count_nonzero(one, axis=-1) == products)[..., None])

    def silent(self, actions: Vectors) -> Indices:
        """Return the indices of zero vectors whose terms are all zero, and with them all features."""
        if isinstance(actions, Units):
            return np.empty(0, dtype=np.intp)
        zero = np.flatnonzero(~actions.any(axis=-1))
        return zero[~self.action_terms(actions[zero]).any(axis=-1)] if len(zero) else zero

    def size(self, a: int, c: int) -> int:
        return len(self.pairs(a, c)[0])

    def names(self, actions: Sequence[str], contexts: Sequence[str]) -> list[str]:
        of_action, of_context = self._term_names(actions, contexts)
        j, m = self.pairs(len(actions), len(contexts))
        pairs = ((of_action[action], of_context[context]) for action, context in zip(j, m, strict=True))
        return [" ".join(part for part in pair if part != "1") or "1" for pair in pairs]

    def _term_names(self, actions: Sequence[str], contexts: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """Return names for the p action terms and the q context terms; "1" for a constant."""
        j, m = self.pairs(len(actions), len(contexts))
        return [f"z{i + 1}" for i in range(max(j) + 1)], [f"s{i + 1}" for i in range(max(m) + 1)]

    def _evaluate(self, actions: Array, contexts: Array) -> Array:
        j, m = self.pairs(actions.shape[1], contexts.shape[1])
        return np.asarray(self.action_terms(actions)[:, None, j] * self.context_terms(contexts)[None, :, m])

    def _design(self, a: int, c: int) -> SeparableDesign:
        return SeparableDesign(self, a, c)


class SeparableDesign(Design):
    """The design of a `Separable` map. The terms of a view are w, shape (..., d), w_i = E[s_{m(i)}] for feature i."""

    def __init__(self, features: Separable, a: int, c: int, reference: Array | None = None) -> None:
        super().__init__(features, a, c)
        self._map = features
        self.action_term, self.context_term = features.pairs(a, c)
        d = len(self.action_term)
        self.shape = self.terms_shape = (d,)
        self._of_actions: Side | None = None
        if reference is not None:
            side = features.standard_actions(reference)
            self._of_actions, self._basis = enlarge_constant(side), features.action_basis(reference, side)
            self.terms = int(self.context_term.max()) + 1
        #: E, the 0/1 matrix that maps action terms to features, (d, p)
        self.expand = np.zeros((d, int(self.action_term.max()) + 1))
        self.expand[np.arange(d), self.action_term] = 1.0

    def at(self, vectors: Vectors) -> SeparablePoints:
        return SeparablePoints(self, np.asarray(vectors))

    def action_terms(self, vectors: Array) -> Array:
        """Return z of actions, (k, p) or (r, k, p)."""
        if self._of_actions is None:
            return self._map.action_terms(vectors)
        return enlarge_constant_term(self._of_actions, self._map.standard_action_terms(vectors, self._basis))

    def standard(self, reference: Vectors) -> SeparableDesign:
        return SeparableDesign(self._map, self._action_dim, self._context_dim, np.asarray(reference))

    @cached_property
    def _first(self) -> Indices:
        """The first feature with each context term, (q,)."""
        return np.unique(self.context_term, return_index=True)[1]

    @cached_property
    def _same_action_term(self) -> Array:
        return np.asarray(self.action_term[:, None] == self.action_term, dtype=np.float64)

    @cached_property
    def _same_context_term(self) -> Array:
        return np.asarray(self.context_term[:, None] == self.context_term, dtype=np.float64)

    def moments(self, view: View) -> Moments | None:
        if self._of_actions is None:
            return None
        return self.moments_of(view, self.term_covariance(view))

    def moments_of(self, view: View, cov: Array) -> Moments | None:
        """Return the `moments` from the covariance of the context terms, (..., q, q)."""
        if self._of_actions is None:
            return None
        variance = cov.diagonal(axis1=-2, axis2=-1)
        return Moments(view.terms[..., self._first], variance * (1.0 + view.excess) if view.excess else variance)

    def term_covariance(self, view: View) -> Array:
        """Return Cov_mu(s(c)), without the excess by sampling, (..., q, q)."""
        return self._map.term_covariance(view.beliefs)

    def frame(self, moments: Moments) -> Frame:
        assert self._of_actions is not None
        terms, of_context, _ = self._map.standard_contexts(moments)
        m, of_action = self.context_term, self._of_actions.one
        matrix = terms[..., m[:, None], m] * self._same_action_term
        one = self._map.constant(of_action, of_context, self.action_term, m)
        changed = self._map.actions_change(self.action_term)
        diversity = np.asarray(self._map.variety(moments).take(m[changed], axis=-1).mean(axis=-1))
        matrix = compress_diagonal(matrix)
        if matrix.ndim == one.ndim:
            return Frame(matrix, matrix, one, diversity)
        of_view = np.zeros(matrix.shape)
        of_view[..., self._first] = terms[..., m, :]
        return Frame(of_view, matrix, one, diversity)

    def alike(self, other: Design) -> bool:
        own_side, other_side = self._of_actions, getattr(other, "_of_actions", None)
        if own_side is None or other_side is None or np.array_equal(own_side.matrix, other_side.matrix):
            return True
        # The same actions in another order lead to the same standard terms up to rounding.
        turned_back = np.linalg.solve(other_side.matrix.swapaxes(-1, -2), own_side.matrix.swapaxes(-1, -2))
        return bool(np.abs(turned_back - np.eye(turned_back.shape[-1])).max() <= SAME)

    def through(self, view: View, frame: Frame) -> View:
        return View(frame.turn_terms(view.terms), view.beliefs, view.excess)

    def coefficients(self, frame: Frame | None) -> Array | None:
        if frame is None or self._of_actions is None:
            return None
        j = self.action_term
        matrix = expand_diagonal(frame.matrix, frame.one.ndim + 1)
        return np.asarray(matrix @ (self._of_actions.matrix[..., j[:, None], j] * self._same_context_term))

    @cached_property
    def all_entries(self) -> Indices:
        """For each pair of features, the flat index into Cov(s) of their context terms, (d, d)."""
        return np.asarray(self.context_term[:, None] * (int(self.context_term.max()) + 1) + self.context_term)

    @cached_property
    def upper_entries(self) -> Indices:
        """`all_entries` of the upper triangle alone."""
        return np.asarray(self.all_entries[triangle(self.shape[0])[:2]])

    def _expected(self, beliefs: Beliefs) -> Array:
        return self._map.expected_terms(beliefs).take(self.context_term, axis=-1)

    def _sampled(self, beliefs: Beliefs, samples: int, rng: Any) -> Array:
        return self._map.sampled_terms(beliefs, samples, rng).take(self.context_term, axis=-1)


class SeparablePoints(DesignPoints):
    """With w the terms of a view, psi = z_j * w for each action.

    With E the matrix that maps action terms to features, psi^T M psi = z^T (E^T (M * w w^T) E) z, and the matrix
    between the two z is formed once per round. Cov(phi) of an action is z z^T times Cov(s), entry by entry.
    """

    def __init__(self, design: SeparableDesign, vectors: Array) -> None:
        super().__init__(vectors)
        self._design, z, d = design, design.action_terms(vectors), design.shape[0]
        self._leading = z.shape[:-2]
        self._z_of_feature = np.ascontiguousarray(z[..., design.action_term])  # (k, d) or (r, k, d)
        self._z = np.ascontiguousarray(z.swapaxes(-1, -2))  # (p, k) or (r, p, k)
        p = z.shape[-1]
        small = not self._leading and len(self) * d * d <= MAX_DENSE_WORK
        self._table = np.ascontiguousarray(_products(self._z_of_feature).T) if small else None
        if small:
            self._pairs, self._entries = triangle(d)[:2], np.ravel_multi_index(triangle(d)[:2], (d, d))
        # Reading one table per trial in every round takes longer than computing the products.
        few = not self._leading and p <= MAX_TABULATED_TERMS and z.size * (p + 1) // 2 <= MAX_TABLE
        self._table_of_terms = np.ascontiguousarray(_products(z).T) if few else None  # (p (p + 1) / 2, k)
        self._entries_of_terms, self._ones = np.ravel_multi_index(triangle(p)[:2], (p, p)), np.ones((1, p))
        self._products: Array | None = None  # z_i z_j of all actions, computed for the first covariance

    def features(self, terms: Array) -> Array:
        return self._z_of_feature * terms[..., None, :]

    def along(self, view: View, theta: Array) -> Array:
        h: Array = theta * view.terms
        if self._table is None or h.ndim > 1:
            h = h @ self._design.expand
            return h @ self._z if self._z.ndim == 2 else (h[..., None, :] @ self._z)[..., 0, :]
        along: Array = self._z_of_feature.dot(h)
        return along

    def quadratic(self, view: View, M: Array) -> Array:
        w = view.terms
        if self._table is not None and w.ndim == 1:
            i, j = self._pairs
            return np.asarray((M.reshape(-1).take(self._entries) * (w.take(i) * w.take(j))).dot(self._table))
        half = w[..., :, None] * self._design.expand
        return self._forms(half.swapaxes(-1, -2) @ (M @ half))

    def context_variance(self, view: View, M: Array) -> Array:
        design = self._design
        G = M * _entries_of(design.term_covariance(view), view, design.all_entries)
        if self._table is not None and G.ndim == 2:
            return np.asarray(G.reshape(-1)[self._entries] @ self._table)
        d, p = design.expand.shape
        half = (G.reshape(-1, d) @ design.expand).reshape(*G.shape[:-1], p)  # one product for all trials
        return self._forms(design.expand.T @ half)

    def row(self, view: View, index: Index, cov: bool) -> Row:
        design, z = self._design, pick(self._z_of_feature, index, self._leading)
        if not cov:
            return Row(z * view.terms, seen=design.moments(view))
        size = len(design.upper_entries)
        if self._products is None and self._z_of_feature.size // design.shape[0] * size <= MAX_TABLE:
            self._products = _products(self._z_of_feature)
        products = _products(z) if self._products is None else pick(self._products, index, self._leading)
        full = design.term_covariance(view)
        covariance = products * _entries_of(full, view, design.upper_entries)
        return Row(z * view.terms, covariance, seen=design.moments_of(view, full))

    def _forms(self, G: Array) -> Array:
        """Return z^T G z of all actions for G (..., p, p), shape (..., k)."""
        if self._table_of_terms is not None:
            return np.asarray(G.reshape(*G.shape[:-2], -1).take(self._entries_of_terms, axis=-1) @ self._table_of_terms)
        half = G @ self._z
        half *= self._z
        return (self._ones @ half)[..., 0, :]  # faster than a sum


def _entries_of(full: Array, view: View, places: Indices) -> Array:
    """Return the entries of Cov(s) (..., q, q) at these flat indices, including the excess by sampling."""
    picked = full.reshape(*full.shape[:-2], -1).take(places, axis=-1)
    return picked * (1.0 + view.excess) if view.excess else picked


def _products(z: Array) -> Array:
    """Return z_i z_j for i <= j, doubled for i < j, of terms (..., p); shape (..., p (p + 1) / 2)."""
    i, j, times = triangle(z.shape[-1])
    return z.take(i, axis=-1) * z.take(j, axis=-1) * times
