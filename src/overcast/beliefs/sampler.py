"""Beliefs known through their draws only."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief

#: draws behind the estimated mean and covariance
ESTIMATE_DRAWS = 10_000


class Sampler(Belief):
    """Sampling access only: a simulator or a generative model from which contexts can be drawn.

    `mean` and `cov` are Monte Carlo estimates from 10,000 draws with a generator of their own, so they
    are the same at every call; `exact` is False and `moments` raises `NoClosedForm`.

    Parameters
    ----------
    draw : function (n, rng) -> (n, c) array of `n` draws; (n,) will do for dimension one
    dim : dimension c of the context

    Examples
    --------
    >>> rain = Sampler(lambda n, rng: rng.gamma(2.0, 3.0, size=(n, 1)), dim=1)
    >>> rain.sample(3, np.random.default_rng(0)).shape
    (3, 1)
    >>> rain.exact
    False
    """

    exact = False

    def __init__(self, draw: Callable[[int, np.random.Generator], ArrayLike], dim: int) -> None:
        if not callable(draw):
            raise TypeError(f"Sampler: draw must be a function (n, rng) -> (n, c), got {_check.short(draw)}")
        self._draw = draw
        self.dim = _check.integer("Sampler", "dim", dim, at_least=1)

    def mean(self) -> Array:
        return self._estimate[0]

    def cov(self) -> Array:
        return self._estimate[1]

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return rows("Sampler", "draw", self._draw(n, rng), n, self.dim) if n else np.empty((0, self.dim))

    def to_json(self) -> dict[str, Any]:
        raise no_json("Sampler")

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Sampler:
        raise no_json("Sampler")

    def __repr__(self) -> str:
        return f"Sampler({getattr(self._draw, '__name__', type(self._draw).__name__)}, dim={self.dim})"

    @cached_property
    def _estimate(self) -> tuple[Array, Array]:
        return estimate(self)


def rows(owner: str, name: str, value: ArrayLike, n: int, dim: int) -> Array:
    """Return draws as a writable (n, c) array after checking their shape and that they are finite."""
    out = _check.floats(owner, name, value)
    if dim == 1 and out.ndim == 1:
        out = out[:, None]
    out = _check.checked(owner, f"{name}({n}, rng)", out, (n, dim))
    out.setflags(write=True)
    return out


def estimate(belief: Belief) -> tuple[Array, Array]:
    """Return mean (c,) and covariance (c, c) estimated from draws of a fixed generator."""
    draws = belief.sample(ESTIMATE_DRAWS, np.random.default_rng(0))
    mean = draws.mean(axis=0)
    cov = np.atleast_2d(np.cov(draws, rowvar=False))
    mean.setflags(write=False)
    cov.setflags(write=False)
    return mean, cov


def no_json(owner: str) -> TypeError:
    """Return the error that says that a belief cannot be written down as data, and what to do instead."""
    return TypeError(
        f"{owner}: no JSON form exists for a distribution given as code; use Ensemble(belief.sample(n, rng))"
    )
