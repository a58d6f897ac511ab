"""The paper's synthetic example (section 5, figure 1a)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs.stacked import GaussianStack
from overcast.environments.base import Rngs, Rounds, Stream, Trials, VectorEnvironment
from overcast.features import Quadratic


@dataclass(frozen=True)
class Synthetic(VectorEnvironment):
    """Quadratic rewards f(x, c) = sum_i (x_i - c_i)^2 with mu_t = N(m_t, variance I).

    Actions and the centres m_t are standard normal; epsilon_t is normal.

    Parameters
    ----------
    k : number of actions, drawn anew for each trial
    dim : dimension of actions and of contexts
    noise : standard deviation of the reward noise
    variance : variance of the context around its forecast

    Examples
    --------
    >>> import overcast as oc
    >>> env = Synthetic(k=20)
    >>> runs = oc.simulate(env, oc.LinearModel(env.features), oc.UCB(), steps=10, trials=2)
    >>> runs.expected_regret.shape
    (2, 10)
    """

    k: int = 100
    dim: int = 5
    noise: float = 0.1
    variance: float = 1.0

    features = Quadratic()

    def __post_init__(self) -> None:
        _check.integer("Synthetic", "k", self.k, at_least=1)
        _check.integer("Synthetic", "dim", self.dim, at_least=1)
        _check.number("Synthetic", "noise", self.noise, at_least=0.0)
        _check.number("Synthetic", "variance", self.variance, at_least=0.0)

    def start_all(self, rngs: Rngs) -> Trials:
        return _SyntheticTrials(self, rngs)


class _SyntheticTrials(Trials):
    def __init__(self, env: Synthetic, rngs: Rngs) -> None:
        self._env = env
        self.actions = np.stack([rng.standard_normal((env.k, env.dim)) for rng in rngs])
        self.theta = np.repeat([1.0, 1.0, -2.0], env.dim)
        # Both f(x, c) = |x|^2 - 2 x^T c + |c|^2 and its expectation are one product of these rows, with (1, c, |c|^2).
        squares = (self.actions**2).sum(axis=-1, keepdims=True)
        terms = np.concatenate([squares, -2.0 * self.actions, np.ones_like(squares)], axis=-1)
        self._terms = np.ascontiguousarray(terms.swapaxes(-1, -2))  # (r, 2 + dim, k)
        contexts, epsilon = zip(*(rng.spawn(2) for rng in rngs), strict=True)
        self._weights = Stream(contexts, 2 * env.dim, prepare=self._prepare)
        self._epsilon = Stream(epsilon, 1)

    def _prepare(self, draws: Array) -> Array:
        """Return the factors of the realised and the expected reward, shape (r, n, 2, 2 + dim)."""
        d, variance = self._env.dim, self._env.variance
        centre = draws[..., :d]
        points = np.stack([centre + math.sqrt(variance) * draws[..., d:], centre], axis=-2)
        out = np.ones((*points.shape[:-1], 2 + d))
        out[..., 1:-1] = points
        out[..., -1] = np.vecdot(points, points)
        out[..., 1, -1] += d * variance
        return out

    def step(self, past: NDArray[np.intp]) -> Rounds:
        weights = self._weights.next()
        context, centre = weights[:, 0, 1:-1], weights[:, 1, 1:-1]
        rewards = weights @ self._terms  # (r, 2, k)
        epsilon = self._env.noise * self._epsilon.next()[:, 0]
        return Rounds(GaussianStack(centre, self._env.variance), context, rewards[:, 0], rewards[:, 1], epsilon)
