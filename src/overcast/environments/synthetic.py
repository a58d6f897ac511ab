"""The paper's synthetic example (section 5, figure 1a)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs.stacked import GaussianStack
from overcast.environments.base import Rounds, Stream, Trials, VectorEnvironment
from overcast.features import Quadratic


@dataclass(frozen=True)
class Synthetic(VectorEnvironment):
    """f(x, c) = sum_i (x_i - c_i)^2 with mu_t = N(m_t, spread I).

    Actions and the centres m_t are standard normal; the reward noise is normal.

    Parameters
    ----------
    k : number of actions, drawn anew for each trial
    dim : of actions and contexts
    noise : standard deviation of the reward noise
    spread : variance of the context around its forecast
    """

    k: int = 100
    dim: int = 5
    noise: float = 0.1
    spread: float = 1.0

    features = Quadratic()

    def __post_init__(self) -> None:
        _check.integer("Synthetic", "k", self.k, at_least=1)
        _check.integer("Synthetic", "dim", self.dim, at_least=1)
        _check.number("Synthetic", "noise", self.noise, at_least=0.0)
        _check.number("Synthetic", "spread", self.spread, at_least=0.0)

    def start_all(self, rngs: Sequence[np.random.Generator]) -> Trials:
        return _SyntheticTrials(self, rngs)


class _SyntheticTrials(Trials):
    def __init__(self, env: Synthetic, rngs: Sequence[np.random.Generator]) -> None:
        self._env = env
        self.actions = np.stack([rng.standard_normal((env.k, env.dim)) for rng in rngs])
        self.theta = np.repeat([1.0, 1.0, -2.0], env.dim)
        # f(x, c) = |x|^2 - 2 x^T c + |c|^2 is one product of these rows with (1, c, |c|^2), and so is its expectation
        squares = (self.actions**2).sum(axis=-1, keepdims=True)
        terms = np.concatenate([squares, -2.0 * self.actions, np.ones_like(squares)], axis=-1)
        self._terms = np.ascontiguousarray(terms.swapaxes(-1, -2))  # (r, 2 + dim, k)
        contexts, noise = zip(*(rng.spawn(2) for rng in rngs), strict=True)
        self._weights = Stream(contexts, 2 * env.dim, prepare=self._prepare)
        self._noise = Stream(noise, 1)

    def _prepare(self, draws: Array) -> Array:
        """Return the factors of the realised and the expected reward, shape (r, n, 2, 2 + dim)."""
        d, spread = self._env.dim, self._env.spread
        centre = draws[..., :d]
        both = np.stack([centre + math.sqrt(spread) * draws[..., d:], centre], axis=-2)
        out = np.ones((*both.shape[:-1], 2 + d))
        out[..., 1:-1] = both
        out[..., -1] = np.vecdot(both, both)
        out[..., 1, -1] += d * spread
        return out

    def step(self, past: NDArray[np.intp]) -> Rounds:
        weights = self._weights.next()
        context, centre = weights[:, 0, 1:-1], weights[:, 1, 1:-1]
        rewards = weights @ self._terms  # (r, 2, k)
        noise = self._env.noise * self._noise.next()[:, 0]
        return Rounds(GaussianStack(centre, self._env.spread), context, rewards[:, 0], rewards[:, 1], noise)
