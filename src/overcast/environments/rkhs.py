"""Rewards from the Hilbert space of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief, NoClosedForm
from overcast.beliefs.gaussian import Gaussian
from overcast.beliefs.point import PointMass
from overcast.beliefs.stacked import GaussianStack
from overcast.environments.base import Rounds, Stream, Trials, VectorEnvironment
from overcast.kernels import RBF, JointKernel, Product
from overcast.kernels.base import check_joint
from overcast.kernels.embeddings import Embeddings


@dataclass(frozen=True)
class RKHS(VectorEnvironment):
    """f = sum_i alpha_i k(x_i, c_i, ., .) with ||f|| = 1, and mu_t = N(m_t, s_t^2 I).

    Actions, the points of the expansion and the centres m_t are uniform on the unit cube, alpha is normal, and s_t is
    any of the spreads: forecasts of some days are sharper than those of others, so that the best action depends on
    more than the mean of the context.

    Parameters
    ----------
    kernel : of actions and contexts, with a closed form for Gaussian beliefs
    k : number of actions, drawn anew for each trial
    action_dim, context_dim : dimensions
    points : of the expansion, drawn anew for each trial
    noise : standard deviation of the reward noise
    spreads : standard deviations of the forecasts, all equally likely
    """

    kernel: JointKernel = field(default=Product(RBF(0.2), RBF(0.1)))
    k: int = 100
    action_dim: int = 1
    context_dim: int = 1
    points: int = 50
    noise: float = 0.1
    spreads: tuple[float, ...] = (0.02, 0.4)

    def __post_init__(self) -> None:
        check_joint("RKHS", self.kernel)
        for name in ("k", "action_dim", "context_dim", "points"):
            _check.integer("RKHS", name, getattr(self, name), at_least=1)
        _check.number("RKHS", "noise", self.noise, at_least=0.0)
        spreads = _check.vector("RKHS", "spreads", self.spreads, "n").tolist()
        object.__setattr__(self, "spreads", tuple(_check.number("RKHS", "spreads", s, at_least=0.0) for s in spreads))
        for action_kernel, context_kernel in self.kernel.terms(self.action_dim):
            action_kernel(np.zeros((1, self.action_dim)), np.zeros((1, self.action_dim)))  # or refuse the dimension
            context_kernel(np.zeros((1, self.context_dim)), np.zeros((1, self.context_dim)))
            try:
                context_kernel.embed(Gaussian(np.zeros(self.context_dim), 1.0))
            except NoClosedForm:
                raise ValueError(
                    f"RKHS: kernel must have a closed form for Gaussian beliefs, got {context_kernel} of contexts; "
                    "take RBF, Linear or Polynomial"
                ) from None

    def start_all(self, rngs: Sequence[np.random.Generator]) -> Trials:
        return _RKHSTrials(self, rngs)


class _RKHSTrials(Trials):
    def __init__(self, env: RKHS, rngs: Sequence[np.random.Generator]) -> None:
        self._env = env
        self.actions = np.stack([rng.random((env.k, env.action_dim)) for rng in rngs])
        self.norm = np.ones(len(rngs))
        self._functions = [_Function(env, actions, rng) for actions, rng in zip(self.actions, rngs, strict=True)]
        days, noise = zip(*(rng.spawn(2) for rng in rngs), strict=True)
        self._days = Stream(days, 2 * env.context_dim + 1, prepare=self._prepare)
        self._noise = Stream(noise, 1)

    def _prepare(self, draws: Array) -> Array:
        """Return centre, spread, context, rewards and expected rewards of many rounds side by side, (r, n, ...)."""
        c, spreads = self._env.context_dim, np.array(self._env.spreads)
        centre = ndtr(draws[..., :c])
        spread = spreads[(ndtr(draws[..., c : c + 1]) * len(spreads)).astype(np.intp)]
        context = centre + spread * draws[..., c + 1 :]
        values = []
        for function, points, means, variances in zip(self._functions, context, centre, spread**2, strict=True):
            realised = function([PointMass(point) for point in points])
            expected = function([Gaussian(*pair) for pair in zip(means, variances[:, 0], strict=True)])
            values.append(np.concatenate([realised, expected], axis=1))
        return np.concatenate([centre, spread, context, np.stack(values)], axis=-1)

    def step(self, past: NDArray[np.intp]) -> Rounds:
        c, k = self._env.context_dim, self._env.k
        centre, spread, context, rewards, expected = np.split(
            self._days.next(), [c, c + 1, 2 * c + 1, 2 * c + 1 + k], axis=1
        )
        noise = self._env.noise * self._noise.next()[:, 0]
        return Rounds(GaussianStack(centre, np.repeat(spread**2, c, axis=1)), context, rewards, expected, noise)


class _Function:
    """A random function of unit norm, averaged over beliefs, for the actions of one trial."""

    def __init__(self, env: RKHS, actions: Array, rng: np.random.Generator) -> None:
        at = rng.random((env.points, env.action_dim)), rng.random((env.points, env.context_dim))
        self._terms = []
        gram = np.zeros((env.points, env.points))
        for action_kernel, context_kernel in env.kernel.terms(env.action_dim):
            points = Embeddings.of_points(context_kernel, at[1])
            gram += action_kernel(at[0], at[0]) * points.inner(context_kernel, points)
            self._terms.append((context_kernel, points, action_kernel(at[0], actions)))
        alpha = rng.standard_normal(env.points)
        self._alpha = alpha / np.sqrt(alpha @ gram @ alpha)

    def __call__(self, beliefs: Sequence[Belief]) -> Array:
        """Return E f(x, c) under each of n beliefs, for all actions, (n, k)."""
        total = np.zeros(())
        for kernel, points, table in self._terms:
            embedded = Embeddings([kernel.embed(belief) for belief in beliefs])
            total = total + (self._alpha * embedded.inner(kernel, points)) @ table
        return np.asarray(total)
