"""What a bandit decided, and the ticket to learn from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.actions import Actions
from overcast.models.base import Estimate


@dataclass(frozen=True)
class Option:
    """One action as a decision saw it."""

    action: Any
    index: int
    mean: float
    width: float
    score: float


class Decision:
    """A choice, and the ticket that `Bandit.learn` takes when its reward comes.

    Attributes
    ----------
    action : the chosen action's name, or its vector (a,) where actions have no names
    index : its row in the action set
    mean, width : estimate and uncertainty of its expected reward
    score : what the policy ranked it by
    id : names the decision; enough to learn from it later, in another process too
    """

    __slots__ = ("_actions", "_estimate", "_scores", "id", "index")

    def __init__(self, ticket: str, actions: Actions, index: int, estimate: Estimate, scores: Array) -> None:
        self.id = ticket
        self.index = index
        self._actions = actions
        self._estimate = estimate
        self._scores = scores

    @property
    def action(self) -> Any:
        return self._actions[self.index]

    @property
    def mean(self) -> float:
        return float(self._estimate.mean[self.index])

    @property
    def width(self) -> float:
        return float(self._estimate.width[self.index])

    @property
    def score(self) -> float:
        return float(self._scores[self.index])

    def top(self, n: int) -> list[Option]:
        """Return the `n` best available actions, best first; fewer where fewer are available."""
        n = _check.integer("Decision", "n", n, at_least=1)
        ranked = np.argsort(-self._scores, kind="stable")
        order = np.concatenate([[self.index], ranked[ranked != self.index]])[:n]  # ties may have ranked it lower
        return [self._option(int(i)) for i in order if self._scores[i] > -np.inf]

    def _option(self, i: int) -> Option:
        estimate = self._estimate
        return Option(self._actions[i], i, float(estimate.mean[i]), float(estimate.width[i]), float(self._scores[i]))

    def __repr__(self) -> str:
        return f"Decision(action={self.action!r}, mean={self.mean:.4g}, width={self.width:.4g}, score={self.score:.4g})"
