"""Random choices with given odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast._check import Array
from overcast.models.base import Generators, Outlook, Progress, of_each
from overcast.policies.base import Policy


@dataclass(frozen=True)
class Proportional(Policy):
    """Draw an action with probability proportional to exp(mean), among those available.

    The choice that `Exp4` asks for, whose means are log probabilities; with means that are rewards it is Boltzmann
    exploration. The highest of independent standard Gumbel numbers, each added to a mean, is such a draw.

    Examples
    --------
    >>> Proportional()
    Proportional()
    """

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        k = outlook.mean.shape[-1]
        return np.asarray(outlook.mean + of_each(rng, lambda own: np.asarray(own.gumbel(size=k))))
