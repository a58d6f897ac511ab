"""The contract of a policy: a rule that turns what is known into a choice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from overcast._check import Array
from overcast.confidence import Confidence
from overcast.models.base import Progress
from overcast.policies.outlook import Outlook


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

    def __init_subclass__(cls, **options: Any) -> None:
        """Take scores of one's own for random, and for one bandit, unless their class says otherwise."""
        super().__init_subclass__(**options)
        if "scores" in vars(cls):
            cls.random = vars(cls).get("random", True)
            cls.lockstep = vars(cls).get("lockstep", False)

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
