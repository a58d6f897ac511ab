"""Epsilon-greedy exploration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.models.base import Progress, draw_each
from overcast.policies.base import Policy, highest
from overcast.policies.outlook import Outlook


@dataclass(frozen=True)
class EpsilonGreedy(Policy):
    """Take a random available action with probability epsilon_t, else the one with the highest psi^T theta-hat.

    Auer, Cesa-Bianchi & Fischer (2002) take epsilon_t of order 1 / t, with a factor that depends on the gap between
    actions. The default t^(-1/3) needs no gap: about t^(2/3) random rounds leave errors of order t^(-1/3), which cost
    as much as the random rounds, so regret grows as T^(2/3).

    Parameters
    ----------
    epsilon : a probability, a function of the round t (1, 2, ...), or None for t^(-1/3)

    Examples
    --------
    >>> EpsilonGreedy(epsilon=0.05)
    EpsilonGreedy(epsilon=0.05)
    """

    epsilon: float | Callable[[int], float] | None = None

    lockstep = True

    def __post_init__(self) -> None:
        if self.epsilon is not None and not callable(self.epsilon):
            object.__setattr__(self, "epsilon", _probability("epsilon", self.epsilon))

    def epsilon_at(self, progress: Progress) -> float:
        """Compute epsilon_t."""
        t = int(progress.round)
        if self.epsilon is None:
            return float(t ** (-1 / 3))
        return _probability(f"epsilon({t})", self.epsilon(t)) if callable(self.epsilon) else self.epsilon

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        # The first number decides whether to explore; the others rank the actions, each equally likely to come first.
        numbers = draw_each(rng, lambda generator: generator.random(outlook.mean.shape[-1] + 1))
        return np.where(numbers[..., :1] < self.epsilon_at(progress), numbers[..., 1:], outlook.mean)

    def law(self, outlook: Outlook, progress: Progress) -> Array:
        available, epsilon = outlook.among(np.ones(len(outlook.mean), dtype=bool)), self.epsilon_at(progress)
        out = np.where(available, epsilon / int(available.sum()), 0.0)
        out[highest(np.where(available, outlook.mean, -np.inf))] += 1.0 - epsilon
        return out


def _probability(name: str, value: object) -> float:
    return _check.number("EpsilonGreedy", name, value, at_least=0.0, at_most=1.0)
