"""The base class of kernels of a scaled distance, and the Matérn kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist

from overcast import _check
from overcast._check import Array
from overcast.beliefs.cloud import Cloud
from overcast.kernels.base import Kernel

# The squares of length scales beyond these overflow or underflow.
SHORTEST, LONGEST = 1e-100, 1e100
SMOOTHNESS = (0.5, 1.5, 2.5)


class Stationary(Kernel):
    """A kernel of (u_i - v_i) / l_i with k(u, u) = 1: a frozen dataclass with a field `lengthscale`."""

    lengthscale: float | tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _lengthscale(type(self).__name__, self.lengthscale))

    def diagonal(self, points: Array) -> Array:
        return np.ones(len(points))

    def parameters(self) -> tuple[float, ...]:
        return self.lengthscale if isinstance(self.lengthscale, tuple) else (self.lengthscale,)

    def with_parameters(self, values: Sequence[float]) -> Self:
        lengthscale = tuple(values) if isinstance(self.lengthscale, tuple) else values[0]
        return replace(self, lengthscale=lengthscale)  # type: ignore[type-var]

    def scales(self, p: int) -> Array:
        """Return the length scale of each of p dimensions, shape (p,)."""
        if isinstance(self.lengthscale, tuple) and len(self.lengthscale) != p:
            owner, got = type(self).__name__, len(self.lengthscale)
            raise ValueError(f"{owner}: lengthscale must have {p} entries, one for each dimension, got {got}")
        return np.array(self.lengthscale) if isinstance(self.lengthscale, tuple) else np.full(p, self.lengthscale)


@dataclass(frozen=True)
class Matern(Stationary):
    """The Matérn kernel k = p(s) exp(-s) with s = sqrt(2 nu) r and r^2 = sum_i (u_i - v_i)^2 / l_i^2.

    p(s) is 1 for nu = 1/2, 1 + s for 3/2, and 1 + s + s^2 / 3 for 5/2. The functions of its Hilbert space are
    continuous for 1/2, differentiable once for 3/2 and twice for 5/2.

    Parameters
    ----------
    nu : 0.5, 1.5 or 2.5
    lengthscale : l, one for all dimensions or one per dimension

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
        super().__post_init__()

    def _evaluate(self, left: Array, right: Array) -> Array:
        s = self._distance(left, right)
        decay: Array = np.exp(-s)
        if self.nu == 0.5:
            return decay
        return (1.0 + s) * decay if self.nu == 1.5 else (1.0 + s + s * s / 3.0) * decay

    def gradient(self, left: Cloud, right: Cloud) -> Array:
        """Return dk / d log l_i = -(k'(s) / s) 2 nu (u_i - v_i)^2 / l_i^2; the sum over i is -k'(s) s."""
        s = self._distance(left.centres, right.centres)
        slope = np.exp(-s)  # -k'(s) / s
        if self.nu == 0.5:
            slope /= np.maximum(s, 1e-150)  # where s is zero, so is the gap that multiplies it
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

    def frequencies(self, normal: Array, rng: np.random.Generator) -> Array:
        """Draw with `rng` from the spectral density, a multivariate t with 2 nu degrees of freedom, scaled by 1 / l."""
        n, p = normal.shape
        draws = rng.standard_normal((n, p)) / self.scales(p)
        return np.asarray(draws / np.sqrt(rng.chisquare(2.0 * self.nu, (n, 1)) / (2.0 * self.nu)))

    def _distance(self, left: Array, right: Array) -> Array:
        scales = self.scales(left.shape[1]) / math.sqrt(2.0 * self.nu)
        return np.asarray(cdist(left / scales, right / scales))


def _lengthscale(owner: str, value: Any) -> float | tuple[float, ...]:
    if np.ndim(value) == 0:
        return _scale(owner, value)
    return tuple(_scale(owner, scale) for scale in _check.vector(owner, "lengthscale", value, "p").tolist())


def _scale(owner: str, value: Any) -> float:
    scale = _check.number(owner, "lengthscale", value, above=0.0)
    if not SHORTEST <= scale <= LONGEST:
        limits = f"between {SHORTEST:g} and {LONGEST:g}"
        raise ValueError(f"{owner}: lengthscale must lie {limits}, got {scale:g}; scale the contexts")
    return scale
