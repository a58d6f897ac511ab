"""Random reward functions from the Hilbert space of a kernel."""

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
from overcast.environments.base import Rngs, Rounds, Stream, Trials, VectorEnvironment
from overcast.kernels import RBF, AnyKernel, Product
from overcast.kernels.base import check_joint
from overcast.kernels.embeddings import Embeddings


@dataclass(frozen=True)
class RKHS(VectorEnvironment):
    """A random function of a kernel: f = sum_i alpha_i k(x_i, c_i, ., .) with ||f|| = 1, and mu_t = N(m_t, s_t^2 I).

    Actions, the points of the expansion and the centres m_t are uniform on the unit cube, alpha is normal, and s_t is
    one of `deviations`. Some forecasts are sharper than others, so the best action depends on more than the mean of
    the context.

    Parameters
    ----------
    kernel : kernel of actions and contexts that has a closed form for Gaussian beliefs
    k : number of actions, drawn anew for each trial
    action_dim, context_dim : dimensions
    points : number of points of the expansion, drawn anew for each trial
    noise : standard deviation of the reward noise
    deviations : standard deviations of the forecasts, all equally likely

    Examples
    --------
    >>> import overcast as oc
    >>> env = RKHS(k=20)
    >>> runs = oc.simulate(env, oc.KernelModel(env.kernel, ridge=1.0), oc.UCB(), steps=10, trials=2)
    >>> runs.expected_regret.shape
    (2, 10)
    """

    kernel: AnyKernel = field(default=Product(RBF(0.2), RBF(0.1)))
    k: int = 100
    action_dim: int = 1
    context_dim: int = 1
    points: int = 50
    noise: float = 0.1
    deviations: tuple[float, ...] = (0.02, 0.4)

    def __post_init__(self) -> None:
        check_joint("RKHS", self.kernel)
        for name in ("k", "action_dim", "context_dim", "points"):
            _check.integer("RKHS", name, getattr(self, name), at_least=1)
        _check.number("RKHS", "noise", self.noise, at_least=0.0)
        deviations = _check.vector("RKHS", "deviations", self.deviations, "n").tolist()
        valid = tuple(_check.number("RKHS", "deviations", s, at_least=0.0) for s in deviations)
        object.__setattr__(self, "deviations", valid)
        for action_kernel, context_kernel in self.kernel.terms(self.action_dim):
            # Both calls raise if the dimension is wrong.
            action_kernel(np.zeros((1, self.action_dim)), np.zeros((1, self.action_dim)))
            context_kernel(np.zeros((1, self.context_dim)), np.zeros((1, self.context_dim)))
            try:
                context_kernel.embed(Gaussian(np.zeros(self.context_dim), 1.0))
            except NoClosedForm:
                raise ValueError(
                    f"RKHS: kernel must have a closed form for Gaussian beliefs, got {context_kernel} of contexts; "
                    "take RBF, Linear or Polynomial"
                ) from None

    def start_all(self, rngs: Rngs) -> Trials:
        return _RKHSTrials(self, rngs)


class _RKHSTrials(Trials):
    def __init__(self, env: RKHS, rngs: Rngs) -> None:
        self._env = env
        self.actions = np.stack([rng.random((env.k, env.action_dim)) for rng in rngs])
        self.norm = np.ones(len(rngs))
        self._functions = [_Function(env, actions, rng) for actions, rng in zip(self.actions, rngs, strict=True)]
        days, epsilon = zip(*(rng.spawn(2) for rng in rngs), strict=True)
        self._days = Stream(days, 2 * env.context_dim + 1, prepare=self._prepare)
        self._epsilon = Stream(epsilon, 1)

    def _prepare(self, draws: Array) -> Array:
        """Return centres, deviations, contexts, rewards and expected rewards of n rounds, concatenated, (r, n, ...)."""
        c, deviations = self._env.context_dim, np.array(self._env.deviations)
        centre = ndtr(draws[..., :c])
        deviation = deviations[(ndtr(draws[..., c : c + 1]) * len(deviations)).astype(np.intp)]
        context = centre + deviation * draws[..., c + 1 :]
        values = []
        for function, points, means, variances in zip(self._functions, context, centre, deviation**2, strict=True):
            realised = function([PointMass(point) for point in points])
            expected = function([Gaussian(*pair) for pair in zip(means, variances[:, 0], strict=True)])
            values.append(np.concatenate([realised, expected], axis=1))
        return np.concatenate([centre, deviation, context, np.stack(values)], axis=-1)

    def step(self, past: NDArray[np.intp]) -> Rounds:
        c, k = self._env.context_dim, self._env.k
        ends = [c, c + 1, 2 * c + 1, 2 * c + 1 + k]
        centre, deviation, context, rewards, expected = np.split(self._days.next(), ends, axis=1)
        epsilon = self._env.noise * self._epsilon.next()[:, 0]
        return Rounds(GaussianStack(centre, np.repeat(deviation**2, c, axis=1)), context, rewards, expected, epsilon)


class _Function:
    """A random function of unit norm at the actions of one trial, with expectations under beliefs."""

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
        """Return E f(x, c) of all actions under each of n beliefs, (n, k)."""
        total = np.zeros(())
        for kernel, points, table in self._terms:
            embedded = Embeddings([kernel.embed(belief) for belief in beliefs])
            total = total + (self._alpha * embedded.inner(kernel, points)) @ table
        return np.asarray(total)
