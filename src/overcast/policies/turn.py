"""One decision to make, as a policy sees it, and what the policy picks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from overcast._check import Array
from overcast.features.design import Index
from overcast.models.base import Progress
from overcast.policies.outlook import Outlook


class Turn(Protocol):
    """A decision to make; `round` gives it.

    progress : round, log-determinant, ridge and number of actions
    exact : whether expectations are exact; False if beliefs are drawn from
    searched : whether there are more actions than the candidates, so that `refine` may find a better one
    """

    progress: Progress
    exact: bool
    searched: bool

    def outlook(self, repetition: int = 0) -> Outlook:
        """Return estimates of all actions; repetitions differ if beliefs are drawn from."""

    def rng(self, kind: int, repetition: int = 0) -> Any:
        """Return the generator of the draws of one kind, or one for each trial in lock-step; the next call moves it."""

    def refine(
        self, index: int, scores: Callable[[Outlook, Progress, Any], Array], kind: int | None, repetition: int = 0
    ) -> tuple[int, Array]:
        """Search the space from a candidate on; return the index and the scores of the candidates and the best action.

        scores : as `Policy.scores`, asked about the candidates and other actions after them
        kind : of the draws that scores take, the same for every question; None if they take none
        """


class Pick(NamedTuple):
    """The action that a policy picked.

    action : its index; (r,) in lock-step; the number of candidates for an action found by `Turn.refine`
    scores : (..., k), -inf for actions that are not available
    probability : with which the action was picked; None if it is not known, or in lock-step
    law : (k,) the probability of every action, if they are known and not just one of them is possible
    repetition : whose draws of the belief the pick rests on
    """

    action: Index
    scores: Array
    probability: float | None = None
    law: Array | None = None
    repetition: int = 0

    def chance(self, index: int) -> float | None:
        """Return the probability with which an action is picked in this turn; None if it is not known."""
        if self.law is not None:
            return float(self.law[index])
        return self.probability if self.probability is None or index == self.action else 0.0
