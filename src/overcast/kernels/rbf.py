"""The squared-exponential kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Cloud, kind_of, of_kind
from overcast.kernels.base import Term, no_closed_form
from overcast.kernels.stationary import Stationary

# Standard deviations beyond which the density of a normal distribution is negligible: exp(-TAIL^2 / 2) = 4e-12.
TAIL = 7.25


@dataclass(frozen=True)
class RBF(Stationary):
    """The squared-exponential kernel k(u, v) = exp(-sum_i (u_i - v_i)^2 / (2 l_i^2)).

    Its mean embeddings have a closed form for normal distributions and points, and mixtures of them: with
    Lambda = diag(l^2), S the sum of the two covariances and D the difference of the means,
    E[k] = det(I + Lambda^-1 S)^{-1/2} exp(-D^T (Lambda + S)^-1 D / 2).

    Parameters
    ----------
    lengthscale : l, one for all dimensions or one per dimension

    Examples
    --------
    >>> from overcast.beliefs import Gaussian, PointMass
    >>> RBF(1.0).expected([Gaussian([0.0], 3.0)], [PointMass([2.0])]).round(4)
    array([[0.3033]])
    """

    lengthscale: float | tuple[float, ...] = 1.0

    def _evaluate(self, left: Array, right: Array) -> Array:
        scales = self.scales(left.shape[1])
        squares = cdist(left / scales, right / scales, "sqeuclidean")
        squares *= -0.5
        return np.asarray(np.exp(squares, out=squares))

    def embed(self, belief: Belief) -> Cloud:
        cloud = belief.cloud()
        if cloud is None:
            raise no_closed_form(self, belief)
        return cloud

    def compare(self, left: Cloud, right: Cloud) -> Array:
        kind = max(kind_of(left.cov), kind_of(right.cov))
        if kind == 0:
            return self._evaluate(left.centres, right.centres)
        scales = self.scales(left.centres.shape[1])
        return _diagonal(left, right, scales) if kind == 1 else _full(left, right, scales)

    def square(self, cloud: Cloud) -> float:
        if len(cloud.weights) > 1 or kind_of(cloud.cov) == 2:
            return super().square(cloud)
        if cloud.cov is None:
            return 1.0
        scales = self.scales(cloud.centres.shape[1])
        return float(1.0 / np.sqrt((1.0 + 2.0 * cloud.cov[0] / scales**2).prod()))

    def gradient(self, left: Cloud, right: Cloud) -> Array:
        """Return the derivatives; with M = (Lambda + S)^-1, d log k / d log l_i = 1 - l_i^2 M_ii + l_i^2 (M D)_i^2."""
        kind = max(kind_of(left.cov), kind_of(right.cov))
        scales = self.scales(left.centres.shape[1])
        if kind == 0 and isinstance(self.lengthscale, float):
            squares = cdist(left.centres / scales, right.centres / scales, "sqeuclidean")
            return np.asarray((squares * np.exp(-0.5 * squares))[None])
        slopes = self._by_parameter((_full_slopes if kind == 2 else _diagonal_slopes)(left, right, scales))
        slopes *= self.compare(left, right)
        return slopes

    def frequencies(self, normal: Array, rng: np.random.Generator) -> Array:
        """Scale normal draws to the spectral density N(0, Lambda^-1)."""
        return np.asarray(normal / self.scales(normal.shape[1]))

    def density_slopes(self, frequencies: Array) -> Array:
        """Return 1 - l_i^2 w_i^2, as the density is a product of l_i exp(-l_i^2 w_i^2 / 2)."""
        return self._by_parameter(1.0 - (frequencies * self.scales(frequencies.shape[1])).T ** 2)

    def _by_parameter(self, slopes: Array) -> Array:
        """Sum derivatives (p, ...) by log length scales over dimensions that share one."""
        return slopes if isinstance(self.lengthscale, tuple) else slopes.sum(axis=0, keepdims=True)

    def series(self, reach: Array) -> list[tuple[float, Array]]:
        """Apply the trapezoidal rule to the spectral density, which is normal: exact up to the truncated tails."""
        out = []
        for scale, width in zip(self.scales(len(reach)), reach, strict=True):
            step = 2.0 * math.pi / (width / scale + TAIL)
            nodes = step * np.arange(math.ceil(TAIL / step) + 1)
            out.append((step / scale, step / math.sqrt(2.0 * math.pi) * np.exp(-0.5 * nodes * nodes)))
        return out

    def terms(self, a: int) -> tuple[Term, ...]:
        if isinstance(self.lengthscale, float):
            return ((self, self),)
        if len(self.lengthscale) <= a:
            got = f"got {len(self.lengthscale)} for actions of dimension {a}"
            raise ValueError(f"RBF: lengthscale must have an entry for each dimension of action and context, {got}")
        return ((RBF(self.lengthscale[:a]), RBF(self.lengthscale[a:])),)


# Dimensions are few and pairs many, so these functions loop over dimensions and vectorise over (n, m).


def _diagonal(left: Cloud, right: Cloud, scales: Array) -> Array:
    """Return E[k], (n, m), for diagonal S."""
    n, m = len(left.weights), len(right.weights)
    exponent, volume = np.zeros((n, m)), np.ones((n, m))
    for i, scale in enumerate(scales.tolist()):
        total = np.full((n, m), scale * scale)
        if left.cov is not None:
            total += left.cov[:, i, None]
        if right.cov is not None:
            total += right.cov[:, i]
        gap = np.subtract.outer(left.centres[:, i], right.centres[:, i])
        gap *= gap
        gap /= total
        exponent += gap
        total *= 1.0 / (scale * scale)
        volume *= total
    exponent *= -0.5
    np.exp(exponent, out=exponent)
    exponent /= np.sqrt(volume, out=volume)
    return exponent


def _full(left: Cloud, right: Cloud, scales: Array) -> Array:
    """Return E[k], (n, m), for any S, by elimination on (Lambda + S | D): determinant from pivots, exponent from D."""
    c, shape = len(scales), (len(left.weights), len(right.weights))
    total = np.zeros((c, c, *shape))
    _add_covs(total, left, right, scales)
    gap = left.centres.T[:, :, None] - right.centres.T[:, None, :]
    exponent, volume = np.zeros(shape), np.ones(shape)
    for i in range(c):
        pivot = total[i, i]
        exponent += gap[i] * gap[i] / pivot
        volume *= pivot / (scales[i] * scales[i])
        if i + 1 < c:
            factor = total[i + 1 :, i] / pivot
            gap[i + 1 :] -= factor * gap[i]
            total[i + 1 :, i + 1 :] -= factor[:, None] * total[i, i + 1 :]
    return np.asarray(np.exp(-0.5 * exponent) / np.sqrt(volume))


def _diagonal_slopes(left: Cloud, right: Cloud, scales: Array) -> Array:
    """Return d log k / d log l_i, (c, n, m), for diagonal S."""
    out = np.empty((len(scales), len(left.weights), len(right.weights)))
    for i, square in enumerate(scales**2):
        gap = np.subtract.outer(left.centres[:, i], right.centres[:, i], out=out[i])
        gap *= gap
        if left.cov is None and right.cov is None:
            gap *= 1.0 / square
            continue
        share = np.full(gap.shape, square)  # l^2 / (l^2 + S) in the end, which is l^2 M
        for cloud, axis in ((left, 1), (right, 0)):
            if cloud.cov is not None:
                share += np.expand_dims(cloud.cov[:, i], axis)
        np.divide(square, share, out=share)
        gap *= share
        gap *= 1.0 / square
        gap -= 1.0
        gap *= share
        gap += 1.0
    return out


def _full_slopes(left: Cloud, right: Cloud, scales: Array) -> Array:
    """Return d log k / d log l_i, (c, n, m), for any S by elimination from (Lambda + S | D) to (M | M D)."""
    c = len(scales)
    table = np.zeros((c, c + 1, len(left.weights), len(right.weights)))
    _add_covs(table[:, :c], left, right, scales)
    table[:, c] = left.centres.T[:, :, None] - right.centres.T[:, None, :]
    for i in range(c):
        row, column = table[i] / table[i, i], table[:, i].copy()
        row[i] = 1.0 / column[i]
        table[:, i] = 0.0
        table -= column[:, None] * row
        table[i] = row
    diagonal, solved = table[np.arange(c), np.arange(c)], table[:, c]
    return np.asarray(1.0 - (scales**2)[:, None, None] * (diagonal - solved * solved))


def _add_covs(total: Array, left: Cloud, right: Cloud, scales: Array) -> None:
    """Add Lambda + S of all pairs to `total`, zeros of shape (c, c, n, m)."""
    diagonal = np.arange(len(scales))
    total[diagonal, diagonal] = (scales**2)[:, None, None]
    for cloud, axis in ((left, -1), (right, -2)):
        cov = of_kind(cloud.cov, 2, cloud.centres.shape)
        assert cov is not None
        total += np.expand_dims(np.moveaxis(cov, 0, -1), axis)
