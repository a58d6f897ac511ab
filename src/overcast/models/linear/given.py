"""Weighted least squares with a given ridge; the noise is given or learnt."""

from __future__ import annotations

import math

import numpy as np

from overcast._check import Array
from overcast._linalg import apply, at_most
from overcast.models.base import too_large
from overcast.models.linear.rows import Rows, inverse_and_log_det
from overcast.models.linear.weighted import SMALLEST_SIZE, Settings, Weighted, where_trials
from overcast.models.prior import SMALLEST_NOISE

# Fixed-point steps of a renewal with fewer rounds than twice the parameters; later it takes one.
SWEEPS = 3
# Weight of the initial guess of the noise, in rounds.
PRIOR = 1e-3
# Sums of squares lose twice the digits. If an entry of the inverse, with columns of unit length, exceeds this, the
# rounds themselves are factorised.
MAX_CONDITION = 1e9


class Given(Weighted):
    """Weighted least squares with P_0 = ridge I. An unknown noise maximises the evidence, by MacKay's fixed point:

    sigma^2 <- sigma^2 sum_s (r_s / v_s)^2 / sum_s (1 - h_s) / v_s    with residuals r_s and leverages h_s
    """

    def __init__(self, shape: tuple[int, ...], settings: Settings, aware: bool, leading: tuple[int, ...] = ()) -> None:
        super().__init__(shape, settings, aware, leading)
        self._solve(self._kept.rows(), self._kept.rewards, self._kept.weights)

    @property
    def scales(self) -> tuple[float | None, float | None]:
        return math.sqrt(self.noise2) if self.scaled else None, float(self.ridge)

    @property
    def used(self) -> float | Array:
        if self.inverse.ndim == 2:  # used in every round, where floats cost a fraction of 0-d arrays
            return max(self._parameters - float(self.ridge) * float(self.inverse.trace()), 0.0)
        trace = self._total(self.inverse.trace(axis1=-2, axis2=-1))
        return np.maximum(self._parameters - self.ridge * trace, 0.0)

    def _refit(self) -> None:
        rows, rewards, ages = self._kept.rows(), self._kept.rewards, self._ages()
        if not len(ages):
            return  # keep the prior
        learn_noise = self._settings.noise is None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            size = (rewards**2).mean(axis=-1)
            sized = size > SMALLEST_SIZE
            size = np.where(sized, size, 1.0)
            if self._some_unsized:
                self._initialise_noise(size)
            weights = 1.0 / self.variance(rows)
            self._solve(rows, rewards, ages * weights)
            sweeps = SWEEPS if len(ages) < 2 * self._parameters else 1
            for _ in range(sweeps if self.aware or learn_noise else 0):
                if learn_noise:
                    share = weights * self.noise2[..., None]  # share of the noise in the variance of a round
                    residuals = share * (rewards - rows.along(self.theta))
                    free = share * (1.0 - ages * weights * rows.quadratic(self.inverse))
                    noise2 = ((residuals**2) @ ages + PRIOR * size) / (free @ ages + PRIOR)
                    self.noise2 = np.maximum(noise2, SMALLEST_NOISE * size)
                weights = 1.0 / self.variance(rows)
                self._solve(rows, rewards, ages * weights)
        if not all(np.isfinite(value).all() for value in (self.theta, self.log_det, self.noise2, weights)):
            raise too_large("LinearModel")
        self._sized = self._sized | sized
        self._some_unsized = not self._sized.all()
        self._set_weights(weights)

    def _initialise_noise(self, size: Array) -> None:
        """Set the noise to this variance in trials whose rewards have given no scale yet."""
        fresh = ~self._sized
        if self._settings.noise is None:
            self.noise2 = np.where(fresh, size, self.noise2)
        self.theta = where_trials(fresh, np.zeros_like(self.theta), self.theta)
        self.inverse = where_trials(fresh, self.prior, self.inverse)

    def _solve(self, rows: Rows, rewards: Array, weights: Array) -> None:
        """Fit theta to n rounds with these rewards and weights (..., n), which include age."""
        design, target = rows.sums(rewards, weights)
        target = self._base_target + target
        precision = self._base + design + self._per_matrix(self.ridge) * self._eye
        # Columns of unit length make features of very different size harmless.
        length = np.sqrt(precision.diagonal(axis1=-2, axis2=-1))
        lengths = length[..., :, None] * length[..., None, :]
        inverse, log_det = inverse_and_log_det(precision / lengths)
        if at_most(inverse.diagonal(axis1=-2, axis2=-1), MAX_CONDITION):
            self.inverse = inverse / lengths
            self.theta = apply(self.inverse, target)
            log_det = self._total(log_det + 2.0 * np.log(length).sum(axis=-1))
            self.log_det = log_det - self._parameters * np.log(self.ridge)
        else:
            self.inverse, self.theta, log_det = rows.factorised(self._base, target, weights, self.ridge)
            self.log_det = self._total(log_det)
