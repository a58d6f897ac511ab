"""The base class of objectives, and the mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from overcast._check import Array


class Objective(ABC):
    """Maps the rewards of each action in all possible contexts to one value, which decisions maximise.

    A monotone objective of upper bounds is an upper bound, so `UCB` and the other policies need not know the objective.

    Examples
    --------
    >>> class Worst(Objective):
    ...     def of(self, values, weights):
    ...         return values.min(axis=-2)
    >>> Worst().of(np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([0.5, 0.5]))
    array([1., 0.])
    """

    @abstractmethod
    def of(self, values: Array, weights: Array) -> Array:
        """Compute the value of each action, (..., k).

        values : (..., n, k) rewards of k actions in n contexts
        weights : (n,) probabilities of the contexts
        """


@dataclass(frozen=True)
class Mean(Objective):
    """The expected reward, as in the paper.

    Examples
    --------
    >>> Mean().of(np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([0.75, 0.25]))
    array([1.5, 1.5])
    """

    def of(self, values: Array, weights: Array) -> Array:
        return np.asarray(weights @ values)
