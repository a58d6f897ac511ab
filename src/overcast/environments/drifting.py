"""A reward function that rotates over time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs.stacked import GaussianStack
from overcast.environments.base import Rngs, Rounds, Stream, Trials, VectorEnvironment
from overcast.features import Bilinear


@dataclass(frozen=True)
class Drifting(VectorEnvironment):
    """Drifting rewards f_t(x, c) = x^T Theta_t c, theta_t = cos(speed t) a + sin(speed t) b, mu_t = N(m_t, variance I).

    a and b are random, orthogonal and of norm one, so theta_t rotates in a plane and keeps its norm. Actions and the
    centres m_t are standard normal, and epsilon_t is normal. Regret compares with x*_t, the best action under the f_t
    of the same round. No theorem of the paper holds here unless `speed` is zero.

    Parameters
    ----------
    k : number of actions, drawn anew for each trial
    dim : dimension of actions and of contexts, 2 or more
    noise : standard deviation of the reward noise
    variance : variance of the context around its forecast
    speed : angle in radians by which theta rotates each round; 0 for a constant theta

    Examples
    --------
    >>> import overcast as oc
    >>> env = Drifting(k=20)
    >>> runs = oc.simulate(env, oc.LinearModel(env.features), oc.UCB(), steps=10, trials=2)
    >>> runs.expected_regret.shape
    (2, 10)
    """

    k: int = 50
    dim: int = 3
    noise: float = 0.1
    variance: float = 0.25
    speed: float = 0.005

    features = Bilinear()

    def __post_init__(self) -> None:
        _check.integer("Drifting", "k", self.k, at_least=1)
        _check.integer("Drifting", "dim", self.dim, at_least=2)
        for name in ("noise", "variance", "speed"):
            _check.number("Drifting", name, getattr(self, name), at_least=0.0)

    def start_all(self, rngs: Rngs) -> Trials:
        return _DriftingTrials(self, rngs)


class _DriftingTrials(Trials):
    def __init__(self, env: Drifting, rngs: Rngs) -> None:
        self._env = env
        r, c = len(rngs), env.dim
        self.actions = np.stack([rng.standard_normal((env.k, c)) for rng in rngs])
        plane = np.stack([_plane(rng, c * c) for rng in rngs])  # (r, 2, d)
        # f_t(x, c) = (cos a_x + sin b_x)^T c
        self._by_action = self.actions[:, None] @ plane.reshape(r, 2, c, c)  # (r, 2, k, c)
        self.theta = None if env.speed else plane[:, 0]
        contexts, epsilon = zip(*(rng.spawn(2) for rng in rngs), strict=True)
        self._contexts = Stream(contexts, 2 * c)
        self._epsilon = Stream(epsilon, 1)

    def step(self, past: NDArray[np.intp]) -> Rounds:
        env, angle = self._env, self._env.speed * past.shape[1]
        draws = self._contexts.next()
        centre = draws[:, : env.dim]
        context = centre + math.sqrt(env.variance) * draws[:, env.dim :]
        rows = math.cos(angle) * self._by_action[:, 0] + math.sin(angle) * self._by_action[:, 1]  # (r, k, c)
        rewards = rows @ np.stack([context, centre], axis=-1)  # (r, k, 2)
        epsilon = env.noise * self._epsilon.next()[:, 0]
        return Rounds(GaussianStack(centre, env.variance), context, rewards[..., 0], rewards[..., 1], epsilon)


def _plane(rng: np.random.Generator, d: int) -> Array:
    """Return two random orthogonal vectors of norm one, (2, d)."""
    a, b = rng.standard_normal((2, d))
    a /= np.linalg.norm(a)
    b -= (b @ a) * a
    return np.stack([a, b / np.linalg.norm(b)])
