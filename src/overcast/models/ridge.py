"""Regularised least squares, one observation at a time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import ddot, dger

from overcast._check import Array

# Rank-one updates of V^-1 drift by a rounding error each, and lose digits as V grows between two factorisations.
# Factorising anew after so many, or once det V has grown by so much, keeps the drift below 1e-8.
REFRESH_EVERY = 512
MAX_GROWTH = math.log(1e6)

# psi^T V^-1 psi is off by up to |psi|^2 / lambda rounding errors; features larger than this are factorised at once.
MAX_SIZE = 1e6

# What the past says of a direction, as a share of what past and ridge say of it; less is lost in rounding.
MIN_SHARE = 1e-12


class Ridge:
    """theta-hat = V^-1 sum_s psi_s y_s with V = lambda I + sum_s psi_s psi_s^T, for any leading axes.

    V itself is never formed: `root` is a triangular R with R^T R = sum_s psi_s psi_s^T up to the last factorisation,
    which holds twice the digits, and the observations since then wait in `rows`.

    Examples
    --------
    >>> fit = Ridge(d=2, ridge=1.0)
    >>> fit.add(np.array([1.0, 0.0]), 3.0)
    >>> fit.theta
    array([1.5, 0. ])
    """

    def __init__(self, d: int, ridge: float, leading: tuple[int, ...] = ()) -> None:
        self.ridge = ridge
        self._rows = np.empty((*leading, 0, d))  # room for the observations since the last factorisation
        self._take(solve(np.zeros((*leading, d, d)), np.zeros((*leading, d)), ridge))

    def _take(self, solution: Solution) -> None:
        self.root, self.target, self.inverse, self.theta, self.log_det = solution
        self._known_log_det = self.log_det
        self._pending = 0

    @property
    def rows(self) -> Array:
        """The observations since the last factorisation, shape (..., n, d)."""
        return np.asarray(self._rows[..., : self._pending, :])

    @property
    def design(self) -> Array:
        """V, shape (..., d, d)."""
        seen = np.concatenate([self.root, self.rows], axis=-2)
        return np.asarray(seen.swapaxes(-1, -2) @ seen + self.ridge * np.eye(self.target.shape[-1]))

    def add(self, psi: Array, reward: float | Array) -> None:
        """Add the observation reward = psi^T theta + noise, psi (..., d), by the Sherman-Morrison formula.

        Raises ValueError, and changes nothing, where the numbers overflow.
        """
        gain = psi * (reward if psi.ndim == 1 else np.asarray(reward)[..., None])
        if self._pending + 1 >= REFRESH_EVERY or not at_most(dot(psi, psi), MAX_SIZE * self.ridge):
            self._factorise(psi, gain)
            return
        u = apply(self.inverse, psi)
        width2 = dot(psi, u)
        log_det = np.asarray(self.log_det + np.log1p(width2))
        if not at_most(log_det - self._known_log_det, MAX_GROWTH):
            self._factorise(psi, gain)
            return
        if self._pending == self._rows.shape[-2]:
            more = np.empty((*psi.shape[:-1], max(8, self._pending), psi.shape[-1]))
            self._rows = np.concatenate([self._rows, more], axis=-2)
        self._rows[..., self._pending, :] = psi
        self._pending += 1
        self.target += gain
        add_outer(self.inverse, u, -1.0 / (1.0 + width2))
        self.theta = apply(self.inverse, self.target)
        self.log_det = log_det

    def _factorise(self, psi: Array, gain: Array) -> None:
        rows = np.concatenate([self.root, self.rows, psi[..., None, :]], axis=-2)
        self._take(solve(rows, self.target + gain, self.ridge))

    def add_at(self, at: tuple[Any, ...], psi: Array, reward: float | Array) -> None:
        """Add an observation to the fits that `at` picks from the leading axes, and to no other.

        These are factorised at once; do not mix with `add`.
        """
        gain = psi * np.asarray(reward)[..., None]
        rows = np.concatenate([self.root[at], psi[..., None, :]], axis=-2)
        solution = solve(rows, self.target[at] + gain, self.ridge)
        for name, value in solution._asdict().items():
            getattr(self, name)[at] = value

    def distance(self, theta: Array) -> Array:
        """Return the norm of theta - theta-hat under V, shape (...)."""
        error = theta - self.theta
        seen = np.concatenate([apply(self.root, error), apply(self.rows, error)], axis=-1)
        return np.asarray(np.sqrt(self.ridge * np.vecdot(error, error) + np.vecdot(seen, seen)))

    def half(self) -> Array:
        """Return the lower triangular A with A A^T = V^-1 and a positive diagonal, shape (..., d, d).

        There is only one, so that it does not matter when the observations were last factorised.
        """
        try:
            return np.asarray(np.linalg.cholesky(self.inverse), dtype=np.float64)
        except np.linalg.LinAlgError:  # V^-1 has half the digits of what it was made from
            d = self.target.shape[-1]
            eye = np.broadcast_to(math.sqrt(self.ridge) * np.eye(d), self.root.shape)
            rows = np.concatenate([self.root, self.rows, eye], axis=-2)[..., ::-1]
            size = np.linalg.norm(rows, axis=-2)
            factor = _triangle(rows / size[..., None, :])
            sign = np.sign(np.diagonal(factor, axis1=-2, axis2=-1))
            upper = np.linalg.inv(factor) * sign[..., None, :] / size[..., :, None]
            return np.asarray(upper[..., ::-1, ::-1])

    def draw(self, z: Array) -> Array:
        """Return A z for z (..., d): with standard normal z, theta-hat plus it is normal with covariance V^-1."""
        return apply(self.half(), z)

    def perturb(self, z: Array) -> Array:
        """Return for z (..., d) what is in law V^-1 sum_s psi_s z_s with standard normal z and z_s."""
        return perturbed(self.half(), self.ridge, z)

    def merge(self, other: Ridge) -> None:
        """Add the observations of another fit with the same ridge."""
        rows = np.concatenate([self.root, self.rows, other.root, other.rows], axis=-2)
        self._take(solve(rows, self.target + other.target, self.ridge))

    def state(self) -> dict[str, Array]:
        names = ("root", "target", "inverse", "theta", "log_det")
        arrays = {name: np.array(getattr(self, name)) for name in names}
        return arrays | {"rows": np.array(self.rows), "known_log_det": np.array(self._known_log_det)}

    def restore(self, state: dict[str, Array]) -> None:
        n = state["rows"].shape[-2] if state["rows"].ndim > 1 else 0
        for name, fresh in self.state().items():
            want = (*fresh.shape[:-2], n, fresh.shape[-1]) if name == "rows" else fresh.shape
            if state[name].shape != want:
                raise ValueError(f"Ridge: {name} must have shape {want}, got {state[name].shape}")
        self._take(Solution(*(np.array(state[name]) for name in Solution._fields)))
        self._known_log_det = np.array(state["known_log_det"])
        self._rows = np.array(state["rows"])
        self._pending = self._rows.shape[-2]


class Solution(NamedTuple):
    """A factorised fit."""

    root: Array
    target: Array
    inverse: Array
    theta: Array
    log_det: Array


def solve(rows: Array, target: Array, ridge: float | Array) -> Solution:
    """Return the fit to observations `rows` (..., n, d) whose products with the rewards sum to `target` (..., d).

    By QR of the rows, with columns brought to one length, so that features of very different size do no harm.
    """
    d = target.shape[-1]
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            root = _triangle(rows) if rows.shape[-2] > d else rows
            prior = np.sqrt(ridge)[..., None, None] * np.eye(d)
            ridged = np.concatenate([root, np.broadcast_to(prior, (*root.shape[:-2], d, d))], axis=-2)
            size = np.linalg.norm(ridged, axis=-2)  # (..., d)
            factor = _triangle(ridged / size[..., None, :])
            half = np.linalg.inv(factor) / size[..., :, None]  # V^-1 = half half^T
            theta = apply(half, apply(half.swapaxes(-1, -2), target))
        sound = bool(np.isfinite(theta).all())
    except np.linalg.LinAlgError:
        sound = False
    if not sound:
        raise ValueError(
            "LinearModel: features must be of a size that numbers can hold, got larger; scale the contexts"
        )
    diagonal = np.abs(np.diagonal(factor, axis1=-2, axis2=-1)) * size
    log_det = 2.0 * np.log(diagonal / np.sqrt(ridge)[..., None]).sum(axis=-1)
    return Solution(root, target, half @ half.swapaxes(-1, -2), theta, np.asarray(log_det))


def perturbed(A: Array, ridge: float | Array, z: Array) -> Array:
    """Return A (I - lambda A^T A)^1/2 z for A A^T = V^-1: in law V^-1 sum_s psi_s z_s with standard normal z and z_s.

    Both have the covariance V^-1 (V - lambda I) V^-1. The symmetric root is the only one, and its eigenvalues lie
    between zero, where nothing was seen, and one, where the ridge has no say.
    """
    share, Q = np.linalg.eigh(np.eye(z.shape[-1]) - np.asarray(ridge)[..., None, None] * (A.swapaxes(-1, -2) @ A))
    root = np.sqrt(np.where(share > MIN_SHARE, share, 0.0))
    return apply(A, apply(Q, root * apply(Q.swapaxes(-1, -2), z)))


def _triangle(rows: Array) -> Array:
    return np.asarray(np.linalg.qr(rows, mode="r"))


# One fit is served by the plain calls on vectors and matrices, which cost a third of the general ones.


def apply(matrix: Array, vector: Array) -> Array:
    """Return matrix @ vector for any leading axes."""
    return np.asarray(matrix @ vector if vector.ndim == 1 else (matrix @ vector[..., None])[..., 0])


def dot(left: Array, right: Array) -> float | Array:
    """Return the inner product along the last axis, a plain number for two vectors."""
    return float(ddot(left, right)) if left.ndim == 1 else np.vecdot(left, right)


def at_most(value: float | Array, limit: float) -> bool:
    """Return whether 0 <= value <= limit everywhere; False for NaN."""
    if isinstance(value, np.ndarray) and value.ndim:
        return bool(((value >= 0.0) & (value <= limit)).all())
    return bool(0.0 <= value <= limit)


def add_outer(matrix: Array, vector: Array, scale: float | Array) -> None:
    """Add scale * vector vector^T in place, for any leading axes."""
    if vector.ndim == 1:
        # Symmetric, so its transpose is the column-major matrix that BLAS updates without a copy.
        dger(scale, vector, vector, a=matrix.T, overwrite_a=1)
    else:
        matrix += np.einsum("...i,...j->...ij", vector * np.asarray(scale)[..., None], vector)
