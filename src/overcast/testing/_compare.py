"""Assertions that all checks share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from overcast._check import Array
from overcast.beliefs import Belief, Gaussian

DRAWS = 10_000
STANDARD_ERRORS = 6.0


def gaussian_around(points: Array) -> Gaussian:
    """Return a normal belief with the mean of the points and a full covariance."""
    c = points.shape[1]
    return Gaussian(points.mean(axis=0), np.cov(points.T, bias=True).reshape(c, c) + np.eye(c))


def draws_of(belief: Belief, n: int) -> Array:
    """Draw n contexts, the same at every call."""
    return belief.sample(n, np.random.default_rng(1))


def require(holds: bool, name: str, text: str) -> None:
    """Raise AssertionError with the owner's name unless a condition holds."""
    if not holds:
        raise AssertionError(f"{name}: {text}")


def require_shape(name: str, label: str, value: Any, shape: tuple[int, ...]) -> None:
    """Raise AssertionError unless a value has this shape and is finite."""
    require(np.shape(value) == shape, name, f"{label} must have shape {shape}, got {np.shape(value)}")
    require(bool(np.isfinite(value).all()), name, f"{label} must be finite")


def require_equal(name: str, label: str, got: ArrayLike, expected: ArrayLike) -> None:
    """Raise AssertionError unless two arrays are equal up to rounding, relative to the largest number."""
    left, right = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    require(left.shape == right.shape, name, f"{label} must agree, got shapes {left.shape} and {right.shape}")
    error, scale = np.abs(left - right).max(initial=0.0), 1.0 + np.abs(right).max(initial=0.0)
    require(bool(error <= 1e-9 * scale), name, f"{label} must agree, got numbers {error:.3g} apart")


def require_average(name: str, label: str, draws: Array, expected: Array, factor: float = 1.0) -> None:
    """Raise AssertionError unless the mean of draws (n, ...) is `expected` within `factor` * 6 standard errors."""
    error = STANDARD_ERRORS * factor * draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    off = np.abs(draws.mean(axis=0) - expected)
    rounding = 1e-9 * (1.0 + np.abs(draws).max())
    worst = float((off - error).max())
    require(worst <= rounding, name, f"{label} must be the average of draws, got one {float(off.max()):.3g} apart")
