"""The Matérn kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from overcast import _check
from overcast._check import Array
from overcast.beliefs.cloud import Cloud
from overcast.kernels.stationary import Stationary, lengthscales, scales_for

SMOOTHNESS = (0.5, 1.5, 2.5)


@dataclass(frozen=True)
class Matern(Stationary):
    """k = p(s) exp(-s) with s = sqrt(2 nu) r and r^2 = sum_i (u_i - v_i)^2 / l_i^2.

    p(s) is 1 for nu = 1/2, 1 + s for 3/2, and 1 + s + s^2 / 3 for 5/2: functions that are continuous, once and twice
    differentiable.

    Parameters
    ----------
    nu : 0.5, 1.5 or 2.5
    lengthscale : l, one for all dimensions or one for each

    Examples
    --------
    >>> Matern(0.5, 2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3679]])
    """

    nu: float
    lengthscale: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        nu = _check.number("Matern", "nu", self.nu)
        if nu not in SMOOTHNESS:
            raise ValueError(f"Matern: nu must be 0.5, 1.5 or 2.5, got {nu:g}")
        object.__setattr__(self, "nu", nu)
        object.__setattr__(self, "lengthscale", lengthscales("Matern", self.lengthscale))

    def _evaluate(self, left: Array, right: Array) -> Array:
        s = self._distance(left, right)
        decay = np.exp(-s)
        if self.nu == 0.5:
            return np.asarray(decay)
        return np.asarray((1.0 + s) * decay if self.nu == 1.5 else (1.0 + s + s * s / 3.0) * decay)

    def gradient(self, left: Cloud, right: Cloud) -> Array:
        """dk / d log l_i = -(k'(s) / s) 2 nu (u_i - v_i)^2 / l_i^2, which add up to -k'(s) s."""
        s = self._distance(left.centres, right.centres)
        slope = np.exp(-s)  # -k'(s) / s
        if self.nu == 0.5:
            slope /= np.maximum(s, 1e-150)  # where s is zero, so is the gap that it meets
        elif self.nu == 2.5:
            slope *= (1.0 + s) / 3.0
        if not isinstance(self.lengthscale, tuple):
            return np.asarray((s * s * slope)[None])
        out = np.empty((len(self.lengthscale), *s.shape))
        for i, scale in enumerate(self.lengthscale):
            gap = np.subtract.outer(left.centres[:, i], right.centres[:, i], out=out[i])
            gap *= math.sqrt(2.0 * self.nu) / scale
            gap *= gap
            gap *= slope
        return out

    def frequencies(self, n: int, dim: int, rng: np.random.Generator) -> Array:
        """The spectral density is a multivariate t with 2 nu degrees of freedom, scaled by 1 / l."""
        normal = rng.standard_normal((n, dim)) / scales_for("Matern", self.lengthscale, dim)
        return np.asarray(normal / np.sqrt(rng.chisquare(2.0 * self.nu, (n, 1)) / (2.0 * self.nu)))

    def _distance(self, left: Array, right: Array) -> Array:
        scales = scales_for("Matern", self.lengthscale, left.shape[1]) / math.sqrt(2.0 * self.nu)
        return np.asarray(cdist(left / scales, right / scales))
