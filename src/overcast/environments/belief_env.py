"""An environment as a `gymnasium.Env`; `as_gym` returns it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from overcast import _check
from overcast._check import Array
from overcast.beliefs import Belief
from overcast.environments.base import Environment, Round, Trial

#: bounds of observations: Gymnasium's checker wants finite ones
LARGEST = 1e300


class BeliefEnv(gymnasium.Env[dict[str, Array], int]):
    """Rounds of an environment as steps; see `as_gym`.

    Attributes
    ----------
    env : the underlying environment
    belief : mu_t of the coming round
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(self, env: Environment, steps: int, points: int | None) -> None:
        self.env = env
        self._steps = _check.integer("as_gym", "steps", steps, at_least=1)
        self._points = None if points is None else _check.integer("as_gym", "points", points, at_least=1)
        trial = env.start(np.random.default_rng(0))
        c = trial.step(np.empty(0, dtype=np.intp)).belief.dim
        self._shape = np.shape(trial.actions)
        known_shapes = {"mean": (c,), "cov": (c, c)} if self._points is None else {"points": (self._points, c)}
        boxes: dict[str, spaces.Space[Any]] = {
            name: spaces.Box(-LARGEST, LARGEST, shape, np.float64)
            for name, shape in {"actions": self._shape, **known_shapes}.items()
        }
        self.observation_space = spaces.Dict(boxes)  # type: ignore[assignment] # its arrays may be of any kind
        self.action_space = spaces.Discrete(self._shape[0])  # type: ignore[assignment] # counts in NumPy's integers
        # The spec lets Gymnasium build another one, and lets its checker look for randomness beyond the seed.
        arguments = {"env": env, "steps": steps, "points": points}
        where = f"{__name__}:{type(self).__qualname__}"
        self.spec = EnvSpec(f"overcast/{type(env).__name__}-v0", where, kwargs=arguments)
        self._now: Round | None = None

    @property
    def belief(self) -> Belief:
        return self._round().belief

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        super().reset(seed=seed)
        trial_rng, self._draws = self.np_random.spawn(2)
        self._trial: Trial = self.env.start(trial_rng)
        if np.shape(self._trial.actions) != self._shape:
            got = np.shape(self._trial.actions)
            raise ValueError(f"as_gym: actions must have the same shape in all trials, {self._shape}, got {got}")
        self._taken: list[int] = []
        return self._next(), {}

    def step(self, action: int) -> tuple[dict[str, Array], float, bool, bool, dict[str, Any]]:
        now = self._round()
        if not self.action_space.contains(action):
            last = self._shape[0] - 1
            raise ValueError(f"as_gym: action must be an integer from 0 to {last}, got {_check.short(action)}")
        index = int(action)
        self._taken.append(index)
        info = {
            "context": np.array(now.context),
            "rewards": np.array(now.rewards),
            "expected": np.array(now.expected),
        }
        return self._next(), now.reward(index), False, len(self._taken) >= self._steps, info

    def _next(self) -> dict[str, Array]:
        """Begin the next round, and return its observation."""
        self._now = now = self._trial.step(np.array(self._taken, dtype=np.intp))
        observation = {"actions": np.array(self._trial.actions, dtype=np.float64)}
        if self._points is not None:
            return observation | {"points": np.array(now.belief.sample(self._points, self._draws), dtype=np.float64)}
        return observation | {"mean": np.array(now.belief.mean()), "cov": np.array(now.belief.cov())}

    def _round(self) -> Round:
        if self._now is None:
            raise gymnasium.error.ResetNeeded("as_gym: call reset before step")
        return self._now
