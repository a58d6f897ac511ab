"""What kernels of a scaled distance share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.kernels.base import Kernel

# Squares of length scales beyond these could not be held by numbers.
SHORTEST, LONGEST = 1e-100, 1e100


class Stationary(Kernel):
    """A kernel of (u_i - v_i) / l_i with k(u, u) = 1: a frozen dataclass with a field `lengthscale`."""

    lengthscale: float | tuple[float, ...]

    def diagonal(self, points: Array) -> Array:
        return np.ones(len(points))

    def parameters(self) -> tuple[float, ...]:
        return self.lengthscale if isinstance(self.lengthscale, tuple) else (self.lengthscale,)

    def with_parameters(self, values: Sequence[float]) -> Self:
        lengthscale = tuple(values) if isinstance(self.lengthscale, tuple) else values[0]
        return replace(self, lengthscale=lengthscale)  # type: ignore[type-var]


def lengthscales(owner: str, value: Any) -> float | tuple[float, ...]:
    """Return one length scale, or one for each dimension."""
    if np.ndim(value) == 0:
        return _scale(owner, value)
    return tuple(_scale(owner, scale) for scale in _check.vector(owner, "lengthscale", value, "p").tolist())


def _scale(owner: str, value: Any) -> float:
    scale = _check.number(owner, "lengthscale", value, above=0.0)
    if not SHORTEST <= scale <= LONGEST:
        raise ValueError(
            f"{owner}: lengthscale must lie between {SHORTEST:g} and {LONGEST:g}, got {scale:g}; scale the contexts"
        )
    return scale


def scales_for(owner: str, lengthscale: float | tuple[float, ...], p: int) -> Array:
    """Return a length scale for each of p dimensions."""
    if isinstance(lengthscale, tuple) and len(lengthscale) != p:
        raise ValueError(f"{owner}: lengthscale must have {p} entries, one for each dimension, got {len(lengthscale)}")
    return np.array(lengthscale) if isinstance(lengthscale, tuple) else np.full(p, lengthscale)


def split(owner: str, lengthscale: float | tuple[float, ...], a: int) -> tuple[Any, Any]:
    """Return the length scales of the first a dimensions and of the rest."""
    if isinstance(lengthscale, float):
        return lengthscale, lengthscale
    if len(lengthscale) <= a:
        raise ValueError(
            f"{owner}: lengthscale must have an entry for each dimension of action and context, got {len(lengthscale)} "
            f"for actions of dimension {a}"
        )
    return lengthscale[:a], lengthscale[a:]


def by_scale(lengthscale: float | tuple[float, ...], derivatives: Array) -> Array:
    """Return derivatives (p, n, m) by each dimension's log length scale, summed where one number serves all."""
    return derivatives if isinstance(lengthscale, tuple) else derivatives.sum(axis=0, keepdims=True)
