"""The contract of a belief: what is known about the context before acting (mu_t)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from overcast._check import Array
from overcast.beliefs import _moments


class Belief(ABC):
    """A distribution mu over contexts c in R^c.

    A new belief gives `mean`, `cov`, `sample` and `to_json`/`from_json`; the rest has defaults. Beliefs are immutable.
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

    def variance(self) -> Array:
        """Return Var[c_i], shape (c,)."""
        return np.diagonal(self.cov())

    def support(self) -> tuple[Array, Array] | None:
        """Return points (n, c) and weights (n,) when the support is finite, else None."""
        return None

    def moments(self, powers: np.ndarray[Any, np.dtype[np.int64]]) -> Array:
        """Return E[prod_i c_i^powers[j, i]] for each row j of `powers` (m, c), shape (m,).

        The default serves finite supports; beliefs with closed forms override it.

        Raises
        ------
        NoClosedForm
            Where these moments are known only from samples.
        """
        finite = self.support()
        if finite is None:
            raise NoClosedForm(f"{type(self).__name__}: moments have no closed form; pass samples= to average draws")
        points, weights = finite
        return _moments.of_points(points, weights, powers)


class NoClosedForm(ValueError):  # noqa: N818 - it names a state of affairs, not a mistake
    """An expectation has no exact form here: pass `samples=` to average over draws instead."""
