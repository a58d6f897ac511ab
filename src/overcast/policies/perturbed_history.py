"""Perturbed-history exploration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.models.base import Generators, Outlook, Progress
from overcast.policies.base import Policy

# Rewards' worth of precision below which the past counts as silent on an action. One reward of its own is enough,
# and so is some of what others tell of it; more makes the start longer, and costs more on the synthetic example.
MIN_REWARDS = 0.1


@dataclass(frozen=True)
class PerturbedHistory(Policy):
    """Add fresh noise to every past reward, fit again, and take the action with the highest estimate.

    Kveton, Szepesvari, Ghavamzadeh & Boutilier (2019), and for linear models (2020). They add to the history, for each
    reward in [0, 1], a pseudo-rewards that are 0 or 1 with equal probability, and a sum of n rewards gets a variance
    of a n / 4. Here scale z_s with z_s ~ N(0, 1) is added to each reward itself, which for many rewards ranks actions
    as theirs does with a = 4 scale^2, and takes rewards of any range.

    Noise on the past does not move an action of which the past says nothing. They begin with every action once, or with
    d that are independent; here an action comes first, the widest before others, as long as less is known of it than a
    tenth of a reward of its own would tell: 1 / width^2 - 1 / prior^2 < 0.1 / noise^2. With noise on the ridge too, no
    such start were needed, and the policy would be `Thompson`.

    Parameters
    ----------
    scale : standard deviation of the added noise over that which the model takes rewards to have, as in `Thompson`

    Examples
    --------
    >>> PerturbedHistory(scale=0.5)
    PerturbedHistory(scale=0.5)
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _check.number("PerturbedHistory", "scale", self.scale, at_least=0.0))

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        scores = outlook.mean + self.scale * outlook.perturb(rng)
        width2, prior2 = outlook.width**2, outlook.prior**2
        new = (prior2 - width2) * outlook.noise**2 < MIN_REWARDS * prior2 * width2
        first = np.where(new, outlook.width, -np.inf)
        return np.where(outlook.highest(first) > -np.inf, first, scores)
