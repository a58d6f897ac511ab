"""The variance that rounds with pending rewards will remove."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from overcast._check import Array
from overcast.models.base import Points
from overcast.models.kernel.factor import Cholesky
from overcast.models.kernel.learner import Evidence, KernelLearner, View


class Awaited:
    """The information that n pending rounds will add about the expected rewards of all actions.

    With C the posterior covariance of the rounds, including that of the level, the variance of action x shrinks by
    C_x^T (C + (lambda / share) I)^-1 C_x, where C_x (n,) is its covariance with the rounds. All are in the unit of
    k(x, x).

    learner : the learner of past rewards
    rounds : the pending rounds
    share : the share of them whose rewards are expected to come
    ones : L^-1 1, (t,); the function 1 has the variance 1 / |L^-1 1|^2, or 0 without rewards
    """

    def __init__(self, learner: KernelLearner, rounds: Sequence[Evidence], share: float, ones: Array) -> None:
        self._learner, self._rounds = learner, rounds
        self._half = learner.columns(rounds)
        self._rest = 1.0 - ones @ self._half
        self._variance = 1.0 / float(ones @ ones) if len(ones) else 0.0
        covariance = self._posterior(learner.covariance(rounds), self._half, self._rest)
        self._factor = Cholesky.of(covariance + learner.ridge / share * np.eye(len(rounds)))

    def reduction(self, points: Points, view: View, rest: Array) -> Array:
        """Return the decrease in variance of each point, (k,); `rest` (k,) is 1 - 1^T (K + lambda I)^-1 k."""
        half = self._learner.half(points, view) if len(self._learner) else np.empty((0, len(rest)))
        covariance = self._posterior(self._learner.between(self._rounds, points, view), half, rest)
        return np.asarray((self._factor.solve(covariance) ** 2).sum(axis=0))

    def _posterior(self, prior: Array, half: Array, rest: Array) -> Array:
        """Convert a prior covariance (n, m) of the rounds with others to the posterior one."""
        return np.asarray(prior - self._half.T @ half + self._variance * np.outer(self._rest, rest))
