"""Random choices with probabilities proportional to exp(mean)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.models.base import Progress, draw_each
from overcast.policies.base import Policy
from overcast.policies.outlook import Outlook


@dataclass(frozen=True)
class Proportional(Policy):
    """Draw an available action with probability proportional to exp(mean).

    `Exp4` needs this policy: its means are log probabilities. If means are rewards, this is Boltzmann exploration. The
    draw adds independent standard Gumbel numbers to the means and takes the highest sum.

    Examples
    --------
    >>> Proportional()
    Proportional()
    """

    lockstep = True
    additive = True

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        k = outlook.mean.shape[-1]
        return np.asarray(outlook.mean + draw_each(rng, lambda generator: np.asarray(generator.gumbel(size=k))))

    def law(self, outlook: Outlook, progress: Progress) -> Array:
        odds = outlook.among(np.exp(outlook.mean - outlook.highest(outlook.mean)))
        return np.asarray(odds / odds.sum())
