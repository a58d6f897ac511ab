"""One face for the three kinds of distributions in scipy.stats.

scipy.stats takes long to import, so nothing here imports it before somebody holds one of its distributions.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array

# A discrete distribution on more points than this counts as one without a finite support.
SUPPORT_LIMIT = 100_000


class Law(ABC):
    """What `Frozen` needs to know; a mean or covariance is NaN where it does not exist, None where only draws tell."""

    name: str
    dim: int
    mean: Array | None
    cov: Array | None

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        """Return `n` draws, (n, c) or squeezed."""

    def raw_moment(self, p: int) -> float:
        """Return E[c^p] in one dimension, p >= 3; NaN where it is not finite or not known."""
        return math.nan

    def below(self, value: float) -> tuple[float, float] | None:
        """Return P(c < value) and P(c <= value) in one dimension, None where only draws tell."""
        return None

    def support(self) -> tuple[Array, Array] | None:
        """Return points (n, c) and weights (n,) of a finite support, else None."""
        return None


def law(distribution: Any) -> Law:
    """Return the law behind a frozen scipy distribution; TypeError for anything else."""
    if not is_scipy(distribution):
        raise TypeError(f"Frozen: distribution must be a frozen scipy.stats one, got {_check.short(distribution)}")
    if hasattr(distribution, "dist") and hasattr(distribution, "rvs"):
        return Univariate(distribution)
    if hasattr(distribution, "sample") and hasattr(distribution, "variance"):
        return RandomVariable(distribution)
    if hasattr(distribution, "rvs") and not callable(distribution):
        return Multivariate(distribution)
    raise TypeError(
        f"Frozen: distribution must be frozen, such as norm(0, 1), got {type(distribution).__name__} without parameters"
    )


def is_scipy(obj: object) -> bool:
    """Return whether the class of `obj` comes from scipy.stats."""
    return any(base.__module__.startswith("scipy.stats.") for base in type(obj).__mro__)


class Univariate(Law):
    """Frozen rv_continuous and rv_discrete."""

    dim = 1

    def __init__(self, frozen: Any) -> None:
        self._frozen = frozen
        self.name: str = frozen.dist.name
        # scipy accepts parameters outside the domain, and says so in the support only.
        if np.isnan(frozen.support()).any():
            raise ValueError(f"Frozen: distribution must have parameters in its domain, got others for {self.name}")
        with np.errstate(all="ignore"):
            mean, variance = frozen.stats("mv")
        self.mean, self.cov = _scalars(self.name, mean, variance)

    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        return np.asarray(self._frozen.rvs(size=n, random_state=rng))

    def raw_moment(self, p: int) -> float:
        return _trusted(lambda: self._frozen.moment(p))

    def below(self, value: float) -> tuple[float, float]:
        most = float(self._frozen.cdf(value))
        return most - float(self._frozen.pmf(value)) if hasattr(self._frozen, "pmf") else most, most

    def support(self) -> tuple[Array, Array] | None:
        low, high = self._frozen.support()
        if not hasattr(self._frozen, "pmf") or not high - low < SUPPORT_LIMIT:
            return None
        points = np.arange(int(low), int(high) + 1, dtype=np.float64)
        weights = np.asarray(self._frozen.pmf(points), dtype=np.float64)
        return points[:, None], weights / weights.sum()

    def parameters(self) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and keyword parameters as they were given."""
        return list(self._frozen.args), dict(self._frozen.kwds)

    def is_named(self) -> bool:
        """Return whether scipy.stats knows this distribution under its name."""
        import scipy.stats

        return type(getattr(scipy.stats, self.name, None)) is type(self._frozen.dist)


class RandomVariable(Law):
    """The random variables of SciPy 1.15 and later, such as scipy.stats.Normal."""

    dim = 1

    def __init__(self, variable: Any) -> None:
        self._variable = variable
        self.name: str = type(variable).__name__
        with np.errstate(all="ignore"):
            self.mean, self.cov = _scalars(self.name, variable.mean(), variable.variance())

    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        return np.asarray(self._variable.sample(n, rng=rng))

    def raw_moment(self, p: int) -> float:
        return _trusted(lambda: self._variable.moment(p))

    def below(self, value: float) -> tuple[float, float]:
        most = float(self._variable.cdf(value))
        return most, most


class Multivariate(Law):
    """Frozen multivariate distributions whose draws are vectors."""

    def __init__(self, frozen: Any) -> None:
        self._frozen = frozen
        self.name: str = type(frozen).__name__.removesuffix("_frozen")
        # Two draws: with one, some of them squeeze the axis away.
        shape: tuple[int, ...] = np.shape(self.draw(2, np.random.default_rng(0)))
        if len(shape) not in (1, 2):
            raise ValueError(f"Frozen: distribution must draw vectors, got draws of shape {shape[1:]} from {self.name}")
        self.dim = math.prod(shape[1:])
        if self.name == "multivariate_t":
            self.mean, self.cov = _student(frozen)
        else:
            self.mean = _vector_or_none(frozen, "mean", (self.dim,))
            self.cov = _vector_or_none(frozen, "cov", (self.dim, self.dim))

    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        return np.asarray(self._frozen.rvs(size=n, random_state=rng))

    def student(self) -> tuple[list[float], list[list[float]], float]:
        """Return loc, shape and df of a multivariate t."""
        return self._frozen.loc.tolist(), self._frozen.shape.tolist(), float(self._frozen.df)


def _scalars(name: str, mean: ArrayLike, variance: ArrayLike) -> tuple[Array, Array]:
    if np.ndim(mean) or np.ndim(variance):
        raise ValueError(
            f"Frozen: distribution must be of one dimension, got {name} with parameters of shape {np.shape(mean)}; "
            f"use Independent"
        )
    return _check.read_only(np.array([mean], dtype=np.float64)), _check.read_only(
        np.array([[variance]], dtype=np.float64)
    )


def _student(frozen: Any) -> tuple[Array, Array]:
    """Return loc and shape df / (df - 2), where they exist."""
    df = float(frozen.df)
    mean = frozen.loc if df > 1 else np.full_like(frozen.loc, np.nan)
    factor = 1.0 if df == np.inf else df / (df - 2) if df > 2 else np.nan
    return _check.read_only(np.array(mean, dtype=np.float64)), _check.read_only(
        np.array(frozen.shape * factor, dtype=np.float64)
    )


def _vector_or_none(frozen: Any, name: str, shape: tuple[int, ...]) -> Array | None:
    value = getattr(frozen, name, None)
    value = value() if callable(value) else value
    if value is None or np.size(value) != math.prod(shape):
        return None
    return _check.read_only(np.array(value, dtype=np.float64).reshape(shape))


def _trusted(moment: Callable[[], float]) -> float:
    """Return scipy's moment, NaN where it warns: what its quadrature returns then may be far off."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        try:
            return float(moment())
        except Warning:
            return math.nan
