"""Greedy as long as the contexts explore by themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.models.base import Generators, Outlook, Progress
from overcast.policies.beta import Beta, WithBeta


@dataclass(frozen=True)
class MostlyGreedy(WithBeta):
    """Take the highest estimate while every action is known well enough for the round, else explore as `UCB` does.

    After Greedy-First of Bastani, Bayati & Khosravi (2017), which is greedy as long as the smallest eigenvalue of the
    design grows in proportion to t, since varied contexts explore by themselves. They give the rate as a parameter in
    the unit of the features, and leave greediness for good once it is missed. Here

        max_x width_t(x)^2 / noise(x)^2 <= slack log(det V_{t-1} / det V_0) / t

    is asked of the available actions in every round: none may be known much less than those taken so far, on average,
    whose log(1 + width^2 / noise^2) add up to the logarithm. It has no unit, holds for kernels as for features, and has
    no memory: what lags behind is explored until it has caught up. Within the confidence set, and with a noise of one,
    a greedy round costs 2 beta_t sqrt(slack log(det V_{t-1} / det V_0) / t) at most, and all of them
    4 beta_T sqrt(slack T log(det V_T / det V_0)): the order of the bound for UCB, whatever the contexts.

    Parameters
    ----------
    beta : of the rounds that explore, as in `UCB`
    slack : how far an action may lag behind; 0 is UCB. With 2, five in six rounds of the paper's synthetic example are
        greedy when the context stays hidden, and nearly all when it is revealed

    Examples
    --------
    >>> MostlyGreedy(beta=2.0)
    MostlyGreedy(beta=2.0, slack=2.0)
    """

    beta: Beta = None
    slack: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "slack", _check.number("MostlyGreedy", "slack", self.slack, at_least=0.0))

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        spent = np.asarray(progress.log_det)[..., None]
        behind = outlook.highest(outlook.width**2 * progress.round - self.slack * spent * outlook.noise**2) > 0.0
        return outlook.mean + np.where(behind, self.half_interval(outlook, progress), 0.0)
