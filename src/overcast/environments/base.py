"""The contract of an environment: each round has a belief, the realised context and the rewards of all actions.

Because an environment draws the rewards of all actions, policies that run with the same seed face the same noise, and
comparisons are paired.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.stacked import BeliefStack, Catalogue
from overcast.features import FeatureMap
from overcast.kernels import AnyKernel

#: one generator per trial
Rngs = Sequence[np.random.Generator]

# Number of steps for which a stream draws random numbers at once from each trial's generator.
BUFFER = 256


class Round(NamedTuple):
    """One round of one trial.

    belief : mu_t
    context : (c,) c_t, which is a draw from mu_t if the forecast is calibrated
    rewards : (k,) f(x, c_t) of every action, without noise
    expected : (k,) E_mu f(x, c) of every action
    epsilon : epsilon_t, added to the reward of the action taken; (k,) if it depends on the action

    Examples
    --------
    >>> from overcast.environments import CoinFlip
    >>> now = CoinFlip(p=0.6).start(np.random.default_rng(0)).step([])
    >>> now.context, now.rewards, now.expected
    (array([1., 0.]), array([0., 1.]), array([0.6, 0.4]))
    """

    belief: Belief
    context: Array
    rewards: Array
    expected: Array
    epsilon: float | Array

    def reward(self, index: int) -> float:
        """Return y_t of the chosen action, including epsilon_t."""
        return float(self.rewards[index] + np.broadcast_to(self.epsilon, self.rewards.shape)[index])


class Trial(Protocol):
    """One sequence of rounds.

    It may also have `theta` (d,), the true parameter under the environment's `features`, or `norm`, the norm of the
    reward function under the environment's `kernel`.

    Examples
    --------
    >>> from overcast.environments import CoinFlip
    >>> trial = CoinFlip().start(np.random.default_rng(0))
    >>> trial.step([]).rewards
    array([0., 1.])
    """

    actions: Array  # (k, a)

    def step(self, past: NDArray[np.intp]) -> Round:
        """Return the next round; `past` (t,) holds the indices of the actions taken so far."""


@runtime_checkable
class Environment(Protocol):
    """The contract of an environment: `start` returns a new trial, random by the generator alone.

    Examples
    --------
    >>> from overcast.environments import CoinFlip
    >>> isinstance(CoinFlip(), Environment), CoinFlip().start(np.random.default_rng(0)).actions
    (True, array([[1., 0.],
           [0., 1.]]))
    """

    def start(self, rng: np.random.Generator) -> Trial: ...


class Rounds(NamedTuple):
    """One round of r trials in lock-step: the fields of `Round` with a leading axis.

    Examples
    --------
    >>> from overcast.environments import Synthetic
    >>> trials = Synthetic(k=20).start_all([np.random.default_rng(seed) for seed in range(3)])
    >>> now = trials.step(np.empty((3, 0), dtype=np.intp))
    >>> now.rewards.shape, now.of(0).rewards.shape
    ((3, 20), (20,))
    """

    belief: BeliefStack
    context: Array  # (r, c)
    rewards: Array  # (r, k)
    expected: Array  # (r, k)
    epsilon: Array  # (r,), or (r, k)

    def of(self, trial: int) -> Round:
        """Return the round of one trial."""
        epsilon = self.epsilon[trial] if self.epsilon.ndim == 2 else float(self.epsilon[trial])
        return Round(self.belief[trial], self.context[trial], self.rewards[trial], self.expected[trial], epsilon)

    def reward(self, choice: NDArray[np.intp]) -> Array:
        """Return y_t (r,) of the chosen actions, `choice` (r,), including epsilon_t."""
        chosen = np.arange(len(choice)), choice
        return np.asarray(self.rewards[chosen] + (self.epsilon if self.epsilon.ndim == 1 else self.epsilon[chosen]))


class Trials(ABC):
    """r trials in lock-step.

    Examples
    --------
    >>> from overcast.environments import Synthetic
    >>> trials = Synthetic(k=20).start_all([np.random.default_rng(seed) for seed in range(3)])
    >>> trials.actions.shape
    (3, 20, 5)
    """

    actions: Array  # (k, a) shared or (r, k, a)
    #: the true parameter under the environment's own features, (d,) or (r, d); None if there is none
    theta: Array | None = None
    #: the norm of the reward function in the Hilbert space of the environment's own kernel, (r,); None if unknown
    norm: Array | None = None

    @abstractmethod
    def step(self, past: NDArray[np.intp]) -> Rounds:
        """Return the next round of all trials; `past` (r, t) holds the indices of the actions taken so far."""


class VectorEnvironment(ABC):
    """An environment that runs its trials in lock-step; `start` returns a single trial.

    Examples
    --------
    >>> from overcast.environments import Synthetic
    >>> isinstance(Synthetic(), VectorEnvironment)
    True
    """

    #: the map in which rewards are linear, if there is one
    features: FeatureMap
    #: whether c_t is a draw from mu_t, which all theorems assume
    calibrated: bool = True
    #: the kernel whose Hilbert space holds the reward function, if there is one
    kernel: AnyKernel

    @abstractmethod
    def start_all(self, rngs: Rngs) -> Trials:
        """Start one trial per generator; a trial depends on its generator alone."""

    def start(self, rng: np.random.Generator) -> Trial:
        return _Single(self.start_all([rng]))


class _Single:
    """One trial of a vector environment, as a `Trial`."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self.actions = trials.actions if trials.actions.ndim == 2 else np.asarray(trials.actions[0])

    def step(self, past: NDArray[np.intp]) -> Round:
        return self._trials.step(np.asarray(past, dtype=np.intp)[None]).of(0)


class Stepped(Trials):
    """Independent single trials as `Trials`, which advance one after the other."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._trials = trials
        first = np.shape(trials[0].actions)
        shape = first if len(first) == 2 else ("k", "a")
        sets = [_check.array("Trial", "actions", trial.actions, shape) for trial in trials]
        self.actions = sets[0] if all(np.array_equal(s, sets[0]) for s in sets) else np.stack(sets)
        self.theta, self.norm = _stack_attribute(trials, "theta"), _stack_attribute(trials, "norm")

    def step(self, past: NDArray[np.intp]) -> Rounds:
        rounds = [self._check_round(trial.step(row)) for trial, row in zip(self._trials, past, strict=True)]
        return Rounds(
            Catalogue([now.belief for now in rounds]).pick(np.arange(len(rounds))),
            np.stack([now.context for now in rounds]),
            np.stack([now.rewards for now in rounds]),
            np.stack([now.expected for now in rounds]),
            np.stack(np.broadcast_arrays(*(np.asarray(now.epsilon) for now in rounds))),
        )

    def _check_round(self, now: Round) -> Round:
        """Return the round with checked arrays; raise unless their shapes fit."""
        if not isinstance(now.belief, Belief):
            raise TypeError(f"Round: belief must be a Belief, got {_check.short(now.belief)}")
        k = (self.actions.shape[-2],)
        context = _check.vector("Round", "context", now.context, now.belief.dim)
        rewards = _check.array("Round", "rewards", now.rewards, k)
        expected = _check.array("Round", "expected", now.expected, k)
        check = partial(_check.array, shape=k) if np.ndim(now.epsilon) == 1 else _check.number
        epsilon = check("Round", "epsilon", now.epsilon)
        return Round(now.belief, context, rewards, expected, epsilon)


def _stack_attribute(trials: Sequence[Trial], name: str) -> Array | None:
    """Stack an attribute of all trials; return None if one of them does not have it."""
    values = [getattr(trial, name, None) for trial in trials]
    return None if any(value is None for value in values) else np.stack([np.asarray(value) for value in values])


class Stream:
    """Random numbers for each trial from its generator, drawn for many steps at once.

    Parameters
    ----------
    width : numbers per trial and step
    normal : standard normal numbers if True, else uniform on [0, 1)
    prepare : a function of the numbers of many steps, (r, n, width), to the values of `next`, (r, n, ...)
    """

    def __init__(
        self, rngs: Rngs, width: int, *, normal: bool = True, prepare: Callable[[Array], Array] = np.asarray
    ) -> None:
        self._rngs, self._normal, self._prepare = rngs, normal, prepare
        self._shape = (len(rngs), BUFFER, width)
        self._ready = np.empty(0)
        self._used = BUFFER

    def next(self) -> Array:
        """Return the numbers of the next step, shape (r, width), or their values under `prepare`."""
        if self._used == BUFFER:
            # A new array each time, because rounds that a caller keeps refer to the old one.
            draws = np.empty(self._shape)
            for rng, rows in zip(self._rngs, draws, strict=True):
                if self._normal:
                    rng.standard_normal(out=rows)
                else:
                    rng.random(out=rows)
            self._ready = self._prepare(draws)
            self._used = 0
        self._used += 1
        return np.asarray(self._ready[:, self._used - 1])

    def pick(self, n: int) -> NDArray[np.intp]:
        """Draw a uniform index below n for each trial, shape (r,), from a uniform stream of width 1."""
        return np.asarray((self.next()[:, 0] * n).astype(np.intp))
