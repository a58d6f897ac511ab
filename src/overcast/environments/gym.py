"""Convert environments to Gymnasium's, and back. Gymnasium is imported on use (extra `gym`)."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs.point import PointMass
from overcast.environments.base import Environment, Round, Trial

if TYPE_CHECKING:
    from gymnasium import Env

    from overcast.environments.belief_env import BeliefEnv

NEEDED = "Gymnasium; install it with pip install 'overcast[gym]'"


def as_gym(env: Environment, steps: int = 1000, points: int | None = None) -> BeliefEnv:
    """Return an environment as a `gymnasium.Env` in which an episode is a trial and a step is a round.

    An observation is a dictionary of arrays: `actions` (k, a), the vectors of the actions in this trial, and what is
    known about the context: `mean` (c,) and `cov` (c, c) of the belief, or `points` (n, c) drawn from it.
    `gymnasium.wrappers.FlattenObservation` concatenates them in the order of their names. The belief itself is the
    attribute `belief`.

    An action is the index of a row of `actions`. Its reward is y_t, with noise. The `info` of `step` holds the realised
    `context` (c,), `rewards` (k,) without noise and `expected` (k,). Regret, equation (1) of the paper, is
    rewards[expected.argmax()] - rewards[action].
    The seed given to `reset` determines everything after it, including later episodes without a seed.

    Parameters
    ----------
    env : any environment
    steps : rounds after which an episode is truncated; no episode terminates
    points : None for mean and covariance, n for n draws from the belief

    Examples
    --------
    >>> import overcast as oc
    >>> world = as_gym(oc.environments.CoinFlip(), steps=100)
    >>> observation, info = world.reset(seed=0)
    >>> observation["mean"]
    array([0.4, 0.6])
    >>> observation, reward, terminated, truncated, info = world.step(1)
    >>> sorted(info)
    ['context', 'expected', 'rewards']
    """
    if not isinstance(env, Environment):
        raise TypeError(f"as_gym: env must have a method start(rng), got {_check.short(env)}")
    try:
        from overcast.environments.belief_env import BeliefEnv
    except ModuleNotFoundError:
        raise ImportError(f"as_gym needs {NEEDED}") from None
    return BeliefEnv(env, steps, points)


def from_gym(env: Env[Any, Any]) -> Environment:
    """Return a Gymnasium environment with finitely many actions as an environment to simulate in.

    The result of `as_gym` becomes the original environment again. Any other `env` must have `Discrete` actions, which
    become unit vectors, and observations in a `Box`, which become contexts known exactly. Each step is a round; the
    next episode follows the end of one. Gymnasium returns the reward of one action only, so each round tries every
    action on a copy of `env`. Its rewards count as f(x, c_t), including any noise; regret then compares with the
    luckiest action.

    Examples
    --------
    >>> import overcast as oc
    >>> world = oc.environments.as_gym(oc.environments.CoinFlip())
    >>> from_gym(world)
    CoinFlip(p=0.6, noise=0.1)
    """
    try:
        import gymnasium
    except ModuleNotFoundError:
        raise ImportError(f"from_gym needs {NEEDED}") from None
    from overcast.environments.belief_env import BeliefEnv

    if isinstance(env, BeliefEnv):
        return env.env
    if not isinstance(env, gymnasium.Env):
        raise TypeError(f"from_gym: env must be a gymnasium.Env, got {_check.short(env)}")
    if not isinstance(env.action_space, gymnasium.spaces.Discrete):
        raise ValueError(f"from_gym: env must have Discrete actions, got {env.action_space}")
    if not isinstance(env.observation_space, gymnasium.spaces.Box):
        hint = "gymnasium.wrappers.FlattenObservation may help"
        raise ValueError(f"from_gym: env must have observations in a Box, got {env.observation_space}; {hint}")
    return _FromGym(env)


class _FromGym:
    """A Gymnasium environment as an `Environment`."""

    def __init__(self, env: Env[Any, Any]) -> None:
        self._env = env

    def start(self, rng: np.random.Generator) -> Trial:
        return _GymTrial(copy.deepcopy(self._env), int(rng.integers(1 << 31)))


class _GymTrial:
    """A trial that tries each action on a copy of a Gymnasium environment."""

    def __init__(self, env: Env[Any, Any], seed: int) -> None:
        space: Any = env.action_space
        self._first, self.actions = int(space.start), np.eye(int(space.n))
        self._env = env
        self._context = _context(env.reset(seed=seed)[0])
        self._outcomes: list[tuple[Env[Any, Any], Array]] = []

    def step(self, past: NDArray[np.intp]) -> Round:
        if len(past):
            self._env, self._context = self._outcomes[past[-1]]
        self._outcomes, rewards = [], np.empty(len(self.actions))
        for index in range(len(self.actions)):
            env = copy.deepcopy(self._env)
            observation, reward, terminated, truncated, _ = env.step(self._first + index)
            if terminated or truncated:
                observation, _ = env.reset()
            self._outcomes.append((env, _context(observation)))
            rewards[index] = reward
        return Round(PointMass(self._context), self._context, rewards, rewards, 0.0)


def _context(observation: Any) -> Array:
    return np.array(observation, dtype=np.float64).ravel()
