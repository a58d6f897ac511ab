"""Greedy choices while all actions are known well enough, else upper confidence bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.models.base import Progress
from overcast.policies.beta import Beta, WithBeta
from overcast.policies.outlook import Outlook


@dataclass(frozen=True, repr=False)
class MostlyGreedy(WithBeta):
    """Take the action with the highest estimate while all are known well enough, else explore as `UCB` does.

    This follows Greedy-First of Bastani, Bayati & Khosravi (2017), which is greedy while the smallest eigenvalue of
    the design grows in proportion to t, because varied contexts replace exploration. Their rate is a parameter in the
    unit of the features, and their policy stops being greedy forever once the eigenvalue is below it. Here, a round is
    greedy if all available actions satisfy

        max_x width_t(x)^2 / noise(x)^2 <= slack log(det V_{t-1} / det V_0) / t

    The right side is slack times the average of log(1 + width^2 / noise^2) over the actions taken so far: no action may
    be much more uncertain than those. The condition has no unit, works for kernels and features, and has no memory: an
    action that is too uncertain is explored until it satisfies the condition. Within the confidence set, and with a
    noise of one, a greedy round costs at most 2 beta_t sqrt(slack log(det V_{t-1} / det V_0) / t), and all
    together 4 beta_T sqrt(slack T log(det V_T / det V_0)), the order of the bound for UCB, whatever the contexts.

    Parameters
    ----------
    beta : as in `UCB`, for the rounds that explore
    slack : how far an action may lag behind; 0 is UCB. With 2, five in six rounds of the paper's synthetic example are
        greedy when the context stays hidden, and nearly all when it is revealed

    Examples
    --------
    >>> MostlyGreedy(beta=2.0)
    MostlyGreedy(beta=2.0, slack=2.0)
    """

    beta: Beta = None
    slack: float = 2.0

    random = False
    lockstep = True
    additive = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "slack", _check.number("MostlyGreedy", "slack", self.slack, at_least=0.0))

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        log_det = np.asarray(progress.log_det)[..., None]
        uncertain = outlook.highest(outlook.width**2 * progress.round - self.slack * log_det * outlook.noise**2) > 0.0
        return outlook.mean + np.where(uncertain, self.half_interval(outlook, progress), 0.0)
