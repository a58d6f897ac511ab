"""Policies mixed with uniform choices, so that their logs can be evaluated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._random import UNIFORM
from overcast.beliefs.base import Generators
from overcast.confidence import Confidence
from overcast.models.base import Progress
from overcast.policies.base import Policy
from overcast.policies.outlook import Outlook
from overcast.policies.turn import Pick, Turn


@dataclass(frozen=True)
class Mixed(Policy):
    """Choose uniformly from the available actions with probability `share`, else by a policy.

    If m actions are available, each has probability share / m or more, which evaluation from logs needs.
    `Decision.probability` is share / m + (1 - share) p, where p is the probability under the policy, and is known if p
    is. For `Thompson` and policies under `samples=`, write Mixed(Repeated(policy, n), share).

    Parameters
    ----------
    policy : any policy except `Mixed`
    share : the share of uniform choices, above 0 and at most 1

    Examples
    --------
    >>> import overcast as oc
    >>> policy = Mixed(oc.UCB(), 0.1)
    >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), policy)
    >>> round(bandit.decide([1.0]).probability, 2)
    0.95
    """

    policy: Policy
    share: float

    def __post_init__(self) -> None:
        policy: object = self.policy
        if not isinstance(policy, Policy) or isinstance(policy, Mixed):
            raise TypeError(f"Mixed: policy must be a policy that is not mixed, got {_check.short(self.policy)}")
        object.__setattr__(self, "share", _check.number("Mixed", "share", self.share, above=0.0, at_most=1.0))

    @property
    def random(self) -> bool:  # type: ignore[override]
        """Whether the scores of the policy draw random numbers."""
        return self.policy.random

    @property
    def drawn(self) -> bool:
        return True

    @property
    def additive(self) -> bool:  # type: ignore[override]
        return self.policy.additive

    @property
    def confidence(self) -> Confidence | None:
        return self.policy.confidence

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        """Compute the scores of the policy, without the uniform choices."""
        return self.policy.scores(outlook, progress, rng)

    def law(self, outlook: Outlook, progress: Progress) -> Array | None:
        law = self.policy.law(outlook, progress)
        available = outlook.among(np.ones(outlook.mean.shape[-1]))
        return None if law is None else self.share * available / available.sum() + (1.0 - self.share) * law

    def choose(self, turn: Turn, repetition: int = 0) -> Pick:
        pick = self.policy.choose(turn, repetition)
        available = turn.outlook(pick.repetition).available
        candidates = np.arange(pick.scores.shape[-1]) if available is None else np.flatnonzero(available)
        rng = turn.rng(UNIFORM)
        index = int(candidates[rng.integers(len(candidates))]) if rng.random() < self.share else int(pick.action)
        chance = pick.chance(index)
        probability = None if chance is None else self.share / len(candidates) + (1.0 - self.share) * chance
        return Pick(index, pick.scores, probability, None, pick.repetition)
