"""Upper confidence bounds."""

from __future__ import annotations

from dataclasses import dataclass

from overcast._check import Array
from overcast.models.base import Generators, Outlook, Progress
from overcast.policies.beta import Beta, WithBeta


@dataclass(frozen=True)
class UCB(WithBeta):
    """Take the action with the highest psi^T theta-hat + beta_t ||psi||_{V^-1} (Algorithms 1 and 2).

    Parameters
    ----------
    beta : a number, a function of the round t (1, 2, ...), or the paper's beta_t from `overcast.confidence`

    Examples
    --------
    >>> UCB(beta=2.0)
    UCB(beta=2.0)
    """

    beta: Beta

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        return outlook.mean + self.half_interval(outlook, progress)
