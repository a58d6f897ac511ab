"""Greedy choices, without exploration."""

from __future__ import annotations

from dataclasses import dataclass

from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.models.base import Progress
from overcast.policies.base import Policy
from overcast.policies.outlook import Outlook


@dataclass(frozen=True)
class Greedy(Policy):
    """Take the action with the highest psi^T theta-hat.

    It does not explore, and may choose a worse action forever. Use it as a baseline, or for a bandit that has learnt
    enough and must not experiment. `MostlyGreedy` explores where necessary.

    Examples
    --------
    >>> Greedy()
    Greedy()
    """

    random = False
    lockstep = True
    additive = True

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        return outlook.mean
