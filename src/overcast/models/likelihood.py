"""How likely the rewards so far are under a kernel and a ridge."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve

from overcast._check import Array
from overcast.kernels.base import JointKernel
from overcast.models.gram import Gram, Rounds


class Value(NamedTuple):
    """log p(y) at the best tau, its derivatives by the log parameters and the log ridge (q + 1,), and sigma."""

    log_likelihood: float
    slopes: Array
    noise: float


@dataclass(frozen=True)
class Likelihood:
    """log N(y; 0, tau^2 (K + lambda I)) at the best tau, as a function of a kernel's parameters and lambda.

    -2 log p = t log(2 pi tau^2) + log det(K + lambda I) + t with tau^2 = y^T (K + lambda I)^-1 y / t; the variance of
    the noise is sigma^2 = tau^2 lambda.

    kernel : with any parameters
    rounds : what was learnt, with rewards of size one at most
    unit : what the rewards were divided by, lest their squares overflow
    powers : (p, q), the derivatives of the log parameters of the kernels in `terms` by those of the kernel
    """

    kernel: JointKernel
    rounds: Rounds
    unit: float
    powers: Array

    @classmethod
    def of(cls, kernel: JointKernel, rounds: Rounds) -> Likelihood:
        unit = float(np.abs(rounds.rewards).max())
        rounds = dataclasses.replace(rounds, rewards=rounds.rewards / unit)
        return cls(kernel, rounds, unit, _powers(kernel, rounds.actions.shape[1]))

    def __call__(self, parameters: Array, ridge: float) -> Value:
        """With alpha = (K + lambda I)^-1 y, d log p = tr((alpha alpha^T / tau^2 - (K + lambda I)^-1) dK) / 2."""
        y = self.rounds.rewards
        gram, derivatives = self.gram(parameters, slopes=True)
        gram[np.diag_indices_from(gram)] += ridge
        try:
            factor = np.linalg.cholesky(gram)
            inverse = cho_solve((factor, True), np.eye(len(y)))
        except (LinAlgError, ValueError):  # not positive definite but for rounding, or not finite
            return Value(-math.inf, np.zeros(len(parameters) + 1), math.nan)
        alpha = inverse @ y
        variance = float(y @ alpha) / len(y)
        residual = np.outer(alpha / variance, alpha) - inverse
        by_term = np.array([0.5 * float(np.vdot(residual, derivative)) for derivative in derivatives])
        slopes = np.append(by_term @ self.powers, 0.5 * ridge * residual.trace())
        log_det = 2.0 * float(np.log(factor.diagonal()).sum())
        return Value(self._log_p(variance, log_det), slopes, self.unit * math.sqrt(variance * ridge))

    def best_ridge(self, parameters: Array, ridges: Array) -> tuple[float, float]:
        """Return the highest log p over some ridges, and where: one decomposition of K serves all."""
        gram, _ = self.gram(parameters, slopes=False)
        if not np.isfinite(gram).all():
            return -math.inf, float(ridges[0])
        values, vectors = np.linalg.eigh(gram)
        squares, totals = (self.rounds.rewards @ vectors) ** 2, np.maximum(values, 0.0) + ridges[:, None]
        variances, log_dets = (squares / totals).mean(axis=1), np.log(totals).sum(axis=1)
        found = [self._log_p(*pair) for pair in zip(variances.tolist(), log_dets.tolist(), strict=True)]
        at = int(np.argmax(found))
        return found[at], float(ridges[at])

    def gram(self, parameters: Array, slopes: bool) -> Gram:
        """Return K (t, t) and its derivatives by the log parameters of the kernels in `terms`."""
        with np.errstate(over="ignore", invalid="ignore"):  # far from the data, which is then refused
            return self.rounds.gram(self.kernel.with_parameters(parameters.tolist()), slopes)

    def size(self, parameters: Array) -> tuple[float, NDArray[np.bool_]]:
        """Return the mean of k(x, x), and which parameters multiply the whole kernel, (q,)."""
        gram, derivatives = self.gram(parameters, slopes=True)
        whole = np.zeros(len(parameters), dtype=np.bool_)
        for i, powers in enumerate(self.powers.T):
            derivative = sum((p * d for p, d in zip(powers, derivatives, strict=True)), np.zeros_like(gram))
            whole[i] = np.abs(derivative - gram).max() <= 1e-10 * np.abs(gram).max()
        return float(gram.trace()) / len(gram), whole

    def _log_p(self, variance: float, log_det: float) -> float:
        t = len(self.rounds.rewards)
        return -0.5 * (t * (math.log(2.0 * math.pi * variance) + 1.0) + log_det) - t * math.log(self.unit)


def _powers(kernel: JointKernel, a: int) -> Array:
    """Parameters reach the kernels in `terms` as they are or multiplied with others, so one doubling tells."""

    def logs(values: Array) -> Array:
        terms = kernel.with_parameters(values.tolist()).terms(a)
        return np.log([value for term in terms for part in term for value in part.parameters()])

    start = np.array(kernel.parameters())
    doubled = start * (1.0 + np.eye(len(start)))
    before = logs(start)
    return np.array([(logs(row) - before) / math.log(2.0) for row in doubled]).reshape(len(start), len(before)).T
