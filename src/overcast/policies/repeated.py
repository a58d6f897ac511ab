"""Policies asked repeatedly, so that the probability of a choice is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._random import POLICY
from overcast.beliefs.base import Generators
from overcast.confidence import Confidence
from overcast.models.base import Progress
from overcast.policies.base import Policy
from overcast.policies.mixed import Mixed
from overcast.policies.outlook import Outlook
from overcast.policies.turn import Pick, Turn


@dataclass(frozen=True)
class Repeated(Policy):
    """Ask a policy n times, and take one of its answers at random.

    The choice has the same distribution as the policy's. Given the n answers, the probability of an action is its share
    of them, and `Decision.probability` holds that share. It is exact, which evaluation from logs needs, and which
    `Thompson`, `PerturbedHistory` and policies under `samples=` do not provide alone. Every answer draws new samples of
    the belief. A round costs as much as n rounds.

    Parameters
    ----------
    policy : any policy
    n : number of answers; a share is a multiple of 1 / n

    Examples
    --------
    >>> from overcast.policies import Thompson
    >>> Repeated(Thompson(), 100)
    Repeated(policy=Thompson(scale=1.0), n=100)
    """

    policy: Policy
    n: int

    def __post_init__(self) -> None:
        if not isinstance(self.policy, Policy):
            raise TypeError(f"Repeated: policy must be a policy such as Thompson(), got {_check.short(self.policy)}")
        if isinstance(self.policy, Mixed):
            raise ValueError(
                "Repeated: policy must not be mixed, got Mixed inside; write Mixed(Repeated(policy, n), share)"
            )
        object.__setattr__(self, "n", _check.integer("Repeated", "n", self.n, at_least=2))

    @property
    def random(self) -> bool:  # type: ignore[override]
        """Whether the scores of one answer draw random numbers."""
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
        """Compute the scores of one answer."""
        return self.policy.scores(outlook, progress, rng)

    def law(self, outlook: Outlook, progress: Progress) -> Array | None:
        """Return the law of the policy, over all answers it may draw."""
        return self.policy.law(outlook, progress)

    def choose(self, turn: Turn, repetition: int = 0) -> Pick:
        if turn.searched:
            raise TypeError("Repeated: actions must be a list, so that answers can be counted, got a space without one")
        answers = [int(self.policy.choose(turn, j).action) for j in range(self.n)]
        selected = int(turn.rng(POLICY, self.n).random() * self.n)
        pick = self.policy.choose(turn, selected)
        shares = np.bincount(answers, minlength=pick.scores.shape[-1]) / self.n
        return pick._replace(probability=float(shares[answers[selected]]), law=shares)
