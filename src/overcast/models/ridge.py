"""Regularised least squares, one observation at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg.blas import dger

from overcast._check import Array

# Rank-one updates of V^-1 drift by a rounding error each; starting again from V this often keeps it below 1e-8.
REFRESH_EVERY = 512


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
        self.design = np.zeros((*leading, d, d))  # V
        self.design[..., np.arange(d), np.arange(d)] = ridge
        self.target = np.zeros((*leading, d))  # sum of psi_s y_s
        self.refresh()

    def refresh(self) -> None:
        """Compute inverse, estimate and log-determinant anew from V and the targets."""
        d = self.target.shape[-1]
        inverse = np.linalg.inv(self.design)
        self.inverse: Array = (inverse + inverse.swapaxes(-1, -2)) / 2
        self.theta: Array = _apply(self.inverse, self.target)
        self.log_det: Array = np.asarray(np.linalg.slogdet(self.design)[1] - d * math.log(self.ridge))
        self._updates = 0

    def add(self, psi: Array, reward: float | Array) -> None:
        """Add the observation reward = psi^T theta + noise, psi (..., d), by the Sherman-Morrison formula."""
        _add_outer(self.design, psi, 1.0)
        self.target += psi * (reward if psi.ndim == 1 else np.asarray(reward)[..., None])
        self._updates += 1
        if self._updates >= REFRESH_EVERY:
            self.refresh()
            return
        u = _apply(self.inverse, psi)
        width2 = _dot(psi, u)
        _add_outer(self.inverse, u, -1.0 / (1.0 + width2))
        self.theta = _apply(self.inverse, self.target)
        self.log_det = self.log_det + np.log1p(width2)

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
            self.refresh()

    def distance(self, theta: Array) -> Array:
        """Return the norm of theta - theta-hat under V, shape (...)."""
        error = theta - self.theta
        return np.asarray(np.sqrt(np.vecdot(error, _apply(self.design, error))))

    def merge(self, other: Ridge) -> None:
        """Add the observations of another fit with the same ridge: V and the targets are sums."""
        d = self.target.shape[-1]
        self.design += other.design - self.ridge * np.eye(d)
        self.target += other.target
        self.refresh()

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


def _dot(left: Array, right: Array) -> Array:
    """Return the inner product along the last axis."""
    return np.asarray(left @ right if left.ndim == 1 else np.vecdot(left, right))


def _add_outer(matrix: Array, vector: Array, scale: float | Array) -> None:
    """Add scale * vector vector^T in place, for any leading axes."""
    if vector.ndim == 1:
        # Symmetric, so its transpose is the column-major matrix that BLAS updates without a copy.
        dger(scale, vector, vector, a=matrix.T, overwrite_a=1)
    else:
        matrix += np.einsum("...i,...j->...ij", vector * np.asarray(scale)[..., None], vector)
