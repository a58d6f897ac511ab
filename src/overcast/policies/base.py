"""The contract of a policy: a rule that turns what is known into a choice."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._random import POLICY
from overcast.confidence import Confidence
from overcast.features.design import Index
from overcast.models.base import Progress
from overcast.policies.outlook import Outlook
from overcast.policies.turn import Pick, Turn

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

    def __init_subclass__(cls, **options: Any) -> None:
        """Reset these flags in a class that defines `scores`, unless it sets them itself."""
        super().__init_subclass__(**options)
        if "probability" in vars(cls):
            raise TypeError(
                f"{cls.__name__}: write law(outlook, progress), which returns the probability of every action"
            )
        if "scores" in vars(cls):
            cls.random = vars(cls).get("random", True)
            cls.lockstep = vars(cls).get("lockstep", False)
            cls.additive = vars(cls).get("additive", False)

    @property
    def drawn(self) -> bool:
        """Whether choices are drawn at random, because scores are or for another reason."""
        return self.random

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

    def law(self, outlook: Outlook, progress: Progress) -> Array | None:
        """Return the probability with which each action is taken, (k,); None if it has no closed form.

        A policy with random scores gives it if it knows it; any other takes the action with the highest score.
        """
        if self.random:
            return None
        scores = self.scores(outlook, progress, None)
        if outlook.available is not None:
            scores = np.where(outlook.available, scores, -np.inf)
        out = np.zeros(scores.shape[-1])
        out[highest(scores)] = 1.0
        return out

    def choose(self, turn: Turn, repetition: int = 0) -> Pick:
        """Pick an action: the available one with the highest score. Policies that combine others pick by themselves."""
        outlook = turn.outlook(repetition)
        scores = self.scores(outlook, turn.progress, turn.rng(POLICY, repetition) if self.random else None)
        if getattr(scores, "shape", None) != outlook.mean.shape or scores.dtype.kind not in "fiu":
            must = f"scores must be an array of shape {outlook.mean.shape} of numbers"
            raise ValueError(f"Policy: {must}, got {_check.short(scores)}")
        if outlook.available is not None:
            scores = np.where(outlook.available, scores, -np.inf)
        index = highest(scores)
        if turn.searched:
            index, scores = turn.refine(int(index), self.scores, POLICY if self.random else None, repetition)
            return Pick(index, scores, None if self.random or not turn.exact else 1.0, None, repetition)
        if not turn.exact or not isinstance(index, int) or not self.random:
            return Pick(index, scores, 1.0 if turn.exact and isinstance(index, int) else None, None, repetition)
        law = self.law(outlook, turn.progress)
        return Pick(index, scores, None if law is None else float(law[index]), law, repetition)


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
