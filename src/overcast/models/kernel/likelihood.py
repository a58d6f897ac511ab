"""The marginal likelihood of the rewards under a kernel and a ridge, and its kernel matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve

from overcast._check import Array
from overcast.beliefs.cloud import Cloud
from overcast.kernels.base import AnyKernel, Kernel
from overcast.models.kernel.learner import KernelLearner
from overcast.models.kernel.past import Grid, Past, cut

# Components on either side of one comparison, so that its arrays fit the processor's cache.
MAX_GROUP = 100
# Average number of components per belief from which a grid of frequencies costs less than all pairs of components.
MIN_FOR_GRID = 10

Gram = tuple[Array, list[Array]]


class Value(NamedTuple):
    """The log likelihood at the best tau, its derivatives by log parameters and log ridge (q + 1,), and sigma."""

    log_likelihood: float
    slopes: Array
    noise: float


class Likelihood:
    """The log likelihood log N(y; 0, tau^2 (K + lambda I)) at the best tau, as a function of parameters and lambda.

    -2 log p = t log(2 pi tau^2) + log det(K + lambda I) + t with tau^2 = y^T (K + lambda I)^-1 y / t; the variance of
    the noise is sigma^2 = tau^2 lambda.

    rewards : y (t,); None for the learner's
    """

    def __init__(self, kernel: AnyKernel, learner: KernelLearner, rewards: Array | None = None) -> None:
        rewards = learner.rewards if rewards is None else rewards
        self._kernel, self._rounds = kernel, Rounds(learner)
        self._unit = float(np.abs(rewards).max())  # divides rewards, so that their squares do not overflow
        self._rewards = rewards / self._unit
        self._powers = _powers(kernel, self._rounds.actions.shape[1])

    def __call__(self, parameters: Array, ridge: float) -> Value:
        """Evaluate log p and d log p = tr((alpha alpha^T / tau^2 - M^-1) dK) / 2, M = K + lambda I, alpha = M^-1 y."""
        y = self._rewards
        gram, derivatives = self.gram(parameters, slopes=True)
        gram[np.diag_indices_from(gram)] += ridge
        try:
            factor = np.linalg.cholesky(gram)
            inverse = cho_solve((factor, True), np.eye(len(y)))
        except (LinAlgError, ValueError):  # not positive definite, if only by rounding, or not finite
            return Value(-math.inf, np.zeros(len(parameters) + 1), math.nan)
        alpha = inverse @ y
        variance = float(y @ alpha) / len(y)
        residual = np.outer(alpha / variance, alpha) - inverse
        by_term = np.array([0.5 * float(np.vdot(residual, derivative)) for derivative in derivatives])
        slopes = np.append(by_term @ self._powers, 0.5 * ridge * residual.trace())
        log_det = 2.0 * float(np.log(factor.diagonal()).sum())
        return Value(self._log_p(variance, log_det), slopes, self._unit * math.sqrt(variance * ridge))

    def best_ridge(self, parameters: Array, ridges: Array) -> tuple[float, float]:
        """Return the highest log p over some ridges, and its ridge, by one decomposition of K."""
        gram, _ = self.gram(parameters, slopes=False)
        if not np.isfinite(gram).all():
            return -math.inf, float(ridges[0])
        values, vectors = np.linalg.eigh(gram)
        squares, totals = (self._rewards @ vectors) ** 2, np.maximum(values, 0.0) + ridges[:, None]
        variances, log_dets = (squares / totals).mean(axis=1), np.log(totals).sum(axis=1)
        values_of_ridges = [self._log_p(*pair) for pair in zip(variances.tolist(), log_dets.tolist(), strict=True)]
        at = int(np.argmax(values_of_ridges))
        return values_of_ridges[at], float(ridges[at])

    def gram(self, parameters: Array, slopes: bool) -> Gram:
        """Return K (t, t) and its derivatives by the log parameters of the kernels in `terms`."""
        with np.errstate(over="ignore", invalid="ignore"):  # by extreme parameters, which callers discard
            return self._rounds.gram(self._kernel.with_parameters(parameters.tolist()), slopes)

    def size(self, parameters: Array) -> tuple[float, NDArray[np.bool_]]:
        """Return the mean of k(x, x), and which parameters multiply the whole kernel, (q,)."""
        gram, derivatives = self.gram(parameters, slopes=True)
        whole = np.zeros(len(parameters), dtype=np.bool_)
        for i, powers in enumerate(self._powers.T):
            derivative = sum((p * d for p, d in zip(powers, derivatives, strict=True)), np.zeros_like(gram))
            whole[i] = np.abs(derivative - gram).max() <= 1e-10 * np.abs(gram).max()
        return float(gram.trace()) / len(gram), whole

    def _log_p(self, variance: float, log_det: float) -> float:
        t = len(self._rewards)
        return -0.5 * (t * (math.log(2.0 * math.pi * variance) + 1.0) + log_det) - t * math.log(self._unit)


def _powers(kernel: AnyKernel, a: int) -> Array:
    """Return the derivatives (p, q) of the log parameters of `terms`, which are products of the kernel's, by those."""

    def logs(values: Array) -> Array:
        terms = kernel.with_parameters(values.tolist()).terms(a)
        return np.log([value for term in terms for part in term for value in part.parameters()])

    start = np.array(kernel.parameters())
    doubled = start * (1.0 + np.eye(len(start)))
    before = logs(start)
    return np.array([(logs(row) - before) / math.log(2.0) for row in doubled]).reshape(len(start), len(before)).T


class Rounds:
    """The actions and beliefs of a learner's rounds, in a form independent of the kernel's parameters.

    at : the indices of rounds; None for all
    """

    def __init__(self, learner: KernelLearner, at: NDArray[np.intp] | None = None) -> None:
        self.actions = learner.taken  # (u, a)
        self._place = learner.place if at is None else learner.place[at]  # (t,), index of each round's action
        pasts = learner.past if at is None else [past.take(at) for past in learner.past]
        self._contexts = [Embedded(past) for past in pasts]  # one per term of the kernel

    def gram(self, kernel: AnyKernel, slopes: bool) -> Gram:
        """Return K (t, t), and with `slopes` its derivatives by each log parameter of the kernels in `terms`.

        K is the sum over terms of A * C, entry by entry, with A between the actions and C between the embeddings.
        """
        points, by_round = Cloud(np.ones(len(self.actions)), self.actions), np.ix_(self._place, self._place)
        total, derivatives = np.zeros((len(self._place),) * 2), []
        for (of_action, of_context), contexts in zip(kernel.terms(self.actions.shape[1]), self._contexts, strict=True):
            a = of_action._evaluate(self.actions, self.actions)[by_round]
            c, by_context = contexts.gram(of_context, slopes)
            total += a * c
            if slopes:
                derivatives += [c * da[by_round] for da in _gradient(of_action, points, points)]
                derivatives += [a * dc for dc in by_context]
        return total, derivatives


class Group(NamedTuple):
    """Consecutive rounds: the components of all their beliefs, and each round's weights on these as a row."""

    rounds: slice
    cloud: Cloud
    weights: Array | None  # None if each round has one component


class Embedded:
    """The embeddings of all rounds under one context kernel, singly and in groups."""

    def __init__(self, past: Past) -> None:
        clouds = self._clouds = past.clouds()
        firsts, filled = [0], 0
        for s, cloud in enumerate(clouds):
            if filled and filled + len(cloud.weights) > MAX_GROUP:
                firsts, filled = [*firsts, s], 0
            filled += len(cloud.weights)
        rounds = [slice(i, j) for i, j in zip(firsts, [*firsts[1:], len(clouds)], strict=True)]
        parts = cut(past.cloud, past.starts[firsts])
        self._groups = [Group(r, part, _weights(clouds[r])) for r, part in zip(rounds, parts, strict=True)]

    def gram(self, kernel: Kernel, slopes: bool) -> Gram:
        """Return the inner products of all embeddings, (t, t), and their derivatives by the kernel's log parameters."""
        t = len(self._clouds)
        many = sum(len(cloud.weights) for cloud in self._clouds) >= MIN_FOR_GRID * t
        grid = Grid.around(kernel, self._clouds) if many else None
        if grid is not None:
            waves, rates = grid.coordinates, kernel.density_slopes(grid.frequencies())
            if len(rates) == len(kernel.parameters()):
                return waves @ waves.T, [(waves * np.tile(rate, 2)) @ waves.T for rate in rates if slopes]
        slopes = slopes and len(kernel.parameters()) > 0
        out = np.empty((1 + (len(kernel.parameters()) if slopes else 0), t, t))
        for i, left in enumerate(self._groups):
            for right in self._groups[i:]:
                out[0, left.rounds, right.rounds] = _averages(kernel.compare(left.cloud, right.cloud), left, right)
                if slopes:
                    derivatives = _gradient(kernel, left.cloud, right.cloud)
                    out[1:, left.rounds, right.rounds] = _averages(derivatives, left, right)
                out[:, right.rounds, left.rounds] = out[:, left.rounds, right.rounds].swapaxes(1, 2)
        return out[0], list(out[1:])


def _weights(clouds: Sequence[Cloud]) -> Array | None:
    """Return the weights of each round as a row over all components, None if each has one component."""
    sizes = [len(cloud.weights) for cloud in clouds]
    if max(sizes) == 1:
        return None
    out = np.zeros((len(clouds), sum(sizes)))
    out[np.repeat(np.arange(len(clouds)), sizes), np.arange(sum(sizes))] = np.concatenate([c.weights for c in clouds])
    return out


def _averages(values: Array, left: Group, right: Group) -> Array:
    """Average values (..., n, m) of all pairs of components over the components of each pair of rounds."""
    values = values if left.weights is None else left.weights @ values
    return values if right.weights is None else values @ right.weights.T


def _gradient(kernel: Kernel, left: Cloud, right: Cloud) -> Array:
    """Return the kernel's derivatives; raise ValueError unless there is one for each parameter."""
    out, need = kernel.gradient(left, right), (len(kernel.parameters()), len(left.weights), len(right.weights))
    if out.shape != need:
        must = f"{type(kernel).__name__}: gradient must have shape {need}, one row per parameter"
        raise ValueError(f"{must}, got {out.shape}; define gradient, or no parameters")
    return out
