"""The contract of a policy: a rule that turns estimates into a choice."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.models.base import Estimate, Generators, Progress

# Equal scores come out of BLAS a few rounding errors apart, in an order that depends on the machine.
TIE = 1e-12


class Policy(ABC):
    """Scores the actions; the available action with the highest score is taken, ties by the lowest index."""

    #: whether scores draw random numbers
    random: bool = True

    @abstractmethod
    def scores(self, estimate: Estimate, progress: Progress, rng: Generators) -> Array:
        """Return the score of every action, in the shape of the estimate's mean.

        Parameters
        ----------
        estimate : mean and width, (k,) in a bandit, (r, k) for the r trials of a simulation in lock-step
        progress : round, log-determinant, ridge and number of actions
        rng : a generator, or in a simulation a list of r generators, one a trial
        """


def highest(scores: Array) -> NDArray[np.intp]:
    """Return the index of the highest score along the last axis, the lowest of those that tie up to rounding."""
    if scores.ndim == 1:
        best = float(scores[scores.argmax()])
        return np.asarray((scores >= best - TIE * abs(best)).argmax())
    top = scores.max(axis=-1, keepdims=True)
    return np.asarray((scores >= top - TIE * np.abs(top)).argmax(axis=-1))
