"""The contract of a policy: a rule that turns estimates into a choice."""

from __future__ import annotations

from abc import ABC, abstractmethod

from overcast._check import Array
from overcast.models.base import Estimate, Generators, Progress


class Policy(ABC):
    """Scores the actions; the available action with the highest score is taken, ties by the lowest index."""

    @abstractmethod
    def scores(self, estimate: Estimate, progress: Progress, rng: Generators) -> Array:
        """Return the score of every action, shape (..., k), for estimates (..., k)."""
