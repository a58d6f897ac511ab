"""Upper confidence bounds."""

from __future__ import annotations

from dataclasses import dataclass

from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.models.base import Progress
from overcast.policies.beta import Beta, WithBeta
from overcast.policies.outlook import Outlook


@dataclass(frozen=True)
class UCB(WithBeta):
    """Take the action with the highest psi^T theta-hat + beta_t ||psi||_{V^-1} (Algorithms 1 and 2).

    Parameters
    ----------
    beta : a number, a function of the round t (1, 2, ...), or the paper's beta_t from `overcast.confidence`. None takes
        1 + sqrt(1 - gamma_t / t), between one and two standard deviations, which needs no tuning with a model that
        learns its own scale; gamma_t is the number of parameters that t rewards determine

    Examples
    --------
    >>> UCB(beta=2.0)
    UCB(beta=2.0)
    >>> UCB()
    UCB(beta=None)
    """

    beta: Beta = None

    random = False
    lockstep = True

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        return outlook.mean + self.half_interval(outlook, progress)
