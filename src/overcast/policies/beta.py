"""What policies with a confidence width share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.confidence import Confidence
from overcast.models.base import Outlook, Progress
from overcast.policies.base import Policy

Beta = float | Callable[[int], float] | Confidence


class WithBeta(Policy):
    """A policy, to be a frozen dataclass, with beta: a number, a function of the round, or the paper's beta_t."""

    beta: Beta

    random = False

    def __post_init__(self) -> None:
        name = type(self).__name__
        if isinstance(self.beta, type):
            raise TypeError(f"{name}: beta must be an instance such as {self.beta.__name__}(), got the class itself")
        if not (isinstance(self.beta, Confidence) or callable(self.beta)):
            object.__setattr__(self, "beta", _check.number(name, "beta", self.beta, at_least=0.0))

    def beta_at(self, progress: Progress) -> float | Array:
        """Return beta_t."""
        if isinstance(self.beta, float):
            return self.beta
        if isinstance(self.beta, Confidence):
            return self.beta.beta(progress)
        t = int(progress.round)
        return _check.number(type(self).__name__, f"beta({t})", self.beta(t), at_least=0.0)

    def half_interval(self, outlook: Outlook, progress: Progress) -> Array:
        """Return beta_t times the width, half the confidence interval of each action, (..., k)."""
        beta = self.beta_at(progress)
        if isinstance(beta, np.ndarray) and beta.ndim:
            beta = beta[..., None]
        return beta * outlook.width
