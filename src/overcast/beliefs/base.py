"""The contract of a belief: what is known about the context before acting (mu_t)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from overcast._check import Array
from overcast.beliefs import _moments
from overcast.beliefs.cloud import Cloud, Complex


class Belief(ABC):
    """A distribution mu over contexts c in R^c.

    A new belief gives `mean`, `cov`, `sample` and `to_json`/`from_json`; the rest has defaults. Set `exact = False`
    where mean and covariance are estimates. `belief_from_json` reads the package's own beliefs only. Beliefs are
    immutable.
    """

    #: dimension of the context, c
    dim: int
    #: whether `mean`, `cov` and `moments` are exact; False where they can only be estimated from draws
    exact: bool = True

    @abstractmethod
    def mean(self) -> Array:
        """Return E[c], shape (c,)."""

    @abstractmethod
    def cov(self) -> Array:
        """Return Cov[c], shape (c, c)."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Return `n` independent draws, shape (n, c)."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data with the class name under "type"; `belief_from_json` is the inverse."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: dict[str, Any]) -> Belief:
        """Build the belief from what `to_json` returned."""

    def sample_mean(self, n: int, rng: np.random.Generator) -> Array:
        """Return the mean of `n` independent draws, shape (c,); beliefs that know its distribution draw it at once."""
        return _moments.average(self.sample(n, rng))

    def sample_moments(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the mean of `n` independent draws and the mean of their squares, both (c,)."""
        draws = self.sample(n, rng)
        return _moments.average(draws), _moments.average(draws * draws)

    def variance(self) -> Array:
        """Return Var[c_i], shape (c,)."""
        return np.diagonal(self.cov())

    def support(self) -> tuple[Array, Array] | None:
        """Return points (n, c) and weights (n,) when the support is finite, else None."""
        return None

    def cloud(self) -> Cloud | None:
        """Return the belief as weighted points and normal distributions, None where it is nothing of the kind.

        The default serves finite supports.
        """
        finite = self.support()
        return None if finite is None else Cloud(finite[1], finite[0])

    def characteristic(self, frequencies: Array) -> Complex:
        """Return the characteristic function E[exp(i w^T c)] for each row w of `frequencies` (m, c), shape (m,).

        Raises
        ------
        NoClosedForm
            Where it is known only from samples.
        """
        cloud = self.cloud()
        if cloud is None:
            raise NoClosedForm(
                f"{type(self).__name__}: the characteristic function has no closed form; pass samples= to average draws"
            )
        return cloud.characteristic(frequencies)

    def moments(self, powers: np.ndarray[Any, np.dtype[np.int64]]) -> Array:
        """Return E[prod_i c_i^powers[j, i]] for each row j of `powers` (m, c), shape (m,).

        The default serves finite supports, and elsewhere degrees up to two from mean and covariance; beliefs with
        closed forms for more override it.

        Raises
        ------
        NoClosedForm
            Where these moments are known only from samples.
        """
        finite = self.support()
        if finite is not None:
            return _moments.of_points(*finite, powers)
        if not self.exact or powers.sum(axis=1).max(initial=0) > 2:
            raise NoClosedForm(f"{type(self).__name__}: moments have no closed form; pass samples= to average draws")
        second = self.cov() + np.outer(self.mean(), self.mean())
        known = np.concatenate([[1.0], self.mean(), second.ravel()])
        return np.asarray(known[[_place(np.repeat(np.arange(self.dim), row), self.dim) for row in powers]])


def _place(factors: np.ndarray[Any, np.dtype[np.int64]], dim: int) -> int:
    """Return where E[product of these coordinates] stands in (1, E[c_i], E[c_i c_j])."""
    if len(factors) == 2:
        return int(1 + dim + factors[0] * dim + factors[1])
    return int(1 + factors[0]) if len(factors) else 0


class NoClosedForm(ValueError):  # noqa: N818 - it names a state of affairs, not a mistake
    """An expectation has no exact form here: pass `samples=` to average over draws instead."""
