"""Distribution functions and quantiles of single coordinates, and checks of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array

# Cumulated weights carry round-off: without this the median of six members could be the fourth instead of the third.
ROUND_OFF = 1e-12
# Each step halves the bracket, which ends below round-off even if the solution is near zero.
HALVINGS = 100


def rows(owner: str, values: ArrayLike, dim: int) -> Array:
    """Return values (c,) or (m, c) as floats, which may be infinite; raise ValueError for other shapes and NaN."""
    out = np.atleast_1d(_check.floats(owner, "values", values))
    if out.ndim > 2 or out.shape[-1] != dim or np.isnan(out).any():
        expected = f"numbers of shape ({dim},) or (m, {dim})"
        raise ValueError(f"{owner}: values must be {expected}, got {_check.short(values)}")
    return out


def levels(owner: str, p: ArrayLike) -> Array:
    """Return probabilities, shape () or (m,), as floats; raise ValueError unless they lie in [0, 1]."""
    out = _check.floats(owner, "p", p)
    if out.ndim > 1 or not ((out >= 0.0) & (out <= 1.0)).all():
        raise ValueError(f"{owner}: p must be a number in [0, 1] or an (m,) array of them, got {_check.short(p)}")
    return out


def for_each(owner: str, name: str, value: ArrayLike, dim: int, at_least: float = -np.inf) -> Array:
    """Broadcast one number for all dimensions, or check one per dimension, and return shape (c,)."""
    out = _check.floats(owner, name, value)
    out = _check.checked(owner, name, np.full(dim, out) if out.ndim == 0 else out, (dim,))
    if (out < at_least).any():
        at = int(np.argmax(out < at_least))
        raise ValueError(f"{owner}: {name} must be >= {at_least:g}, got {out[at]} at index {at}")
    return out


def order(owner: str, dimensions: Sequence[str] | Sequence[int], dim: int, names: tuple[str, ...] | None) -> list[int]:
    """Return the indices of dimensions named by name or index, each at most once."""
    if isinstance(dimensions, str) or not hasattr(dimensions, "__iter__"):
        got = _check.short(dimensions)
        raise TypeError(f"{owner}: dimensions must be a list of names or indices, got {got}; put it in brackets")
    out = []
    for item in dimensions:
        if isinstance(item, str):
            if item not in (names or ()):
                known = f"some of {', '.join(names)}" if names else "indices, as the belief has no names"
                raise ValueError(f"{owner}: dimensions must be {known}, got {_check.short(item)}")
            out.append((names or ()).index(item))
        else:
            out.append(_check.integer(owner, "dimensions", item))
    if not out or len(set(out)) < len(out) or not all(0 <= i < dim for i in out):
        got = _check.short(list(dimensions))
        raise ValueError(f"{owner}: dimensions must be distinct and at least one of the {dim}, got {got}")
    return out


def cdf_of_points(points: Array, weights: Array, values: Array) -> Array:
    """Return P(c_i <= values[j, i]), shape (m, c), of a finite support: points (n, c), weights (n,), values (m, c)."""
    ordered, total = _cumulative_weights(points, weights)
    total = np.concatenate([np.zeros((1, points.shape[1])), total])
    columns = zip(ordered.T, total.T, values.T, strict=True)
    return np.stack([t[np.searchsorted(x, v, "right")] for x, t, v in columns], axis=1)


def quantiles_of_points(points: Array, weights: Array, p: Array) -> Array:
    """Return the least values with P(c_i <= value) >= p, shape (m, c), of a finite support; levels p (m,)."""
    ordered, total = _cumulative_weights(points, weights)
    least = np.maximum(p - ROUND_OFF, np.nextafter(0.0, 1.0))  # above zero: points without weight do not count
    return np.stack([x[np.searchsorted(t, least)] for x, t in zip(ordered.T, total.T, strict=True)], axis=1)


def bisect(cdf: Callable[[Array], Array], p: Array, low: Array, high: Array) -> Array:
    """Find by bisection the least values (m, c) with cdf(values) >= p (m,), between `low` and `high` (m, c)."""
    high = np.where(cdf(low) >= p[:, None], low, high)
    for _ in range(HALVINGS):
        middle = 0.5 * low + 0.5 * high
        if ((middle <= low) | (middle >= high)).all():
            break
        reached = cdf(middle) >= p[:, None]
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high


def place_among(points: Array, weights: Array, outcome: Array, sample_size: float) -> Array:
    """Return the probability integral transform of an outcome (c,) among points (n, c): lower and upper end, (2, c).

    Among n draws of the outcome's distribution, all n + 1 ranks of the outcome are equally likely, and the interval is
    the share of its rank. With an infinite sample size the points are the distribution itself.
    """
    place = np.stack([weights @ (points < outcome), weights @ (points <= outcome)])
    if sample_size < np.inf:
        place = (sample_size * place + [[0.0], [1.0]]) / (sample_size + 1.0)
    return np.clip(place, 0.0, 1.0)  # weights add up to one but for rounding


def _cumulative_weights(points: Array, weights: Array) -> tuple[Array, Array]:
    """Return each coordinate of the points in increasing order, and the weights up to there, both (n, c)."""
    order = points.argsort(axis=0, kind="stable")
    total = weights[order].cumsum(axis=0)
    return np.take_along_axis(points, order, axis=0), total / total[-1]
