"""The contract of a model: an estimate of every action's reward, with its uncertainty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.stacked import BeliefStack

Index = int | np.ndarray[tuple[int, ...], np.dtype[np.intp]]
Steps = np.ndarray[tuple[int, ...], np.dtype[np.intp]]
Generators = np.random.Generator | Sequence[np.random.Generator]


class Estimate(NamedTuple):
    """What is believed about the expected reward of every action under a belief.

    mean : (k,) psi^T theta-hat
    width : (k,) the norm of psi under V^-1; beta times it is half the confidence interval
    """

    mean: Array
    width: Array


class Progress(NamedTuple):
    """What a confidence width may depend on.

    round : t, counting from 1; may be an array where a formula is evaluated along a run
    log_det : log(det V_{t-1} / det V_0)
    ridge : lambda
    actions : k, the number of actions
    """

    round: int | Steps
    log_det: float | Array
    ridge: float
    actions: int


class Learner(ABC):
    """The state of a model while it learns. All arrays may carry a leading axis r of trials run in lock-step."""

    @abstractmethod
    def encode(self, belief: Belief | BeliefStack) -> Array:
        """Return what this model needs to know of the belief, exactly; the other methods take it as `view`."""

    @abstractmethod
    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> Array:
        """Return the view of the empirical distribution of fresh draws of the belief."""

    @abstractmethod
    def estimate(self, view: Array) -> Estimate:
        """Return mean and width of all actions, shape (..., k)."""

    @abstractmethod
    def evidence(self, view: Array, index: Index) -> Array:
        """Return what `learn` needs of the chosen action, shape (..., d)."""

    @abstractmethod
    def learn(self, evidence: Array, reward: float | Array) -> None:
        """Add one round."""

    @abstractmethod
    def norm(self, evidence: Array) -> Array:
        """Return the Euclidean norm of the features behind an evidence, shape (...)."""

    @abstractmethod
    def distance(self, theta: Array) -> Array:
        """Return the norm of theta - theta-hat under V_t: theta is in the confidence set when it is at most beta_t."""

    @property
    @abstractmethod
    def log_det(self) -> float | Array:
        """log(det V_t / det V_0), shape (...)."""

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """Return the arrays that `restore` needs."""

    @abstractmethod
    def restore(self, state: dict[str, Array]) -> None:
        """Take over the state that another learner of this model returned."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Add what another learner of the same model has seen."""


class Model(ABC):
    """The configuration of an estimator; `start` gives the state that learns."""

    #: lambda
    ridge: float

    @abstractmethod
    def start(self, actions: Array, context_dim: int, trials: int | None = None) -> Learner:
        """Return a fresh learner for actions (k, a), or for `trials` in lock-step with (k, a) or (r, k, a)."""
