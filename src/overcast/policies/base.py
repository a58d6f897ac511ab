"""The contract of a policy: a rule that turns what is known into a choice."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from overcast._check import Array
from overcast.confidence import Confidence
from overcast.features.design import Index
from overcast.models.base import Progress
from overcast.policies.outlook import Outlook

# Equal scores come out of BLAS a few rounding errors apart, in an order that depends on the machine.
TIE = 1e-12


class Policy(ABC):
    """Scores the actions; the available action with the highest score is taken, ties by the lowest index.

    A policy is written for one bandit, as `scores` says. A simulation asks it trial by trial unless it sets `lockstep`.

    Examples
    --------
    >>> class Curious(Policy):
    ...     def scores(self, outlook, progress, rng):
    ...         if rng.random() < 0.1:
    ...             return rng.normal(size=len(outlook.mean))
    ...         return outlook.mean
    """

    #: whether scores draw random numbers
    random: bool = True
    #: whether `scores` also takes r trials at once: arrays (r, k), and a list of r generators
    lockstep: bool = False
    #: whether scores are the means plus something in the unit of rewards
    additive: bool = False
    #: how many answers a round draws, of which it takes one at random; `Repeated` sets more than one
    repeats: int = 1
    #: share of decisions that are any available action, each equally likely; `Mixed` sets it
    uniform: float = 0.0

    def __init_subclass__(cls, **options: Any) -> None:
        """Take scores of one's own for random, for one bandit and for no sums, unless their class says otherwise."""
        super().__init_subclass__(**options)
        if "scores" in vars(cls):
            cls.random = vars(cls).get("random", True)
            cls.lockstep = vars(cls).get("lockstep", False)
            cls.additive = vars(cls).get("additive", False)

    @property
    def confidence(self) -> Confidence | None:
        """The paper's confidence width that the scores rest on; None, the default, if they rest on none."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @abstractmethod
    def scores(self, outlook: Outlook, progress: Progress, rng: Any) -> Array:
        """Return the score of every action, in the shape of the outlook's mean; -inf for one never to be taken.

        Parameters
        ----------
        outlook : mean and width, (k,); on demand the noise of rewards, random deviations of the means, and the widths
            before anything was learnt. Its `available` matters only to scores that compare actions with each other
        progress : round, log-determinant, ridge and number of actions
        rng : a numpy Generator
        """

    def probability(self, outlook: Outlook, progress: Progress, index: int) -> float | None:
        """Return the probability with which an available action is taken; None, the default, without a closed form.

        It is asked for policies with random scores alone; others take their action with probability one.
        """
        return None


def highest(scores: Array) -> Index:
    """Return the index of the highest score along the last axis, the lowest of those that tie up to rounding."""
    if scores.ndim == 1:
        best = float(scores[scores.argmax()])  # NaN where there is one
        if math.isfinite(best):
            return int((scores >= best - TIE * abs(best)).argmax())
    else:
        top = scores.max(axis=-1, keepdims=True)
        if math.isfinite(top.sum()) or np.isfinite(top).all():
            return np.asarray((scores >= top - TIE * np.abs(top)).argmax(axis=-1))
        best = float(top[~np.isfinite(top)][0])
    raise ValueError(f"Policy: the highest score must be finite, got {best}; scale the contexts")
