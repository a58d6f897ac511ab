"""Upper confidence bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.confidence import Confidence
from overcast.models.base import Generators, Outlook, Progress
from overcast.policies.base import Policy


@dataclass(frozen=True)
class UCB(Policy):
    """Take the action with the highest psi^T theta-hat + beta_t ||psi||_{V^-1} (Algorithms 1 and 2).

    Parameters
    ----------
    beta : a number, a function of the round t (1, 2, ...), or the paper's beta_t from `overcast.confidence`

    Examples
    --------
    >>> UCB(beta=2.0)
    UCB(beta=2.0)
    """

    beta: float | Callable[[int], float] | Confidence

    random = False

    def __post_init__(self) -> None:
        if isinstance(self.beta, type):
            raise TypeError(f"UCB: beta must be an instance such as {self.beta.__name__}(), got the class itself")
        if not (isinstance(self.beta, Confidence) or callable(self.beta)):
            object.__setattr__(self, "beta", _check.number("UCB", "beta", self.beta, at_least=0.0))

    def beta_at(self, progress: Progress) -> float | Array:
        """Return beta_t."""
        if isinstance(self.beta, float):
            return self.beta
        if isinstance(self.beta, Confidence):
            return self.beta.beta(progress)
        t = int(progress.round)
        return _check.number("UCB", f"beta({t})", self.beta(t), at_least=0.0)

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        beta = self.beta_at(progress)
        if isinstance(beta, np.ndarray) and beta.ndim:
            beta = beta[..., None]
        return outlook.mean + beta * outlook.width
