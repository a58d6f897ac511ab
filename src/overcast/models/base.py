"""The base classes of models and learners, which estimate rewards with their uncertainty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from overcast._check import Array
from overcast._linalg import Indices
from overcast._units import Points as Points
from overcast._units import Vectors
from overcast.beliefs.base import Beliefs, Generators
from overcast.features.design import Index

Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
Steps = np.ndarray[tuple[int, ...], np.dtype[np.intp]]


class Estimate(NamedTuple):
    """Estimated expected rewards of all actions under a belief, and their uncertainty.

    mean : (..., k) psi^T theta-hat
    width : (..., k) the norm of psi under V^-1; beta times it is half the confidence interval

    The leading axes are those of the beliefs: (k,) for one belief, (n, k) for n beliefs and one learner, (r, k) for one
    belief in each of r trials.

    Examples
    --------
    >>> import overcast as oc
    >>> bandit = oc.Bandit([[1.0], [2.0]], oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(beta=1.0))
    >>> bandit.observe(0, [1.0], 3.0)
    >>> mean, width = bandit.estimate([1.0])
    >>> mean, width.round(3)
    (array([1.5, 3. ]), array([0.707, 1.414]))
    """

    mean: Array
    width: Array


class Progress(NamedTuple):
    """The quantities that a confidence width may depend on.

    round : t, counting from 1; an array to evaluate a formula along a run
    log_det : log(det V_{t-1} / det V_0)
    ridge : lambda, or None if the paper's confidence sets do not cover the model
    actions : k, the number of actions

    Examples
    --------
    >>> Progress(round=1, log_det=0.0, ridge=1.0, actions=5).round
    1
    """

    round: int | Steps
    log_det: float | Array
    ridge: float | None
    actions: int


class Parameters(NamedTuple):
    """The estimated parameters of a learner; None for those that its model does not have.

    noise : standard deviation of the noise of rewards
    ridge : lambda
    theta : theta-hat, by feature name

    Examples
    --------
    >>> Parameters(noise=0.5, theta={"x1 c1": 2.0}).theta
    {'x1 c1': 2.0}
    """

    noise: float | None = None
    ridge: float | None = None
    theta: dict[str, float] | None = None


class Learner(ABC):
    """The state of a model while it learns, for one bandit or for r trials in lock-step.

    A learner has no action set: `at` prepares any actions as points, and the other methods take such points. A learner
    of one bandit takes one belief, or n of them as a stack, and returns arrays (k,) or (n, k). A learner of r trials
    (`leading` is (r,)) takes a stack of one belief per trial and a list of generators, and returns arrays (r, k).
    Points, views and evidence are private to the learner. Evidence is a named tuple of arrays and numbers (`_records`);
    in lock-step it may be a list of one per trial. Only `learn`, `extend`, `relabel`, `restore` and `merge` change what
    later calls return.

    The five abstract methods are required. The others serve policies that need more than mean and width.

    Examples
    --------
    >>> import overcast as oc
    >>> learner = oc.LinearModel(oc.features.Bilinear(), ridge=1.0).start(np.array([[1.0], [2.0]]), 1)
    >>> points, view = learner.at(np.array([[1.0], [2.0], [1.5]])), learner.view(oc.Gaussian([1.0], 0.1))
    >>> learner.estimate(points, view).mean
    array([0., 0., 0.])
    """

    #: the axes of trials: () for one bandit, (r,) for r trials in lock-step
    leading: tuple[int, ...] = ()

    @abstractmethod
    def at(self, vectors: Vectors) -> Any:
        """Prepare actions (k, a) as points, or (r, k, a) if trials differ in their actions."""

    @abstractmethod
    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> Any:
        """Convert beliefs to the form that this model computes with, exactly or from `samples` fresh draws.

        rng : a generator, or a list of one per belief
        """

    @abstractmethod
    def estimate(self, points: Any, view: Any) -> Estimate:
        """Compute mean and width of all points, shape (..., k)."""

    @abstractmethod
    def evidence(self, points: Any, view: Any, index: Index) -> Any:
        """Compute what `learn` needs to know of the chosen point.

        index : of one point; (r,) of one per trial; (n,) of one per belief, if the learner can `stack`
        """

    @abstractmethod
    def learn(self, evidence: Any, reward: float | Array) -> None:
        """Learn from one round, or raise and change nothing."""

    def heavy(self, points: Any) -> bool:
        """Return whether products are large enough for BLAS to start threads, which is slower at our sizes."""
        return True

    def awaiting(self, evidence: Sequence[Any], share: float = 1.0) -> Learner:
        """Return a learner for estimates that has learnt a share of pending decisions with their expected rewards.

        Means stay the same and widths shrink, so that a deterministic policy does not repeat one action until rewards
        come (Desautels et al., 2014). A learner whose widths do not follow from the noise returns itself, the default.
        """
        return self

    def seeing(self, view: Any) -> Learner:
        """Return a learner that answers about all beliefs as this one answers about one belief.

        It differs only for a learner whose answers depend on the belief in more than its features. By default the
        learner returns itself.
        """
        return self

    @property
    def log_det(self) -> float | Array:
        """log(det V_t / det V_0), which is log det(I + K_t / lambda), shape (...); 0 if the model has no V."""
        return 0.0

    @property
    def residual_share(self) -> float | Array | None:
        """1 - gamma / t, shape (...), with gamma the number of parameters that t rewards determine; None if unknown.

        It is the share of the noise variance that remains in the residuals: 0 if the fit interpolates all rewards.
        """
        return None

    @property
    def even_variance(self) -> float | Array | None:
        """The squared width if rewards were spread evenly over actions, shape (...); None if unknown.

        It is gamma over the sum of 1 / v, with v the variance of each reward. Actions with a larger squared width have
        been tried less than their share.
        """
        return None

    @property
    def diversity(self) -> float | Array | None:
        """The share of the features' mean square that is due to differences of contexts, (...); None if unknown.

        Where contexts differ, decisions differ, so that rewards inform about many actions without exploration.
        """
        return None

    @property
    def parameters(self) -> Parameters:
        """The current estimates of the parameters."""
        return Parameters()

    def prior(self, points: Any, view: Any) -> Array:
        """Compute the width of all points before the first reward, |psi| / sqrt(lambda), shape (..., k)."""
        raise self._mean_and_width_only()

    def noise(self, points: Any, view: Any) -> Array:
        """Compute the standard deviation of the reward of each point around its expectation, shape (..., k)."""
        raise self._mean_and_width_only()

    def draw(self, points: Any, view: Any, rng: Generators) -> Array:
        """Draw psi^T V^-1/2 z of all points for one standard normal z, shape (..., k)."""
        raise self._mean_and_width_only()

    def perturb(self, points: Any, view: Any, rng: Generators) -> Array:
        """Draw psi^T V^-1 sum_s psi_s z_s of all points for standard normal z_s, or the same in law, (..., k)."""
        raise self._mean_and_width_only()

    def norm(self, evidence: Any) -> Array:
        """Compute the norm of the features in evidence, shape (...)."""
        raise self._mean_and_width_only()

    def distance(self, theta: Array) -> Array:
        """Compute the norm of theta - theta-hat under V_t, shape (...); at most beta_t in the confidence set."""
        raise self._mean_and_width_only()

    def _mean_and_width_only(self) -> TypeError:
        return TypeError(
            f"{type(self).__name__}: this model gives mean and width alone, and the policy asks for more; take UCB, or "
            "LinearModel"
        )


class LastingLearner(Learner):
    """A learner of one bandit, which can be saved and merged.

    Examples
    --------
    >>> import overcast as oc
    >>> learner = oc.LinearModel(oc.features.Bilinear(), ridge=1.0).start(np.array([[1.0], [2.0]]), 1)
    >>> isinstance(learner, LastingLearner)
    True
    """

    #: the named tuple type of its evidence, which files are read by; None for a bare number or array
    evidence_type: Any = None

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """Return the state as arrays, for `restore`."""

    @abstractmethod
    def restore(self, state: dict[str, Array]) -> None:
        """Load the `state` of another learner of this model into a fresh learner."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Add the rounds of another learner of the same model."""

    def check(self, evidence: Any) -> None:
        """Raise ValueError unless evidence from a file fits this learner."""

    #: largest number of rounds whose evidence is stacked for `learn_all`; 0 if stacking is no faster
    stack: int = 0

    def learn_all(self, evidence: Any, rewards: Array) -> None:
        """Learn from n rounds in order, with stacked evidence; if this raises, some may have been learnt."""
        raise NotImplementedError

    def extend(self, reference: Vectors) -> None:
        """Adapt to a larger reference set of actions, or raise and change nothing.

        By default, a learner does not depend on the reference set after its start.
        """

    def relabel(self, of: Indices) -> None:
        """Reorder labels, for a model with `labels`: place i was place of[i], or is new if that is -1."""
        raise TypeError(f"{type(self).__name__}: actions cannot change with this model; start a new bandit")

    def as_decided(self, evidence: Any, mean: float) -> Any:
        """Adjust evidence to the state in which a decision was made, given the mean estimated then.

        By default, evidence does not depend on the state and is returned unchanged.
        """
        return evidence


class Model(ABC):
    """The configuration of an estimator; `start` returns a learner.

    Examples
    --------
    >>> import overcast as oc
    >>> model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)
    >>> isinstance(model, Model), isinstance(model.start(np.array([[1.0], [2.0]]), 1), Learner)
    (True, True)
    """

    #: whether the model learns from a revealed context
    uses_context: bool = True
    #: whether the model can learn from rounds decided elsewhere
    takes_history: bool = True
    #: whether the set of actions must stay the same
    fixed_actions: bool = False
    #: whether action vectors are mere labels, that is unit vectors
    labels: bool = False
    #: number of trials in one lock-step; fixed, so that results do not depend on the number of workers
    batch: int = 100

    @property
    def theory_ridge(self) -> float | None:
        """lambda if the paper's confidence sets hold for this model; None, the default, if they do not."""
        return None

    @abstractmethod
    def start(self, reference: Vectors, context_dim: int) -> LastingLearner:
        """Create a learner for actions in R^a.

        reference : (k, a) typical actions, from which scales without a unit follow
        """

    def start_all(self, reference: Vectors, context_dim: int, trials: int) -> Learner:
        """Create a learner for trials in lock-step; the reference set is (k, a), or (r, k, a) if trials differ."""
        from overcast.models.stack import LearnerStack

        return LearnerStack.of(self, reference, context_dim, trials)

    def size(self, a: int, c: int) -> int | None:
        """Compute the number of features for actions in R^a and contexts in R^c; None for a model without features."""
        return None

    def silent(self, actions: Vectors) -> Indices:
        """Return the indices of actions (k, a) whose features are zero in all contexts; empty without features."""
        return np.empty(0, dtype=np.intp)

    def widened(self, a: int) -> Model:
        """Return the model for longer action vectors, of `a` entries, or raise ValueError."""
        raise ValueError(
            f"{type(self).__name__}: actions must have vectors of the length that they had, got vectors of {a}"
        )

    def view(self, learner: Learner, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> Any:
        """Convert beliefs to the learner's form; a model that changes the belief first overrides this."""
        return learner.view(beliefs, samples, rng)


def restored(
    owner: str, fresh: Mapping[str, Array], state: Mapping[str, Array], growing: Mapping[str, int] | None = None
) -> dict[str, Array]:
    """Check that the arrays of a file have the names and shapes of a fresh learner; return copies.

    growing : the axis that counts rounds, for each array that grows with them; all must have the same number
    """
    if fresh.keys() != state.keys():
        raise ValueError(f"{owner}: state must hold {', '.join(fresh)}, got {', '.join(state)}")
    rounds = None
    for name, array in fresh.items():
        expected = list(array.shape)
        if growing is not None and name in growing:
            axis = growing[name]
            rounds = state[name].shape[axis] if rounds is None else rounds
            expected[axis] = rounds
        if state[name].shape != tuple(expected):
            raise ValueError(f"{owner}: {name} must have shape {tuple(expected)}, got {state[name].shape}")
    return {name: np.array(state[name], dtype=array.dtype) for name, array in fresh.items()}


def too_large(owner: str) -> ValueError:
    """Return the error for features that overflow."""
    line = "features must stay within the range of floating-point numbers, got larger; scale the contexts and rewards"
    return ValueError(f"{owner}: {line}")


def draw_each(rng: Generators, draw: Callable[[np.random.Generator], Array]) -> Array:
    """Call `draw` with the generator, or with each of r generators, and stack the results along a leading axis."""
    return np.stack([draw(generator) for generator in rng]) if isinstance(rng, Sequence) else draw(rng)


def normals(rng: Generators, n: int) -> Array:
    """Draw n standard normal numbers, (n,), or (r, n) from the generators of r trials."""
    return draw_each(rng, lambda generator: generator.standard_normal(n))
