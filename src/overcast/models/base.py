"""The contract of a model: an estimate of every action's reward, with its uncertainty."""

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
    """The estimated expected reward of every action under a belief.

    mean : (..., k) psi^T theta-hat
    width : (..., k) the norm of psi under V^-1; beta times it is half the confidence interval

    The leading axes are those of the beliefs: (k,) for one belief, (n, k) for n beliefs that one learner is asked
    about, (r, k) for one belief of each of r trials.

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

    round : t, counting from 1; may be an array where a formula is evaluated along a run
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
    """Parameters that a learner has learnt; None for parameters that its model does not have.

    noise : standard deviation of the noise of rewards
    ridge : lambda
    theta : theta-hat, by name of the feature

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

    A learner owns no action set: `at` prepares any actions, and all questions are about such points. A learner of one
    bandit is asked about one belief, or about n of them as a stack; answers are (k,) or (n, k). A learner of r trials
    (`leading` is (r,)) is asked about a stack of one belief per trial; answers are (r, k), and generators come as a
    list. Points, views and evidence are private to the learner. Evidence is a named tuple of arrays and numbers
    (`_records`); in lock-step it may be a list with one of them per trial. No method except `learn`, `extend`,
    `relabel`, `restore` and `merge` changes what later calls return.

    A learner must give the five abstract methods. The others serve policies that need more than mean and width.

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
        """Prepare actions (k, a), or (r, k, a) if each of r trials has its own."""

    @abstractmethod
    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> Any:
        """Convert beliefs to the form that this model computes with: exactly, or from `samples` fresh draws.

        rng : a generator, or a list with one for each of several beliefs
        """

    @abstractmethod
    def estimate(self, points: Any, view: Any) -> Estimate:
        """Return mean and width of all points, shape (..., k)."""

    @abstractmethod
    def evidence(self, points: Any, view: Any, index: Index) -> Any:
        """Return the evidence that `learn` takes for the chosen point.

        index : of one point; (r,) of one in each trial; (n,) of one for each of n beliefs, if the learner can `stack`
        """

    @abstractmethod
    def learn(self, evidence: Any, reward: float | Array) -> None:
        """Add one round, or raise and change nothing."""

    def heavy(self, points: Any) -> bool:
        """Return whether products are so large that BLAS would start threads, which is slower at our sizes."""
        return True

    def awaiting(self, evidence: Sequence[Any], share: float = 1.0) -> Learner:
        """Return this learner as if a share of these decisions had paid what is expected of them, for estimates.

        Means stay and widths shrink, so that a policy without randomness does not repeat itself until rewards come
        (Desautels et al., 2014). A learner whose widths do not follow from the noise returns itself, the default.
        """
        return self

    @property
    def log_det(self) -> float | Array:
        """log(det V_t / det V_0), which is log det(I + K_t / lambda), shape (...); 0 if the model has no V."""
        return 0.0

    @property
    def residual_share(self) -> float | Array | None:
        """1 - gamma / t, shape (...), with gamma the number of parameters that t rewards determine; None if unknown.

        It is the share of the noise's variance that is left in the residuals: 0 if the fit goes through every reward.
        """
        return None

    @property
    def even_variance(self) -> float | Array | None:
        """The squared width if rewards are spread evenly, shape (...): gamma over the sum of 1 / v, with v the variance
        of each reward; None if unknown. An action whose squared width is larger lags behind."""
        return None

    @property
    def diversity(self) -> float | Array | None:
        """The share of the features' mean square that comes from contexts that differ, from 0 to 1, shape (...); None
        if unknown. Where contexts differ, decisions differ, and rewards teach about many actions by themselves."""
        return None

    @property
    def parameters(self) -> Parameters:
        """The parameters learnt so far."""
        return Parameters()

    def prior(self, points: Any, view: Any) -> Array:
        """Return the width of all points before anything was learnt, |psi| / sqrt(lambda), shape (..., k)."""
        raise self._mean_and_width_only()

    def noise(self, points: Any, view: Any) -> Array:
        """Return the standard deviation of a reward of each point around its expectation, shape (..., k)."""
        raise self._mean_and_width_only()

    def draw(self, points: Any, view: Any, rng: Generators) -> Array:
        """Return psi^T V^-1/2 z of all points for one standard normal z, shape (..., k)."""
        raise self._mean_and_width_only()

    def perturb(self, points: Any, view: Any, rng: Generators) -> Array:
        """Return psi^T V^-1 sum_s psi_s z_s of all points for standard normal z_s, or the same in law, (..., k)."""
        raise self._mean_and_width_only()

    def norm(self, evidence: Any) -> Array:
        """Return the norm of the features behind an evidence, shape (...)."""
        raise self._mean_and_width_only()

    def distance(self, theta: Array) -> Array:
        """Return the norm of theta - theta-hat under V_t, shape (...); the confidence set has those up to beta_t."""
        raise self._mean_and_width_only()

    def _mean_and_width_only(self) -> TypeError:
        return TypeError(
            f"{type(self).__name__}: this model gives mean and width alone, and the policy asks for more; take UCB, or "
            "LinearModel"
        )


class LastingLearner(Learner):
    """The learner of one bandit, which can be written to a file and added to another.

    Examples
    --------
    >>> import overcast as oc
    >>> learner = oc.LinearModel(oc.features.Bilinear(), ridge=1.0).start(np.array([[1.0], [2.0]]), 1)
    >>> isinstance(learner, LastingLearner)
    True
    """

    #: the named tuple that its evidence is, from whose annotations a file is read; None for a bare number or array
    evidence_type: Any = None

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """Return the arrays that `restore` needs."""

    @abstractmethod
    def restore(self, state: dict[str, Array]) -> None:
        """Take over the state that another learner of this model returned; call it on a fresh learner."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Add what another learner of the same model has seen."""

    def check(self, evidence: Any) -> None:
        """Raise ValueError unless evidence that was read from a file fits this learner."""

    #: number of rounds whose evidence may be made at once for `learn_all`; 0 if that does not pay
    stack: int = 0

    def learn_all(self, evidence: Any, rewards: Array) -> None:
        """Add rounds (n,) in order, whose evidence has a leading axis n; if this raises, some may have been added."""
        raise NotImplementedError

    def extend(self, reference: Vectors) -> None:
        """Take note of a larger reference set of actions, or raise and change nothing.

        By default nothing follows from the reference set once the learner has started.
        """

    def relabel(self, of: Indices) -> None:
        """Give labels new places, for a model with `labels`: place i was place of[i], or is new if that is -1."""
        raise TypeError(f"{type(self).__name__}: actions cannot change with this model; start a new bandit")

    def as_decided(self, evidence: Any, mean: float) -> Any:
        """Return the evidence of a decision, given the mean that was estimated for its action when it was made.

        Evidence that depends on what was known then is corrected by it. By default it does not.
        """
        return evidence


class Model(ABC):
    """The configuration of an estimator; `start` gives the state that learns.

    Examples
    --------
    >>> import overcast as oc
    >>> model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)
    >>> isinstance(model, Model), isinstance(model.start(np.array([[1.0], [2.0]]), 1), Learner)
    (True, True)
    """

    #: whether the model learns from a revealed context
    uses_context: bool = True
    #: whether the model can learn from rounds that somebody else decided
    takes_history: bool = True
    #: whether the set of actions must stay the same
    fixed_actions: bool = False
    #: whether vectors of actions are unit vectors that only tell them apart
    labels: bool = False
    #: number of trials that run in one lock-step; fixed, so that results do not depend on the number of workers
    batch: int = 100

    @property
    def theory_ridge(self) -> float | None:
        """lambda if the paper's confidence sets cover this model; None, the default, if they do not."""
        return None

    @abstractmethod
    def start(self, reference: Vectors, context_dim: int) -> LastingLearner:
        """Return a fresh learner for actions in R^a.

        reference : (k, a) actions that are typical of those it will be asked about; what has no unit follows from them
        """

    def start_all(self, reference: Vectors, context_dim: int, trials: int) -> Learner:
        """Return a fresh learner for trials in lock-step; the reference set is (k, a), or (r, k, a) for each trial."""
        from overcast.models.stack import LearnerStack

        return LearnerStack.of(self, reference, context_dim, trials)

    def size(self, a: int, c: int) -> int | None:
        """Return the number of features for actions in R^a and contexts in R^c; None for a model without features."""
        return None

    def silent(self, actions: Vectors) -> Indices:
        """Return which actions (k, a) have no features in any context; none for a model without features."""
        return np.empty(0, dtype=np.intp)

    def widened(self, a: int) -> Model:
        """Return the model for actions with more entries than before, `a`, or raise ValueError."""
        raise ValueError(
            f"{type(self).__name__}: actions must have vectors of the length that they had, got vectors of {a}"
        )

    def view(self, learner: Learner, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> Any:
        """Return the learner's view of a belief; a model that changes the belief first overrides this."""
        return learner.view(beliefs, samples, rng)


def restored(
    owner: str, fresh: Mapping[str, Array], state: Mapping[str, Array], growing: Mapping[str, int] | None = None
) -> dict[str, Array]:
    """Return copies of the arrays in a file, after checking that they have the names and shapes of a fresh learner's.

    growing : arrays that grow with the rounds, and the axis that counts the rounds; all have the same number of them
    """
    if fresh.keys() != state.keys():
        raise ValueError(f"{owner}: state must hold {', '.join(fresh)}, got {', '.join(state)}")
    rounds = None
    for name, array in fresh.items():
        want = list(array.shape)
        if growing is not None and name in growing:
            axis = growing[name]
            rounds = state[name].shape[axis] if rounds is None else rounds
            want[axis] = rounds
        if state[name].shape != tuple(want):
            raise ValueError(f"{owner}: {name} must have shape {tuple(want)}, got {state[name].shape}")
    return {name: np.array(state[name], dtype=array.dtype) for name, array in fresh.items()}


def too_large(owner: str) -> ValueError:
    """Return the error for numbers that overflow."""
    line = "features must stay within the range of floating-point numbers, got larger; scale the contexts and rewards"
    return ValueError(f"{owner}: {line}")


def of_each(rng: Generators, draw: Callable[[np.random.Generator], Array]) -> Array:
    """Call `draw` with the generator, or with each of a list, and stack the results along a leading axis r."""
    return np.stack([draw(own) for own in rng]) if isinstance(rng, Sequence) else draw(rng)


def normals(rng: Generators, n: int) -> Array:
    """Return n standard normal numbers, (n,), or (r, n) from the generators of r trials."""
    return of_each(rng, lambda own: own.standard_normal(n))
