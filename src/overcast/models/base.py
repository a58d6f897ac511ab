"""The contract of a model: an estimate of every action's reward, with its uncertainty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.stacked import BeliefStack

Index = int | np.ndarray[tuple[int, ...], np.dtype[np.intp]]
Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
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
    ridge : lambda, or None where the model is none that the paper's confidence sets are for
    actions : k, the number of actions
    """

    round: int | Steps
    log_det: float | Array
    ridge: float | None
    actions: int


class Learner(ABC):
    """The state of a model while it learns, for one bandit or for r trials in lock-step.

    In lock-step, arrays carry a leading axis r, beliefs come as a stack and generators as a list. Views and evidence
    are the learner's own: nobody else looks into them.
    """

    @abstractmethod
    def encode(self, belief: Belief | BeliefStack) -> Any:
        """Return what this model needs to know of the belief, exactly; the other methods take it as `view`."""

    @abstractmethod
    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> Any:
        """Return the view of the empirical distribution of fresh draws of the belief."""

    @abstractmethod
    def estimate(self, view: Any) -> Estimate:
        """Return mean and width of all actions, shape (..., k)."""

    def prior(self, view: Any) -> Array:
        """Return the width of all actions before anything was learnt, |psi| / sqrt(lambda), shape (..., k)."""
        raise self._mean_and_width_only()

    def noise(self, view: Any) -> Array:
        """Return the standard deviation of a reward of each action around its expectation, shape (..., k)."""
        raise self._mean_and_width_only()

    def draw(self, view: Any, rng: Generators) -> Array:
        """Return psi^T V^-1/2 z of all actions for one standard normal z, shape (..., k)."""
        raise self._mean_and_width_only()

    def perturb(self, view: Any, rng: Generators) -> Array:
        """Return psi^T V^-1 sum_s psi_s z_s of all actions for standard normal z_s, or its like in law, (..., k)."""
        raise self._mean_and_width_only()

    def _mean_and_width_only(self) -> TypeError:
        return TypeError(
            f"{type(self).__name__}: this model gives mean and width alone, and the policy asks for more; take UCB, or "
            "LinearModel"
        )

    @abstractmethod
    def evidence(self, view: Any, index: Index) -> Any:
        """Return what `learn` needs of the chosen action."""

    @abstractmethod
    def learn(self, evidence: Any, reward: float | Array) -> None:
        """Add one round, or raise and change nothing."""

    @abstractmethod
    def norm(self, evidence: Any) -> Array:
        """Return the norm of the features behind an evidence, shape (...)."""

    @property
    @abstractmethod
    def log_det(self) -> float | Array:
        """log(det V_t / det V_0), which is log det(I + K_t / lambda), shape (...)."""

    @property
    def slack(self) -> float | Array | None:
        """1 - gamma / t, shape (...), with gamma the number of parameters that t rewards determine; None if unknown.

        The share of the noise's variance that is left in the residuals: zero where the fit goes through every reward.
        """
        return None


class Outlook:
    """What a policy may ask about the coming round; all but mean and width is computed when it is asked for.

    mean : (..., k) psi^T theta-hat
    width : (..., k) the norm of psi under V^-1: one standard deviation of the mean where a reward has `noise`
    available : (k,) which actions may be taken, or None for all; the others are left out whatever they score
    """

    __slots__ = ("_learner", "_view", "available", "estimate", "mean", "width")

    def __init__(self, learner: Learner, view: Any, available: Mask | None = None) -> None:
        self._learner = learner
        self._view = view
        self.available = available
        self.estimate = learner.estimate(view)
        self.mean, self.width = self.estimate

    @property
    def slack(self) -> float | Array | None:
        """The share of the noise's variance that is left in the residuals, (...); None where the model cannot say."""
        return self._learner.slack

    @property
    def prior(self) -> Array:
        """The width before anything was learnt, (..., k)."""
        return self._learner.prior(self._view)

    @property
    def noise(self) -> Array:
        """The standard deviation of a reward around its expectation, in the unit of the widths, (..., k)."""
        return self._learner.noise(self._view)

    def draw(self, rng: Generators) -> Array:
        """Return a joint deviation of all means: normal, with standard deviation `width`, correlated as they are."""
        return self._learner.draw(self._view, rng)

    def perturb(self, rng: Generators) -> Array:
        """Return how far all means move when independent standard normal noise is added to every past reward."""
        return self._learner.perturb(self._view, rng)

    def highest(self, values: Array) -> Array:
        """Return the highest of the available actions' values (..., k), shape (..., 1)."""
        if self.available is not None:
            values = np.where(self.available, values, -np.inf)
        return np.asarray(values.max(axis=-1, keepdims=True))


class LastingLearner(Learner):
    """The learner of one bandit, which can be written to a file and added to another."""

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """Return the arrays that `restore` needs."""

    @abstractmethod
    def restore(self, state: dict[str, Array]) -> None:
        """Take over, in a fresh learner, the state that another learner of this model returned."""

    @abstractmethod
    def pack(self, evidence: Sequence[Any]) -> dict[str, Array]:
        """Return evidence that waits for its rewards as arrays."""

    @abstractmethod
    def unpack(self, arrays: dict[str, Array]) -> Sequence[Any]:
        """Return the evidence that `pack` put into arrays."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Add what another learner of the same model has seen."""


class Model(ABC):
    """The configuration of an estimator; `start` gives the state that learns."""

    #: lambda, or None where the model learns it
    ridge: float | None
    #: whether a context that is revealed teaches it more than the reward alone
    uses_context: bool = True
    #: trials that share one lock-step in a simulation, fixed so that results do not depend on the number of workers
    block: int = 100

    @property
    def theory_ridge(self) -> float | None:
        """lambda where the paper's confidence sets are for this model, else None."""
        return self.ridge

    @abstractmethod
    def start(self, actions: Array, context_dim: int) -> LastingLearner:
        """Return a fresh learner for actions (k, a)."""

    def start_all(self, actions: Array, context_dim: int, trials: int) -> Learner:
        """Return a fresh learner for trials in lock-step with actions (k, a) or (r, k, a)."""
        from overcast.models.stacked import LearnerStack

        sets = [actions if actions.ndim == 2 else np.asarray(actions[i]) for i in range(trials)]
        return LearnerStack([self.start(own, context_dim) for own in sets])


def of_each(rng: Generators, draw: Callable[[np.random.Generator], Array]) -> Array:
    """Return what `draw` takes from the generator, or from each of a list, with a leading trial axis r."""
    return np.stack([draw(own) for own in rng]) if isinstance(rng, Sequence) else draw(rng)


def normals(rng: Generators, n: int) -> Array:
    """Return n standard normal numbers, (n,), or (r, n) from the generators of r trials."""
    return of_each(rng, lambda own: own.standard_normal(n))
