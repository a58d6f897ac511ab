"""The contract of an environment: each round a belief, the realised context and the rewards of all actions.

Because the rewards of all actions are drawn, policies that meet the same seed meet the same luck, and their
comparison is paired.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.stacked import BeliefStack, Catalogue
from overcast.features import FeatureMap
from overcast.kernels import JointKernel

# Steps of random numbers that a stream draws at once from each trial's generator.
BUFFER = 256


class Round(NamedTuple):
    """One round of one trial.

    belief : mu_t
    context : (c,) c_t, a draw from mu_t as far as the forecast is right
    rewards : (k,) f(x, c_t) of every action, without noise
    expected : (k,) E_mu f(x, c) of every action
    noise : epsilon_t, added to the reward of the action taken; (k,) where it depends on the action
    """

    belief: Belief
    context: Array
    rewards: Array
    expected: Array
    noise: float | Array

    def reward(self, index: int) -> float:
        """Return y_t of the action taken, its noise included."""
        return float(self.rewards[index] + np.broadcast_to(self.noise, self.rewards.shape)[index])


class Trial(Protocol):
    """One sequence of rounds.

    It may also have `theta` (d,), the true parameter under its environment's `features`, or `norm`, that of the reward
    function under its environment's `kernel`.
    """

    actions: Array  # (k, a)

    def step(self, past: NDArray[np.intp]) -> Round:
        """Return the next round; `past` (t,) holds the indices of the actions taken so far."""


@runtime_checkable
class Environment(Protocol):
    """What `simulate` needs: a fresh trial from a generator."""

    def start(self, rng: np.random.Generator) -> Trial: ...


class Rounds(NamedTuple):
    """One round of r trials in lock-step: the fields of `Round` with a leading axis."""

    belief: BeliefStack
    context: Array  # (r, c)
    rewards: Array  # (r, k)
    expected: Array  # (r, k)
    noise: Array  # (r,), or (r, k)

    def of(self, trial: int) -> Round:
        """Return the round of one trial."""
        noise = self.noise[trial] if self.noise.ndim == 2 else float(self.noise[trial])
        return Round(self.belief[trial], self.context[trial], self.rewards[trial], self.expected[trial], noise)

    def reward(self, choice: NDArray[np.intp]) -> Array:
        """Return y_t of the actions taken, `choice` (r,), their noise included."""
        taken = np.arange(len(choice)), choice
        return np.asarray(self.rewards[taken] + (self.noise if self.noise.ndim == 1 else self.noise[taken]))


class Trials(ABC):
    """r trials in lock-step."""

    actions: Array  # (k, a) shared or (r, k, a)
    #: the true parameter under the environment's own features, (d,) or (r, d); None where there is none
    theta: Array | None = None
    #: the norm of the reward function in the Hilbert space of the environment's own kernel, (r,); None likewise
    norm: Array | None = None

    @abstractmethod
    def step(self, past: NDArray[np.intp]) -> Rounds:
        """Return the next round of all trials; `past` (r, t) holds the indices of the actions taken so far."""


class VectorEnvironment(ABC):
    """An environment that runs its trials in lock-step; `start` gives a single one of them."""

    #: the map in which rewards are linear, where there is one
    features: FeatureMap
    #: whether c_t is a draw from mu_t, which all the theorems ask for
    calibrated: bool = True
    #: the kernel whose Hilbert space holds the reward function, where there is one
    kernel: JointKernel

    @abstractmethod
    def start_all(self, rngs: Sequence[np.random.Generator]) -> Trials:
        """Return one trial a generator; a trial's numbers depend on its own generator alone."""

    def start(self, rng: np.random.Generator) -> Trial:
        return _Single(self.start_all([rng]))


class _Single:
    """The only trial of a lock-step of one."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self.actions = trials.actions if trials.actions.ndim == 2 else np.asarray(trials.actions[0])

    def step(self, past: NDArray[np.intp]) -> Round:
        now = self._trials.step(np.asarray(past, dtype=np.intp)[None])
        return now.of(0)


class Stepped(Trials):
    """Independent single trials, advanced one after the other."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._trials = trials
        first = np.shape(trials[0].actions)
        sets = [
            _check.array("Trial", "actions", trial.actions, first if len(first) == 2 else ("k", "a"))
            for trial in trials
        ]
        self.actions = sets[0] if all(np.array_equal(s, sets[0]) for s in sets) else np.stack(sets)
        self.theta, self.norm = _stated(trials, "theta"), _stated(trials, "norm")

    def step(self, past: NDArray[np.intp]) -> Rounds:
        rounds = [self._checked(trial.step(row)) for trial, row in zip(self._trials, past, strict=True)]
        return Rounds(
            Catalogue([now.belief for now in rounds]).pick(np.arange(len(rounds))),
            np.stack([now.context for now in rounds]),
            np.stack([now.rewards for now in rounds]),
            np.stack([now.expected for now in rounds]),
            np.stack(np.broadcast_arrays(*(np.asarray(now.noise) for now in rounds))),
        )

    def _checked(self, now: Round) -> Round:
        if not isinstance(now.belief, Belief):
            raise TypeError(f"Round: belief must be a Belief, got {_check.short(now.belief)}")
        k = (self.actions.shape[-2],)
        context = _check.vector("Round", "context", now.context, now.belief.dim)
        rewards = _check.array("Round", "rewards", now.rewards, k)
        expected = _check.array("Round", "expected", now.expected, k)
        several = np.ndim(now.noise) == 1
        noise = _check.array("Round", "noise", now.noise, k) if several else _check.number("Round", "noise", now.noise)
        return Round(now.belief, context, rewards, expected, noise)


def _stated(trials: Sequence[Trial], name: str) -> Array | None:
    """Return what all trials say of themselves, stacked, or None where one does not."""
    values = [getattr(trial, name, None) for trial in trials]
    return None if any(value is None for value in values) else np.stack([np.asarray(value) for value in values])


class Stream:
    """Random numbers for every trial from its own generator, drawn for many steps at once.

    Parameters
    ----------
    width : numbers a step
    normal : standard normal, else uniform on [0, 1)
    prepare : what to make of the numbers of many steps, (r, n, width) to (r, n, ...)
    """

    def __init__(
        self,
        rngs: Sequence[np.random.Generator],
        width: int,
        *,
        normal: bool = True,
        prepare: Callable[[Array], Array] | None = None,
    ) -> None:
        self._rngs = rngs
        self._normal = normal
        self._prepare = prepare
        self._shape = (len(rngs), BUFFER, width)
        self._ready = np.empty(0)
        self._used = BUFFER

    def next(self) -> Array:
        """Return the numbers of the next step, shape (r, width), or what `prepare` made of them."""
        if self._used == BUFFER:
            draws = np.empty(self._shape)  # a new array each time: rounds that were kept look into the old one
            for rng, rows in zip(self._rngs, draws, strict=True):
                if self._normal:
                    rng.standard_normal(out=rows)
                else:
                    rng.random(out=rows)
            self._ready = draws if self._prepare is None else self._prepare(draws)
            self._used = 0
        self._used += 1
        return np.asarray(self._ready[:, self._used - 1])

    def pick(self, n: int) -> NDArray[np.intp]:
        """Return for each trial one of n things, all equally likely, shape (r,); for one uniform number a step."""
        return np.asarray((self.next()[:, 0] * n).astype(np.intp))
