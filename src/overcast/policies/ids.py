"""Information-directed sampling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.models.base import Progress
from overcast.policies.beta import Beta, WithBeta
from overcast.policies.outlook import Outlook

# The ratio of width to noise below which log(1 + r^2) equals r^2, and the largest whose square does not overflow.
LEAST, MOST = 1e-8, 1e100


@dataclass(frozen=True, repr=False)
class IDS(WithBeta):
    """Take the action with the lowest cost per information, gap(x)^2 / information(x).

    gap(x) = max_x' (mean(x') + beta_t width(x')) - (mean(x) - beta_t width(x)) bounds the regret of the action,
    information(x) = log(1 + width(x)^2 / noise(x)^2) is the information of its reward about theta. Deterministic
    information-directed sampling, Kirschner & Krause (2018). It differs from `UCB` most if the noise differs between
    actions: an action with little noise may be worth taking for the information about others.

    Scores are -gap / sqrt(information): zero for an action that is certainly the best, -inf for another one without
    information.

    Parameters
    ----------
    beta : as in `UCB`

    Examples
    --------
    >>> IDS(beta=2.0)
    IDS(beta=2.0)
    """

    beta: Beta = None

    random = False
    lockstep = True

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        half = self.half_interval(outlook, progress)
        gap = outlook.highest(outlook.mean + half) - (outlook.mean - half)
        gap = np.maximum(gap, 0.0)  # an unavailable action may be better
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.where(outlook.width > 0.0, np.minimum(outlook.width / outlook.noise, MOST), 0.0)
            root = np.where(ratio < LEAST, ratio, np.sqrt(np.log1p(ratio * ratio)))
            return np.where(gap > 0.0, -gap / root, 0.0)
