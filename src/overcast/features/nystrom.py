"""Nystrom features of a kernel, from inducing pairs of action and context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief, NoClosedForm
from overcast.beliefs.cloud import Cloud
from overcast.features.base import check_hashable, no_closed_form
from overcast.features.dense import Dense, Prepared
from overcast.kernels.base import AnyKernel, Term
from overcast.kernels.embeddings import Embeddings

# A pair is left out if the others explain it up to this share of the largest k((x, c), (x, c)), which is rounding.
TOLERANCE = 1e-12
# Largest error of left-out pairs, as a share of the same number; a larger one is not rounding.
LEFT = 1e-6


@dataclass(frozen=True, repr=False)
class Nystrom(Dense):
    """Features of any kernel, exact on inducing pairs (x_p, c_p) and approximate between them.

    phi(x, c) = L^-1 k_P(x, c), where k_P holds k((x_p, c_p), (x, c)) and L L^T = k_P of the pairs themselves:
    phi(x, c)^T phi(x', c') = k if (x, c) or (x', c') is a pair. E_mu[k_P(x, c)] is the sum over the kernel's terms of
    action_kernel(x_p, x) <k_{c_p}, mu>: expectations are exact if the mean embeddings of the context kernels are.

    Choose pairs like those that will occur, e.g. actions with draws of past beliefs. Dependent pairs, such as
    duplicates, are left out, so d is the number of independent pairs.

    Parameters
    ----------
    kernel : a kernel of actions and contexts, e.g. `Product(RBF(0.5), Matern(2.5, 1.0))`
    actions, contexts : (m, a) and (m, c), one pair per row

    Examples
    --------
    >>> from overcast.kernels import RBF, Product
    >>> phi = Nystrom(Product(RBF(0.5), RBF(1.0)), actions=[[0.0], [0.5], [0.5]], contexts=[[0.0], [1.0], [1.0]])
    >>> phi.size(1, 1)
    2
    >>> round(float(np.sum(phi([[0.0]], [[0.0]]) * phi([[0.5]], [[1.0]]))), 4)  # exp(-1)
    0.3679
    """

    kernel: AnyKernel
    actions: ArrayLike
    contexts: ArrayLike

    def __post_init__(self) -> None:
        check_hashable("Nystrom", self.kernel)
        actions = _check.array("Nystrom", "actions", self.actions, ("m", "a"))
        contexts = _check.array("Nystrom", "contexts", self.contexts, (len(actions), "c"))
        # Tuples can be compared, hashed and written to files.
        object.__setattr__(self, "actions", tuple(map(tuple, actions.tolist())))
        object.__setattr__(self, "contexts", tuple(map(tuple, contexts.tolist())))
        _inducing(self)  # reports faults of the kernel at once

    def __repr__(self) -> str:
        return f"Nystrom({self.kernel}, {len(np.asarray(self.actions))} pairs)"

    def size(self, a: int, c: int) -> int:
        known = _inducing(self)
        for name, got, pairs in (("actions", a, known.actions), ("contexts", c, known.contexts)):
            if got != pairs.shape[1]:
                raise ValueError(f"Nystrom: {name} must have the {pairs.shape[1]} dimensions of the pairs, got {got}")
        return len(known.actions)

    def _embed(self, belief: Belief, a: int) -> tuple[Array, ...]:
        terms = _inducing(self).terms
        try:
            return self._inner([kernel.embed(belief) for _, kernel in terms])
        except NoClosedForm:
            raise no_closed_form(self, belief) from None

    def _embed_draws(self, draws: Array, a: int) -> tuple[Array, ...]:
        weights = np.full(len(draws), 1.0 / len(draws))
        return self._inner([kernel.embed_points(draws, weights) for _, kernel in _inducing(self).terms])

    def _inner(self, clouds: Sequence[Cloud]) -> tuple[Array, ...]:
        """Return <k_{c_p}, mu> for the contexts of all pairs and each term of the kernel, (d, 1) each."""
        pairs = _inducing(self)
        each = zip(pairs.terms, pairs.embedded, clouds, strict=True)
        return tuple(known.inner(kernel, Embeddings([cloud])) for (_, kernel), known, cloud in each)

    def _prepare(self, actions: Array, c: int) -> PreparedPairs:
        return PreparedPairs(self, actions, c)

    def _evaluate(self, actions: Array, contexts: Array) -> Array:
        pairs = _inducing(self)
        k, n, d = len(actions), len(contexts), len(pairs.actions)
        cross = sum(
            action._evaluate(pairs.actions, actions)[:, :, None] * context._evaluate(pairs.contexts, contexts)[:, None]
            for action, context in pairs.terms
        )
        return pairs.solve(np.asarray(cross).reshape(d, k * n)).T.reshape(k, n, d)


class _Inducing(NamedTuple):
    """The independent pairs, the kernel as a sum of products, its Cholesky factor L, and the embedded contexts."""

    actions: Array
    contexts: Array
    terms: tuple[Term, ...]
    factor: Array
    embedded: tuple[Embeddings, ...]

    def solve(self, cross: Array) -> Array:
        return np.asarray(scipy.linalg.solve_triangular(self.factor, cross, lower=True, check_finite=False))


@lru_cache(maxsize=64)
def _inducing(features: Nystrom) -> _Inducing:
    """Select independent pairs by pivoted Cholesky, and cache the result."""
    actions, contexts = np.array(features.actions), np.array(features.contexts)
    terms = features.kernel.terms(actions.shape[1])
    gram = np.asarray(sum(x._evaluate(actions, actions) * c._evaluate(contexts, contexts) for x, c in terms))
    if not np.isfinite(gram).all():
        raise ValueError("Nystrom: kernel must give finite numbers at the pairs, got others; scale the contexts")
    factor, order, rank, _ = scipy.linalg.lapack.dpstrf(gram, lower=1, tol=TOLERANCE * float(np.diagonal(gram).max()))
    if not rank:
        raise ValueError("Nystrom: kernel must be positive at one or more of the pairs, got zero at all")
    lower = np.tril(factor)[:, :rank]
    left = gram[np.ix_(order - 1, order - 1)] - lower @ lower.T
    if np.abs(left).max() > LEFT * float(np.diagonal(gram).max()):
        raise ValueError(
            f"Nystrom: kernel must be positive semi-definite, got {np.abs(left).max():.3g} left by its Cholesky factor"
        )
    kept = order[:rank] - 1
    embedded = tuple(Embeddings.of_points(kernel, contexts[kept]) for _, kernel in terms)
    return _Inducing(actions[kept], contexts[kept], terms, lower[:rank], embedded)


class PreparedPairs(Prepared):
    """The action kernels between pairs and fixed actions, (d, k) for each term."""

    def __init__(self, features: Nystrom, actions: Array, c: int) -> None:
        super().__init__(features, actions, c)
        self._pairs = _inducing(features)
        self._tables = [action._evaluate(self._pairs.actions, actions) for action, _ in self._pairs.terms]

    def expected(self, embedded: Sequence[Array]) -> Array:
        cross = sum(table * inner for table, inner in zip(self._tables, embedded, strict=True))
        return self._pairs.solve(np.asarray(cross)).T
