"""Beliefs known by draws alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief

#: draws behind the estimated mean and covariance; more than STAND_IN_DRAWS, because they are drawn only once, and their
#: error affects all that is computed from the belief
ESTIMATE_DRAWS = 10_000


class Sampler(Belief):
    """A simulator or generative model, known only by its draws of contexts.

    `mean` and `cov` are estimates from 10,000 draws, the same at every call; `moments` raises `NoClosedForm`.

    Parameters
    ----------
    draw : function (n, rng) -> (n, c) array of `n` draws; or (n,) for dimension one
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
        #: (n, rng) -> (n, c)
        self.draw = draw
        self.dim = _check.integer("Sampler", "dim", dim, at_least=1)

    def mean(self) -> Array:
        return self._estimate[0]

    def cov(self) -> Array:
        return self._estimate[1]

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return rows("Sampler", "draw", self.draw(n, rng), n, self.dim) if n else np.empty((0, self.dim))

    def to_json(self) -> dict[str, Any]:
        raise no_json("Sampler")

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Sampler:
        raise no_json("Sampler")

    def __repr__(self) -> str:
        return f"Sampler({getattr(self.draw, '__name__', type(self.draw).__name__)}, dim={self.dim})"

    def _moved(self, shift: Array, scale: Array, blur: Array) -> Sampler:
        return moved_draws(self, shift, scale, blur)

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


def moved_draws(belief: Belief, shift: Array, scale: Array, blur: Array) -> Sampler:
    """Return a sampler of a belief's draws, moved and blurred; it can be pickled if the belief can."""
    return Sampler(partial(_moved_draws, belief, shift, scale, blur), belief.dim)


def _moved_draws(belief: Belief, shift: Array, scale: Array, blur: Array, n: int, rng: np.random.Generator) -> Array:
    draws = shift + scale * belief.sample(n, rng)
    return np.asarray(draws + blur * rng.standard_normal(draws.shape) if blur.any() else draws)


def estimate(belief: Belief) -> tuple[Array, Array]:
    """Return mean (c,) and covariance (c, c) estimated from draws of a fixed generator."""
    draws = belief.sample(ESTIMATE_DRAWS, np.random.default_rng(0))
    return _check.read_only(draws.mean(axis=0)), _check.read_only(np.atleast_2d(np.cov(draws, rowvar=False)))


def no_json(owner: str) -> TypeError:
    """Return the error for a belief that is code, not data."""
    use = "use Ensemble(belief.sample(n, rng))"
    return TypeError(f"{owner}: no JSON form exists for a distribution given as code; {use}")
