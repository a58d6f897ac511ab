"""Regularised least squares, one observation at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg.blas import dger

from overcast._check import Array

# Rank-one updates of V^-1 drift by a rounding error each; starting again from V this often keeps it below 1e-8.
REFRESH_EVERY = 512

# An update divides by 1 + psi^T V^-1 psi and loses as many digits; beyond this V is factorised instead.
MAX_WIDTH2 = 1e4

# How far V V^-1 may be from the identity before the numbers are worthless.
MAX_ERROR = 1e-4


class Ridge:
    """theta-hat = V^-1 sum_s psi_s y_s with V = lambda I + sum_s psi_s psi_s^T, for any leading axes.

    Examples
    --------
    >>> fit = Ridge(d=2, ridge=1.0)
    >>> fit.add(np.array([1.0, 0.0]), 3.0)
    >>> fit.theta
    array([1.5, 0. ])
    """

    def __init__(self, d: int, ridge: float, leading: tuple[int, ...] = ()) -> None:
        self.ridge = ridge
        design = np.zeros((*leading, d, d))
        design[..., np.arange(d), np.arange(d)] = ridge
        self._refresh(design, np.zeros((*leading, d)))

    def _refresh(self, design: Array, target: Array) -> None:
        """Take V and the targets, and compute inverse, estimate and log-determinant from them.

        V is first brought to a unit diagonal, so that features of very different size do no harm.
        """
        size = np.sqrt(np.diagonal(design, axis1=-2, axis2=-1))
        scale = size[..., :, None] * size[..., None, :]
        scaled = design / scale
        try:
            inverse = np.linalg.inv(scaled)
            error = float(np.abs(scaled @ inverse - np.eye(size.shape[-1])).max())
        except np.linalg.LinAlgError:
            error = math.inf
        if not error < MAX_ERROR:
            raise ValueError(
                "LinearModel: features must be told apart by their digits, got larger ones; scale the contexts"
            )
        self.design = design  # V
        self.target = target  # sum of psi_s y_s
        self.inverse: Array = (inverse + inverse.swapaxes(-1, -2)) / (2 * scale)
        self.theta: Array = _apply(self.inverse, target)
        relative = np.log(size / math.sqrt(self.ridge)).sum(axis=-1)
        self.log_det: Array = np.asarray(np.linalg.slogdet(scaled)[1] + 2 * relative)
        self._updates = 0

    def add(self, psi: Array, reward: float | Array) -> None:
        """Add the observation reward = psi^T theta + noise, psi (..., d), by the Sherman-Morrison formula.

        Raises ValueError, and changes nothing, where double precision cannot hold the result.
        """
        u = _apply(self.inverse, psi)
        width2 = _dot(psi, u)
        gain = psi * (reward if psi.ndim == 1 else np.asarray(reward)[..., None])
        if self._updates + 1 >= REFRESH_EVERY or not _within(width2, MAX_WIDTH2):
            self._refresh(self.design + psi[..., :, None] * psi[..., None, :], self.target + gain)
            return
        self._updates += 1
        self.target += gain
        _add_outer(self.design, psi, 1.0)
        _add_outer(self.inverse, u, -1.0 / (1.0 + width2))
        self.theta = _apply(self.inverse, self.target)
        self.log_det = np.asarray(self.log_det + np.log1p(width2))

    def add_at(self, at: tuple[Any, ...], psi: Array, reward: float | Array) -> None:
        """Add an observation to the fits that `at` picks from the leading axes, and to no other."""
        part = object.__new__(Ridge)
        part.ridge, part._updates = self.ridge, self._updates
        names = ("design", "target", "inverse", "theta", "log_det")
        for name in names:
            setattr(part, name, np.array(getattr(self, name)[at]))
        part.add(psi, reward)
        for name in names:
            getattr(self, name)[at] = getattr(part, name)
        self._updates += 1
        if self._updates >= REFRESH_EVERY:
            self._refresh(self.design, self.target)

    def distance(self, theta: Array) -> Array:
        """Return the norm of theta - theta-hat under V, shape (...)."""
        error = theta - self.theta
        return np.asarray(np.sqrt(np.vecdot(error, _apply(self.design, error))))

    def merge(self, other: Ridge) -> None:
        """Add the observations of another fit with the same ridge: V and the targets are sums."""
        d = self.target.shape[-1]
        self._refresh(self.design + (other.design - self.ridge * np.eye(d)), self.target + other.target)

    def state(self) -> dict[str, Array]:
        return {
            "design": self.design,
            "target": self.target,
            "inverse": self.inverse,
            "theta": self.theta,
            "log_det": np.asarray(self.log_det),
            "updates": np.asarray(float(self._updates)),
        }

    def restore(self, state: dict[str, Array]) -> None:
        for name in ("design", "target", "inverse", "theta", "log_det"):
            if state[name].shape != np.shape(getattr(self, name)):
                raise ValueError(
                    f"Ridge: {name} must have shape {np.shape(getattr(self, name))}, got {state[name].shape}"
                )
            setattr(self, name, np.array(state[name]))
        self._updates = int(state["updates"])


# One fit is served by the plain calls on vectors and matrices, which cost a third of the general ones.


def _apply(matrix: Array, vector: Array) -> Array:
    """Return matrix @ vector for any leading axes."""
    return np.asarray(matrix @ vector if vector.ndim == 1 else (matrix @ vector[..., None])[..., 0])


def _dot(left: Array, right: Array) -> float | Array:
    """Return the inner product along the last axis, a plain number for two vectors."""
    return float(left @ right) if left.ndim == 1 else np.vecdot(left, right)


def _within(value: float | Array, limit: float) -> bool:
    """Return whether 0 <= value <= limit everywhere; False for NaN."""
    return 0.0 <= value <= limit if isinstance(value, float) else bool(((value >= 0.0) & (value <= limit)).all())


def _add_outer(matrix: Array, vector: Array, scale: float | Array) -> None:
    """Add scale * vector vector^T in place, for any leading axes."""
    if vector.ndim == 1:
        # Symmetric, so its transpose is the column-major matrix that BLAS updates without a copy.
        dger(scale, vector, vector, a=matrix.T, overwrite_a=1)
    else:
        matrix += np.einsum("...i,...j->...ij", vector * np.asarray(scale)[..., None], vector)
