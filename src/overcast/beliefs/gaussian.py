"""Gaussian beliefs."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from overcast import _check
from overcast._check import Array
from overcast.beliefs import _moments
from overcast.beliefs._coordinates import for_each
from overcast.beliefs._moments import Powers
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Cloud
from overcast.beliefs.serialise import fields, shown

# A covariance estimated from data may be asymmetric or indefinite by this much, relative to the variances.
TOLERANCE = 1e-8
# A factor reproduces a covariance up to this, relative to the variances.
ROUNDING = 1e-12

_ONE = _check.read_only(np.ones(1))


class Gaussian(Belief):
    """The normal distribution N(mean, cov); a coordinate of variance zero is known exactly.

    Parameters
    ----------
    mean : (c,) array, or one number for a context of dimension one
    cov : (c, c) covariance matrix, (c,) variances, or one variance for all dimensions
    sd : instead of `cov`: (c,) standard deviations of independent coordinates, or one for all dimensions

    Examples
    --------
    >>> forecast = Gaussian([21.0, 0.4], [4.0, 0.01])
    >>> forecast.cov()
    array([[4.  , 0.  ],
           [0.  , 0.01]])
    >>> Gaussian([21.0, 0.4], sd=[2.0, 0.1]).quantile(0.5)
    array([21. ,  0.4])
    """

    normal = True

    def __init__(self, mean: ArrayLike, cov: ArrayLike | None = None, *, sd: ArrayLike | None = None) -> None:
        self._mean = _check.vector("Gaussian", "mean", mean, "c")
        self.dim = len(self._mean)
        if sd is not None and cov is None:
            self._root = for_each("Gaussian", "sd", sd, self.dim, at_least=0.0)
            with np.errstate(over="ignore"):
                self._cov = _check.read_only(self._root**2)
            if not np.isfinite(self._cov).all():
                got = f"got {float(self._root.max())}; scale the contexts"
                raise ValueError(f"Gaussian: sd must have a finite square, {got}")
        elif cov is None or sd is not None:
            got = "neither" if cov is None else "both"
            raise ValueError(f"Gaussian: cov or sd must be given, and not both, got {got}")
        elif np.ndim(covariance := _check.floats("Gaussian", "cov", cov)) < 2:
            self._cov = for_each("Gaussian", "cov", covariance, self.dim, at_least=0.0)
            self._root = np.sqrt(self._cov)
        else:
            self._cov = _symmetric(_check.checked("Gaussian", "cov", covariance, (self.dim, self.dim)))
            self._root = root(self._cov)
            self._cov = _covariance_of_draws(self._cov, self._root)
        self.uncorrelated = self._cov.ndim == 1
        # _cov: (c,) variances or (c, c) covariance; _root: (c,) standard deviations or (c, c), A with A A^T = cov

    def mean(self) -> Array:
        return self._mean

    def cov(self) -> Array:
        return np.diag(self._cov) if self._cov.ndim == 1 else self._cov

    def variance(self) -> Array:
        return self._cov if self._cov.ndim == 1 else np.diagonal(self._cov)

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
        """Draw the mean, and the mean square about it, var chi^2_{n-1} / n, which is independent (Cochran).

        This takes two numbers per coordinate for any n, but n draws if coordinates are correlated.
        """
        if self._root.ndim == 2:
            return super().sample_moments(n, rng)
        mean = self.sample_mean(n, rng)
        scatter = self._cov * rng.standard_gamma((n - 1) / 2, self.dim) * (2 / n)
        return mean, scatter + mean * mean

    def cloud(self) -> Cloud:
        return Cloud(_ONE, self._mean[None], self._cov[None])

    def moments(self, powers: Powers) -> Array:
        """Compute raw moments by Stein's lemma: E[c_i g(c)] = m_i E[g] + sum_j cov_ij E[dg/dc_j]."""
        if self._cov.ndim == 1:
            table = _moments.of_gaussian(self._mean, self._cov, int(powers.max(initial=0)))
            return _moments.of_independent(table, powers)
        mean, cov = self._mean.tolist(), self._cov.tolist()
        known: dict[tuple[int, ...], float] = {(0,) * self.dim: 1.0}

        def lower(power: tuple[int, ...], i: int) -> tuple[int, ...]:
            return (*power[:i], power[i] - 1, *power[i + 1 :])

        def moment(power: tuple[int, ...]) -> float:
            if power not in known:
                i = next(j for j, exponent in enumerate(power) if exponent)
                rest = lower(power, i)
                total = mean[i] * moment(rest)
                for j, exponent in enumerate(rest):
                    if exponent and cov[i][j]:
                        total += cov[i][j] * exponent * moment(lower(rest, j))
                known[power] = total
            return known[power]

        return np.array([moment(tuple(row)) for row in powers.tolist()])

    def centred(self) -> Gaussian:
        out = copy.copy(self)
        out._mean = np.zeros(self.dim)
        return out

    def to_json(self) -> dict[str, Any]:
        return self._json(mean=self._mean.tolist(), cov=self._cov.tolist())

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Gaussian:
        return cls(*fields("Gaussian", data, ["mean", "cov"]))

    def __repr__(self) -> str:
        return f"Gaussian(mean={shown(self._mean)}, cov={shown(self._cov)})"

    def _cdf(self, values: Array) -> Array:
        certain, deviation = self._deviation()
        return np.where(certain, values >= self._mean, ndtr((values - self._mean) / deviation))

    def _quantile(self, p: Array) -> Array:
        certain, deviation = self._deviation()
        return np.where(certain, self._mean, self._mean + deviation * ndtri(p)[:, None])

    def _deviation(self) -> tuple[NDArray[np.bool_], Array]:
        """Return which coordinates are known exactly, and the standard deviations, with 1 in place of 0."""
        certain = self.variance() == 0.0
        return certain, np.sqrt(np.where(certain, 1.0, self.variance()))

    def _moved(self, shift: Array, scale: Array, blur: Array) -> Gaussian:
        if self._cov.ndim == 1:
            return Gaussian(shift + scale * self._mean, self._cov * scale**2 + blur**2)
        return Gaussian(shift + scale * self._mean, self._cov * np.outer(scale, scale) + np.diag(blur**2))

    def _selected(self, order: list[int]) -> Gaussian:
        return Gaussian(self._mean[order], self._cov[order] if self._cov.ndim == 1 else self._cov[np.ix_(order, order)])


def _symmetric(cov: Array) -> Array:
    """Return `cov` without asymmetry from round-off; raise ValueError if the asymmetry is larger."""
    gap = np.abs(cov - cov.T)
    if not gap.any():
        return cov
    deviations = np.sqrt(np.abs(np.diagonal(cov)))
    if (gap > TOLERANCE * np.outer(deviations, deviations)).any():
        i, j = (int(at) for at in np.unravel_index(np.argmax(gap), gap.shape))
        raise ValueError(f"Gaussian: cov must be symmetric, got {cov[i, j]} at {(i, j)} and {cov[j, i]} at {(j, i)}")
    return _check.read_only((cov + cov.T) / 2)


def _covariance_of_draws(cov: Array, A: Array) -> Array:
    """Return A A^T, the covariance of draws, if `cov` differs because it is slightly indefinite, else `cov`."""
    drawn, deviations = A @ A.T, np.sqrt(np.diagonal(cov))
    same = np.abs(drawn - cov) <= ROUNDING * np.outer(deviations, deviations)
    return cov if same.all() else _check.read_only(drawn)


def root(cov: Array) -> Array:
    """Return a factor A with A A^T = cov: Cholesky, pivoted where the matrix is singular."""
    if np.diagonal(cov).min() < 0:
        at = int(np.argmin(np.diagonal(cov)))
        raise ValueError(f"Gaussian: cov must hold variances >= 0 on its diagonal, got {cov[at, at]} at {(at, at)}")
    try:
        return np.asarray(np.linalg.cholesky(cov), dtype=np.float64)
    except np.linalg.LinAlgError:
        pass
    # The pivoted factorisation drops numbers that are small beside the largest variance, so units would matter (pascals
    # beside kilograms per kilogram). The correlation matrix has no units.
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
