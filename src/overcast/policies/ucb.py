"""Upper confidence bounds."""

from __future__ import annotations

from dataclasses import dataclass

from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.models.base import Progress
from overcast.policies.beta import Beta, WithBeta
from overcast.policies.outlook import Outlook


@dataclass(frozen=True, repr=False)
class UCB(WithBeta):
    """Take the action with the highest psi^T theta-hat + beta_t ||psi||_{V^-1} (Algorithms 1 and 2).

    Parameters
    ----------
    beta : a number, a function of the round t (1, 2, ...), or the paper's beta_t from `overcast.confidence`. None
        starts at 1 and grows for actions that have been tried less than their share (`policies.beta`); it needs no
        tuning with a model that learns its own scale

    Examples
    --------
    >>> UCB(beta=2.0)
    UCB(beta=2.0)
    >>> UCB()
    UCB()
    """

    beta: Beta = None

    random = False
    lockstep = True
    additive = True

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        return outlook.at(self.beta_at(outlook, progress))
