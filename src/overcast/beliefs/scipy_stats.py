"""Frozen distributions of scipy.stats as beliefs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.beliefs._moments import Powers
from overcast.beliefs._parts import fields
from overcast.beliefs._scipy_laws import Multivariate, Univariate, law
from overcast.beliefs.base import Belief, NoClosedForm
from overcast.beliefs.sampler import estimate, no_json, rows


class Frozen(Belief):
    """A frozen scipy.stats distribution that has no belief of its own, such as gamma(2.0) or multivariate_t(...).

    Mean, covariance and moments are scipy's. Where a multivariate distribution does not tell them they are
    estimated from 10,000 draws, and `exact` is False. Where they do not exist (Cauchy), or scipy cannot
    integrate them, asking for them raises `NoClosedForm`; drawing works always.

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

    def below(self, value: float) -> tuple[float, float] | None:
        """Return P(c < value) and P(c <= value) in one dimension, None where only draws tell."""
        return self._law.below(value)

    def support(self) -> tuple[Array, Array] | None:
        return self._law.support()

    def moments(self, powers: Powers) -> Array:
        """Raw moments: scipy's in one dimension, up to total degree two from mean and covariance in more."""
        if self._law.mean is None or self._law.cov is None:
            raise NoClosedForm(
                f"Frozen: moments of {self._law.name} have no closed form; pass samples= to average draws"
            )
        return np.array([self._moment(row) for row in powers])

    def to_json(self) -> dict[str, Any]:
        if isinstance(self._law, Univariate) and self._law.is_named():
            args, kwds = self._law.parameters()
            return {
                "type": "Frozen",
                "distribution": self._law.name,
                "args": [_plain(value) for value in args],
                "kwds": {key: _plain(value) for key, value in kwds.items()},
            }
        if isinstance(self._law, Multivariate) and self._law.name == "multivariate_t":
            loc, shape, df = self._law.student()
            return {
                "type": "Frozen",
                "distribution": "multivariate_t",
                "args": [],
                "kwds": {"loc": loc, "shape": shape, "df": _plain(df)},
            }
        raise no_json("Frozen")

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Frozen:
        import scipy.stats  # slow to import, and most programs never come here

        fields("Frozen", data, ["distribution"], ["args", "kwds"])
        name, args, kwds = data["distribution"], data.get("args", []), data.get("kwds", {})
        family = getattr(scipy.stats, name, None) if isinstance(name, str) else None
        if not isinstance(family, (scipy.stats.rv_continuous, scipy.stats.rv_discrete)) and name != "multivariate_t":
            raise ValueError(f"Frozen: distribution must be the name of one in scipy.stats, got {_check.short(name)}")
        if not isinstance(args, list) or not isinstance(kwds, dict):
            got = f"{_check.short(args)} and {_check.short(kwds)}"
            raise ValueError(f"Frozen: args must be a list and kwds an object, got {got}")
        args = [_number(value) for value in args]
        kwds = {key: _number(value) for key, value in kwds.items()}
        try:
            return cls(family(*args, **kwds))  # type: ignore[misc]
        except (TypeError, ValueError) as error:
            reason = str(error).replace("\n", " ")
            raise ValueError(f"Frozen: args and kwds must be parameters of {name}, got {reason}") from None

    def __repr__(self) -> str:
        return f"Frozen({self._law.name}, dim={self.dim})"

    @cached_property
    def _estimate(self) -> tuple[Array, Array]:
        return estimate(self)

    def _existing(self, what: str, value: Array) -> Array:
        if not _finite(value):
            raise NoClosedForm(f"Frozen: the {what} of {self._law.name} is not finite; pass samples= to average draws")
        return value

    def _moment(self, row: Powers) -> float:
        degree = int(row.sum())
        at = np.repeat(np.arange(self.dim), row)
        if degree == 0:
            return 1.0
        if degree == 1:
            return float(self.mean()[at[0]])
        if degree == 2:
            mean = self.mean()
            return float(self.cov()[at[0], at[1]] + mean[at[0]] * mean[at[1]])
        if degree not in self._raw:
            self._raw[degree] = self._law.raw_moment(degree)
        if not np.isfinite(self._raw[degree]):
            raise NoClosedForm(
                f"Frozen: the moment of degree {degree} of {self._law.name} is unknown; pass samples= to average draws"
            )
        return self._raw[degree]


def _finite(array: Array) -> bool:
    return bool(np.isfinite(array).all())


def _plain(value: Any) -> Any:
    """Return a parameter as JSON data; JSON has no infinities, so they go as text."""
    value = np.asarray(value).tolist()
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _number(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf") else value
