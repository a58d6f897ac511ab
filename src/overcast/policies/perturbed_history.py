"""Perturbed-history exploration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.models.base import Progress
from overcast.policies.base import Policy
from overcast.policies.outlook import Outlook

# An action is chosen first while its precision is below that of this number of rewards. A reward of the action is
# enough, or some information from other actions. On the synthetic example, a larger number costs more regret at the
# start.
MIN_REWARDS = 0.1


@dataclass(frozen=True)
class PerturbedHistory(Policy):
    """Add fresh noise to every past reward, fit again, and take the action with the highest estimate.

    Kveton, Szepesvari, Ghavamzadeh & Boutilier (2019), and for linear models (2020). For each reward in [0, 1] they add
    a pseudo-rewards to the history, each 0 or 1 with equal probability, so that a sum of n rewards gets a variance of
    a n / 4. This policy adds scale z_s with z_s ~ N(0, 1) to each reward instead. For many rewards it ranks actions as
    theirs does with a = 4 scale^2, and rewards may have any range.

    Noise on past rewards does not change the estimate of an action about which they have no information. Kveton et al.
    therefore begin with every action once, or with d independent ones. Here, an action is chosen first, the widest
    before others, while it has less information than a tenth of one reward: 1 / width^2 - 1 / prior^2 < 0.1 / noise^2.
    With noise on the ridge too, no such start would be needed, and the policy would be `Thompson`.

    Parameters
    ----------
    scale : standard deviation of the added noise, as a multiple of the noise that the model assumes; as in `Thompson`

    Examples
    --------
    >>> PerturbedHistory(scale=0.5)
    PerturbedHistory(scale=0.5)
    """

    scale: float = 1.0

    lockstep = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _check.number("PerturbedHistory", "scale", self.scale, at_least=0.0))

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        scores = outlook.perturbed(self.scale, rng)
        width2, prior2 = outlook.width**2, outlook.prior**2
        new = (prior2 - width2) * outlook.noise**2 < MIN_REWARDS * prior2 * width2
        first = np.where(new, outlook.width, -np.inf)
        return np.where(outlook.highest(first) > -np.inf, first, scores)
