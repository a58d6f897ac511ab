"""The contract of a policy: a rule that turns what is known into a choice."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast.models.base import Generators, Outlook, Progress

# Equal scores come out of BLAS a few rounding errors apart, in an order that depends on the machine.
TIE = 1e-12


class Policy(ABC):
    """Scores the actions; the available action with the highest score is taken, ties by the lowest index."""

    #: whether scores draw random numbers
    random: bool = True

    @abstractmethod
    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        """Return the score of every action, in the shape of the outlook's mean; -inf for one never to be taken.

        Parameters
        ----------
        outlook : mean and width, (k,) in a bandit, (r, k) for the r trials of a simulation in lock-step; on demand
            the noise of rewards, random deviations of the means, and the widths before anything was learnt. Its
            `available` matters only to scores that compare actions with each other
        progress : round, log-determinant, ridge and number of actions
        rng : a generator, or in a simulation a list of r generators, one a trial
        """


def highest(scores: Array) -> NDArray[np.intp]:
    """Return the index of the highest score along the last axis, the lowest of those that tie up to rounding."""
    if scores.ndim == 1:
        best = float(scores[scores.argmax()])  # NaN where there is one
        if math.isfinite(best):
            return np.asarray((scores >= best - TIE * abs(best)).argmax())
    else:
        top = scores.max(axis=-1, keepdims=True)
        if np.isfinite(top).all():
            return np.asarray((scores >= top - TIE * np.abs(top)).argmax(axis=-1))
        best = float(top[~np.isfinite(top)][0])
    raise ValueError(f"Policy: the highest score must be finite, got {best}; scale the contexts")


def check_shape(scores: Array, shape: tuple[int, ...]) -> None:
    """Refuse scores that are no array of this shape."""
    if getattr(scores, "shape", None) != shape:
        raise ValueError(f"Policy: scores must be an array of shape {shape}, got {_check.short(scores)}")
