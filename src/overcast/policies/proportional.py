"""Random choices with given odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast._check import Array
from overcast.models.base import Estimate, Generators, Progress
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

    def scores(self, estimate: Estimate, progress: Progress, rng: Generators) -> Array:
        k = estimate.mean.shape[-1]
        if isinstance(rng, np.random.Generator):
            return np.asarray(estimate.mean + rng.gumbel(size=k))
        return np.asarray(estimate.mean + np.stack([own.gumbel(size=k) for own in rng]))
