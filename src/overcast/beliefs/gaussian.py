"""Gaussian beliefs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.beliefs import _moments
from overcast.beliefs._moments import Powers
from overcast.beliefs._parts import fields
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Cloud

# A covariance estimated from data may be asymmetric or indefinite by round-off; relative to the variances.
TOLERANCE = 1e-8

_ONE = _check.read_only(np.ones(1))


class Gaussian(Belief):
    """The normal distribution N(mean, cov).

    Singular covariances are allowed: a variance of zero says that a coordinate is known exactly.

    Parameters
    ----------
    mean : (c,) array, or one number for a context of dimension one
    cov : (c, c) covariance matrix, (c,) variances, or one variance for all dimensions

    Examples
    --------
    >>> forecast = Gaussian([21.0, 0.4], [4.0, 0.01])
    >>> forecast.cov()
    array([[4.  , 0.  ],
           [0.  , 0.01]])
    """

    def __init__(self, mean: ArrayLike, cov: ArrayLike) -> None:
        self._mean = _check.vector("Gaussian", "mean", mean, "c")
        self.dim = len(self._mean)
        spread = _check.floats("Gaussian", "cov", cov)
        if spread.ndim < 2:
            self._spread = _variances(spread, self.dim)
            self._root = np.sqrt(self._spread)
        else:
            self._spread = _symmetric(_check.checked("Gaussian", "cov", spread, (self.dim, self.dim)))
            self._root = root(self._spread)
        # _spread: (c,) variances or (c, c) covariance
        # _root: (c,) standard deviations or (c, c) factor A with A A^T = cov

    def mean(self) -> Array:
        return self._mean

    def cov(self) -> Array:
        return np.diag(self._spread) if self._spread.ndim == 1 else self._spread

    def variance(self) -> Array:
        return self._spread if self._spread.ndim == 1 else np.diagonal(self._spread)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        draws = rng.standard_normal((self.dim, n))  # long rows: scaling and shifting short ones costs thrice as much
        if self._root.ndim == 1:
            draws *= self._root[:, None]
        else:
            draws = self._root @ draws
        draws += self._mean[:, None]
        return draws.T

    def sample_mean(self, n: int, rng: np.random.Generator) -> Array:
        """Draw from N(mean, cov / n)."""
        z = rng.standard_normal(self.dim) / math.sqrt(n)
        return np.asarray(self._mean + (self._root * z if self._root.ndim == 1 else self._root @ z))

    def sample_moments(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw the mean, and the mean square about it, var chi^2_{n-1} / n, which is independent of it (Cochran).

        Two numbers a coordinate, whatever n; correlated coordinates fall back on n draws.
        """
        if self._root.ndim == 2:
            return super().sample_moments(n, rng)
        mean = self.sample_mean(n, rng)
        scatter = self._spread * rng.standard_gamma((n - 1) / 2, self.dim) * (2 / n)
        return mean, scatter + mean * mean

    def cloud(self) -> Cloud:
        return Cloud(_ONE, self._mean[None], self._spread[None])

    def moments(self, powers: Powers) -> Array:
        """Raw moments by Stein's lemma: E[c_i g(c)] = m_i E[g] + sum_j cov_ij E[dg/dc_j]."""
        if self._spread.ndim == 1:
            table = _moments.of_gaussian(self._mean, self._spread, int(powers.max(initial=0)))
            return _moments.of_independent(table, powers)
        mean, cov = self._mean.tolist(), self._spread.tolist()
        known: dict[tuple[int, ...], float] = {(0,) * self.dim: 1.0}

        def moment(power: tuple[int, ...]) -> float:
            if power not in known:
                i = next(j for j, exponent in enumerate(power) if exponent)
                rest = _lower(power, i)
                total = mean[i] * moment(rest)
                for j, exponent in enumerate(rest):
                    if exponent and cov[i][j]:
                        total += cov[i][j] * exponent * moment(_lower(rest, j))
                known[power] = total
            return known[power]

        return np.array([moment(tuple(row)) for row in powers.tolist()])

    def to_json(self) -> dict[str, Any]:
        return {"type": "Gaussian", "mean": self._mean.tolist(), "cov": self._spread.tolist()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Gaussian:
        fields("Gaussian", data, ["mean", "cov"])
        return cls(data["mean"], data["cov"])

    def __repr__(self) -> str:
        return f"Gaussian(mean={self._mean.tolist()}, cov={self._spread.tolist()})"


def _lower(power: tuple[int, ...], i: int) -> tuple[int, ...]:
    return (*power[:i], power[i] - 1, *power[i + 1 :])


def _variances(spread: Array, dim: int) -> Array:
    """Return variances (c,) from one variance or one for each dimension."""
    if spread.ndim == 0:
        return _check.read_only(np.full(dim, _check.number("Gaussian", "cov", spread, at_least=0.0)))
    variances = _check.checked("Gaussian", "cov", spread, (dim,))
    if variances.min() < 0:
        at = int(np.argmax(variances < 0))
        raise ValueError(f"Gaussian: cov must hold variances >= 0, got {variances[at]} at index {at}")
    return variances


def _symmetric(cov: Array) -> Array:
    """Return `cov` with asymmetry from round-off removed; more than that is an error."""
    gap = np.abs(cov - cov.T)
    if not gap.any():
        return cov
    deviations = np.sqrt(np.abs(np.diagonal(cov)))
    if (gap > TOLERANCE * np.outer(deviations, deviations)).any():
        i, j = (int(at) for at in np.unravel_index(np.argmax(gap), gap.shape))
        raise ValueError(f"Gaussian: cov must be symmetric, got {cov[i, j]} at {(i, j)} and {cov[j, i]} at {(j, i)}")
    return _check.read_only((cov + cov.T) / 2)


def root(cov: Array) -> Array:
    """Return a factor A with A A^T = cov: Cholesky, pivoted where the matrix is singular."""
    if np.diagonal(cov).min() < 0:
        at = int(np.argmin(np.diagonal(cov)))
        raise ValueError(f"Gaussian: cov must hold variances >= 0 on its diagonal, got {cov[at, at]} at {(at, at)}")
    try:
        return np.asarray(np.linalg.cholesky(cov), dtype=np.float64)
    except np.linalg.LinAlgError:
        pass
    # The pivoted factorisation drops what is small against the largest variance, so that units would
    # matter (pascals beside kilograms per kilogram): factorise the correlation matrix instead.
    deviations = np.sqrt(np.clip(np.diagonal(cov), 0.0, None))
    scale = np.where(deviations > 0, deviations, 1.0)
    correlation = cov / np.outer(scale, scale)
    if float(np.linalg.eigvalsh(correlation)[0]) < -TOLERANCE:
        smallest = float(np.linalg.eigvalsh(cov)[0])
        raise ValueError(f"Gaussian: cov must be positive semi-definite, got smallest eigenvalue {smallest:.3g}")
    factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(correlation, lower=1)
    factor = np.tril(factor)
    factor[:, rank:] = 0.0
    out = np.empty_like(factor)
    out[pivots - 1] = factor
    return np.asarray(out * deviations[:, None])
