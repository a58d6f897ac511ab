"""Frozen distributions of scipy.stats as beliefs.

scipy.stats takes long to import, so functions here import it when they need it.
"""

from __future__ import annotations

import math
import warnings
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.beliefs._moments import Powers
from overcast.beliefs.base import Belief, NoClosedForm
from overcast.beliefs.sampler import estimate, no_json, rows
from overcast.beliefs.serialise import fields

# A discrete distribution on more points than this counts as infinite.
SUPPORT_LIMIT = 100_000


class Frozen(Belief):
    """A frozen scipy.stats distribution without a dedicated class, such as gamma(2.0) or multivariate_t(...).

    Mean, covariance, moments, distribution function and quantiles are scipy's. If a multivariate distribution has no
    mean and covariance, they are estimated from 10,000 draws, and `exact` is False. Moments that do not exist
    (Cauchy) or that scipy cannot integrate raise `NoClosedForm`; sampling always works.

    Parameters
    ----------
    distribution : frozen distribution of scipy.stats, univariate or with draws that are vectors

    Examples
    --------
    >>> import scipy.stats
    >>> rain = Frozen(scipy.stats.gamma(2.0, scale=3.0))
    >>> rain.mean(), rain.cov()
    (array([6.]), array([[18.]]))
    """

    def __init__(self, distribution: Any) -> None:
        #: the scipy.stats object
        self.distribution = distribution
        self._law = law(distribution)
        self.dim = self._law.dim
        self.exact = self._law.mean is not None and self._law.cov is not None
        self._raw: dict[int, float] = {}

    def mean(self) -> Array:
        return self._estimate[0] if self._law.mean is None else self._existing("mean", self._law.mean)

    def cov(self) -> Array:
        return self._estimate[1] if self._law.cov is None else self._existing("covariance", self._law.cov)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        if not n:
            return np.empty((0, self.dim))
        # scipy squeezes axes of length one.
        draws = np.reshape(self._law.draw(n, rng), (n, self.dim))
        return rows("Frozen", "rvs", draws, n, self.dim)

    def support(self) -> tuple[Array, Array] | None:
        return self._law.support()

    def moments(self, powers: Powers) -> Array:
        """Return scipy's raw moments in one dimension; in more, those up to degree two by mean and covariance."""
        if not self.exact:
            name = self._law.name
            raise NoClosedForm(f"Frozen: moments of {name} have no closed form; pass samples= to average draws")
        return np.array([self._moment(row) for row in powers])

    def to_json(self) -> dict[str, Any]:
        parameters = self._law.parameters()
        if parameters is None:
            raise no_json("Frozen")
        args, kwds = [_plain(value) for value in parameters[0]], {k: _plain(v) for k, v in parameters[1].items()}
        return self._json(distribution=self._law.name, args=args, kwds=kwds)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Frozen:
        import scipy.stats

        fields("Frozen", data, ["distribution"], ["args", "kwds"])
        name, args, kwds = data["distribution"], data.get("args", []), data.get("kwds", {})
        family = getattr(scipy.stats, name, None) if isinstance(name, str) else None
        if not isinstance(family, (scipy.stats.rv_continuous, scipy.stats.rv_discrete)) and name != "multivariate_t":
            raise ValueError(f"Frozen: distribution must be the name of one in scipy.stats, got {_check.short(name)}")
        if not isinstance(args, list) or not isinstance(kwds, dict):
            got = f"{_check.short(args)} and {_check.short(kwds)}"
            raise ValueError(f"Frozen: args must be a list and kwds an object, got {got}")
        try:
            numbers = {key: _number(value) for key, value in kwds.items()}
            return cls(family(*map(_number, args), **numbers))  # type: ignore[misc]
        except (TypeError, ValueError, OverflowError) as error:
            reason = str(error).replace("\n", " ")
            raise ValueError(f"Frozen: args and kwds must be parameters of {name}, got {reason}") from None

    def __repr__(self) -> str:
        return f"Frozen({self._law.name}, dim={self.dim})"

    def _cdf(self, values: Array) -> Array:
        probabilities = self._law.cdf(values)
        return super()._cdf(values) if probabilities is None else probabilities

    def _quantile(self, p: Array) -> Array:
        values = self._law.quantile(p)
        return super()._quantile(p) if values is None else values[:, None]

    @cached_property
    def _estimate(self) -> tuple[Array, Array]:
        return estimate(self)

    def _existing(self, name: str, value: Array) -> Array:
        if not np.isfinite(value).all():
            raise NoClosedForm(f"Frozen: the {name} of {self._law.name} is not finite; pass samples= to average draws")
        return value

    def _moment(self, row: Powers) -> float:
        degree, at = int(row.sum()), np.repeat(np.arange(self.dim), row)
        if degree == 0:
            return 1.0
        if degree <= 2:
            mean = self.mean()[at].tolist()  # plain numbers overflow without a warning
            moment = mean[0] if degree == 1 else float(self.cov()[*at]) + mean[0] * mean[1]
        else:
            if degree not in self._raw:
                self._raw[degree] = self._law.raw_moment(degree)
            moment = self._raw[degree]
        if not math.isfinite(moment):
            name = f"the moment of degree {degree} of {self._law.name}"
            raise NoClosedForm(f"Frozen: {name} is unknown; pass samples= to average draws")
        return float(moment)


class Law:
    """A uniform interface to scipy's distributions, here to multivariate ones whose draws are vectors.

    The mean or covariance is NaN if it does not exist, None if only draws are available.
    """

    name: str
    dim: int
    mean: Array | None
    cov: Array | None

    def __init__(self, frozen: Any) -> None:
        self._frozen = frozen
        self.name = type(frozen).__name__.removesuffix("_frozen")
        # Two draws: some distributions drop the axis if it has length one.
        shape: tuple[int, ...] = np.shape(self.draw(2, np.random.default_rng(0)))
        if len(shape) not in (1, 2):
            raise ValueError(f"Frozen: distribution must draw vectors, got draws of shape {shape[1:]} from {self.name}")
        self.dim = math.prod(shape[1:])
        if self.name == "multivariate_t":
            self.mean, self.cov = _student(frozen)
        else:
            self.mean, self.cov = self._attribute("mean", (self.dim,)), self._attribute("cov", (self.dim, self.dim))

    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        """Return `n` draws, (n, c) or squeezed."""
        return np.asarray(self._frozen.rvs(size=n, random_state=rng))

    def raw_moment(self, p: int) -> float:
        """Return E[c^p] in one dimension, p >= 3; NaN if it is not finite or not known."""
        return math.nan

    def cdf(self, values: Array) -> Array | None:
        """Return P(c <= value) in one dimension, None if only draws are available."""
        return None

    def quantile(self, p: Array) -> Array | None:
        """Return the quantiles of levels p in one dimension, None if only draws are available."""
        return None

    def support(self) -> tuple[Array, Array] | None:
        """Return points (n, c) and weights (n,) of a finite support, else None."""
        return None

    def parameters(self) -> tuple[list[Any], dict[str, Any]] | None:
        """Return positional and keyword parameters, None unless scipy.stats knows the distribution by its name."""
        named = self.name == "multivariate_t"
        return ([], {name: getattr(self._frozen, name) for name in ("loc", "shape", "df")}) if named else None

    def _attribute(self, name: str, shape: tuple[int, ...]) -> Array | None:
        """Return an attribute, or the result of a method, in this shape, None if it has another size."""
        value = getattr(self._frozen, name, None)
        value = value() if callable(value) else value
        return None if value is None or np.size(value) != math.prod(shape) else _fixed(np.reshape(value, shape))


class Univariate(Law):
    """The law of a frozen rv_continuous or rv_discrete."""

    dim = 1

    def __init__(self, frozen: Any) -> None:
        self._frozen = frozen
        self.name = frozen.dist.name
        # scipy accepts parameters outside the domain; only the support shows it.
        try:
            known = not np.isnan(frozen.support()).any()
        except OverflowError:  # of whole numbers beyond all floating-point ones
            known = False
        if not known:
            raise ValueError(f"Frozen: distribution must have parameters in its domain, got others for {self.name}")
        with np.errstate(all="ignore"):
            self.mean, self.cov = _scalars(self.name, *frozen.stats("mv"))

    def raw_moment(self, p: int) -> float:
        """Return scipy's moment, NaN if it warns, as the result of its quadrature may then be far off."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            try:
                return float(self._frozen.moment(p))
            except Warning:
                return math.nan

    def cdf(self, values: Array) -> Array:
        return np.asarray(self._frozen.cdf(values))

    def quantile(self, p: Array) -> Array:
        return np.asarray(np.maximum(self._frozen.ppf(p), self._frozen.support()[0]))  # ppf(0) may lie one below

    def support(self) -> tuple[Array, Array] | None:
        low, high = self._frozen.support()
        if not hasattr(self._frozen, "pmf") or not high - low < SUPPORT_LIMIT:
            return None
        points = np.arange(int(low), int(high) + 1, dtype=np.float64)
        weights = np.asarray(self._frozen.pmf(points), dtype=np.float64)
        return points[:, None], weights / weights.sum()

    def parameters(self) -> tuple[list[Any], dict[str, Any]] | None:
        import scipy.stats

        named = type(getattr(scipy.stats, self.name, None)) is type(self._frozen.dist)
        return (list(self._frozen.args), dict(self._frozen.kwds)) if named else None


class RandomVariable(Univariate):
    """The law of a random variable of SciPy 1.15 and later, such as scipy.stats.Normal."""

    def __init__(self, variable: Any) -> None:
        self._frozen = variable
        self.name = type(variable).__name__
        with np.errstate(all="ignore"):
            self.mean, self.cov = _scalars(self.name, variable.mean(), variable.variance())

    def draw(self, n: int, rng: np.random.Generator) -> ArrayLike:
        return np.asarray(self._frozen.sample(n, rng=rng))

    def quantile(self, p: Array) -> Array:
        return np.asarray(self._frozen.icdf(p))

    def support(self) -> None:
        return None

    def parameters(self) -> None:
        return None


def law(distribution: Any) -> Law:
    """Return the law of a frozen scipy distribution; raise TypeError for anything else."""
    if not is_scipy(distribution):
        raise TypeError(f"Frozen: distribution must be a frozen scipy.stats one, got {_check.short(distribution)}")
    if hasattr(distribution, "dist") and hasattr(distribution, "rvs"):
        return Univariate(distribution)
    if hasattr(distribution, "sample") and hasattr(distribution, "variance"):
        return RandomVariable(distribution)
    if hasattr(distribution, "rvs") and not callable(distribution):
        return Law(distribution)
    got = f"{type(distribution).__name__} without parameters"
    raise TypeError(f"Frozen: distribution must be frozen, such as norm(0, 1), got {got}")


def is_scipy(obj: object) -> bool:
    """Return whether the class of `obj` comes from scipy.stats."""
    return any(base.__module__.startswith("scipy.stats.") for base in type(obj).__mro__)


def _scalars(name: str, mean: ArrayLike, variance: ArrayLike) -> tuple[Array, Array]:
    """Return mean (1,) and covariance (1, 1); raise ValueError unless both are scalars."""
    if np.ndim(mean) or np.ndim(variance):
        got = f"{name} with parameters of shape {np.shape(mean)}"
        raise ValueError(f"Frozen: distribution must be of one dimension, got {got}; use Independent")
    return _fixed([mean]), _fixed([[variance]])


def _student(frozen: Any) -> tuple[Array, Array]:
    """Return mean and covariance of a multivariate t: loc and shape * df / (df - 2), NaN if they do not exist."""
    df = float(frozen.df)
    mean = frozen.loc if df > 1 else np.full_like(frozen.loc, np.nan)
    factor = 1.0 if df == np.inf else df / (df - 2) if df > 2 else np.nan
    return _fixed(mean), _fixed(frozen.shape * factor)


def _fixed(value: Any) -> Array:
    """Return a read-only array of floats."""
    return _check.read_only(np.array(value, dtype=np.float64))


def _plain(value: Any) -> Any:
    """Return a parameter as JSON data, with infinities as text, since JSON has none."""
    value = np.asarray(value).tolist()
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _number(value: Any) -> Any:
    """Undo `_plain`: return infinities as floats."""
    return float(value) if value in ("inf", "-inf") else value
