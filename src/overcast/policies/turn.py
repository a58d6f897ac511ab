"""The interface of a policy to one decision, and the result of its choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from overcast._check import Array
from overcast.features.design import Index
from overcast.models.base import Progress
from overcast.policies.outlook import Outlook


class Turn(Protocol):
    """A decision to make, as `round` passes it to a policy.

    progress : round, log-determinant, ridge and number of actions
    exact : whether expectations are exact; False if beliefs are sampled
    searched : whether the space has actions besides the candidates, which `refine` searches
    """

    progress: Progress
    exact: bool
    searched: bool

    def outlook(self, repetition: int = 0) -> Outlook:
        """Return the estimates of all actions; repetitions differ if beliefs are sampled."""

    def rng(self, kind: int, repetition: int = 0) -> Any:
        """Return the generator for draws of one kind, or one per trial in lock-step; the next call repositions it."""

    def refine(
        self, index: int, scores: Callable[[Outlook, Progress, Any], Array], kind: int | None, repetition: int = 0
    ) -> tuple[int, Array]:
        """Search the space from a candidate on; return the index of the best action, and all scores.

        scores : as `Policy.scores`, asked about the candidates and other actions after them
        kind : of the draws that scores take, the same for every question; None if they take none
        """


class Pick(NamedTuple):
    """The choice of a policy.

    action : its index; (r,) in lock-step; the number of candidates for an action found by `Turn.refine`
    scores : (..., k), -inf for unavailable actions
    probability : the probability of the choice; None if unknown, or in lock-step
    law : (k,) the probability of every action, if known and more than one is possible
    repetition : the repetition whose draws of the belief the choice rests on
    """

    action: Index
    scores: Array
    probability: float | None = None
    law: Array | None = None
    repetition: int = 0

    def chance(self, index: int) -> float | None:
        """Return the probability of an action in this turn; None if unknown."""
        if self.law is not None:
            return float(self.law[index])
        return self.probability if self.probability is None or index == self.action else 0.0
