"""Regularised least squares, one observation at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import ddot, dger
from scipy.linalg.lapack import dtpqrt

from overcast._check import Array
from overcast._linalg import Indices, add_outer, apply, at_most, dot
from overcast.features.design import Row
from overcast.features.standard import Frame, Moments
from overcast.models.base import restored, too_large
from overcast.models.linear.fit import Fit

# Rank-one updates of V^-1 accumulate rounding errors and lose digits as V grows. Factorising again after this many
# updates, or once det V has grown by this much, keeps the drift below 1e-8.
REFRESH_EVERY = 512
MAX_GROWTH = math.log(1e6)
# psi^T V^-1 psi is off by up to |psi|^2 / lambda rounding errors; larger features are factorised immediately.
MAX_SIZE = 1e6


class Ridge(Fit):
    """Ridge regression: theta-hat = V^-1 sum_s psi_s y_s with V = lambda I + sum_s psi_s psi_s^T.

    V itself is never formed: `root` is a triangular R with R^T R = sum_s psi_s psi_s^T up to the last factorisation,
    which holds twice the digits, and `rows` holds the observations since then. The root of a block is updated with
    every row, so blocks have no such rows.

    Examples
    --------
    >>> fit = Ridge((2,), ridge=1.0)
    >>> fit.add(Row(np.array([1.0, 0.0])), 3.0)
    >>> fit.theta
    array([1.5, 0. ])
    """

    ridge: float

    def __init__(self, shape: tuple[int, ...], ridge: float, leading: tuple[int, ...] = ()) -> None:
        super().__init__(shape, leading)
        self.ridge = ridge
        d = shape[-1]
        self._rows = np.empty((*leading, *shape[:-1], 0, d))  # room for observations since the last factorisation
        self._set_solution(solve(np.zeros((*leading, *shape, d)), np.zeros((*leading, *shape)), ridge))

    def _set_solution(self, solution: Solution) -> None:
        """Replace the fit by a factorised one."""
        self.root, self.target, self.inverse, self.theta, self._log_dets = solution
        self.log_det = self._total(self._log_dets)
        self._known_log_det = self.log_det
        self._pending = 0

    @property
    def rows(self) -> Array:
        """The observations since the last factorisation, shape (..., n, d)."""
        return self._rows[..., : self._pending, :]

    @property
    def design(self) -> Array:
        """V, shape (..., *shape, d)."""
        seen = np.concatenate([self.root, self.rows], axis=-2)
        return np.asarray(seen.swapaxes(-1, -2) @ seen + self.ridge * self._eye)

    def add(self, row: Row, reward: float | Array) -> None:
        """Add an observation by the Sherman-Morrison formula."""
        if row.block is not None:
            self._add_to_block(row, reward)
        elif row.psi.ndim == 1:
            self._add_one(row.psi, reward)
        else:
            self._add_to_trials(row.psi, np.asarray(reward))

    def _add_one(self, psi: Array, reward: float | Array) -> None:
        """Add an observation (d,) of one bandit, in plain calls, which cost a third of those for any leading axes."""
        if self._pending + 1 >= REFRESH_EVERY or not ddot(psi, psi) <= MAX_SIZE * self.ridge:
            self._factorise(psi, reward)
            return
        u = self.inverse.dot(psi)
        width2 = ddot(psi, u)
        log_det = self.log_det + math.log1p(width2)
        if not 0.0 <= log_det - self._known_log_det <= MAX_GROWTH:
            self._factorise(psi, reward)
            return
        target = self.target + psi * reward
        self._make_room(psi)
        # From here on nothing can fail.
        self._rows[self._pending] = psi
        self._pending += 1
        self.target = target
        # The transpose of a symmetric matrix is the column-major one that BLAS updates without a copy.
        dger(-1.0 / (1.0 + width2), u, u, a=self.inverse.T, overwrite_a=1)
        self.theta = self.inverse.dot(target)
        self.log_det = log_det

    def _add_to_trials(self, psi: Array, reward: Array) -> None:
        """Add an observation (r, d) of each trial."""
        if self._pending + 1 >= REFRESH_EVERY or not at_most(dot(psi, psi), MAX_SIZE * self.ridge):
            self._factorise(psi, reward)
            return
        u = apply(self.inverse, psi)
        width2 = dot(psi, u)
        log_det = self.log_det + np.log1p(width2)
        if not at_most(log_det - self._known_log_det, MAX_GROWTH):
            self._factorise(psi, reward)
            return
        target = self.target + psi * reward[..., None]
        self._make_room(psi)
        # From here on nothing can fail.
        self._rows[..., self._pending, :] = psi
        self._pending += 1
        self.target = target
        add_outer(self.inverse, u, -1.0 / (1.0 + width2))
        self.theta = apply(self.inverse, self.target)
        self.log_det = log_det

    def _make_room(self, psi: Array) -> None:
        """Make room for another row."""
        if self._pending == self._rows.shape[-2]:
            more = np.empty((*psi.shape[:-1], max(8, self._pending), psi.shape[-1]))
            self._rows = np.concatenate([self._rows, more], axis=-2)

    def add_all(self, rows: Row, rewards: Array) -> None:
        """Add observations by one factorisation, or one for each block."""
        psi, block = rows.psi, rows.block
        if block is None:
            self._set_solution(
                solve(np.concatenate([self.root, self.rows, psi]), self.target + rewards @ psi, self.ridge)
            )
            return
        for b in np.unique(block):
            mask = block == b
            self._set_block((int(b),), psi[mask], rewards[mask] @ psi[mask])

    def with_blocks(self, of: Indices, frame: Callable[[Moments], Frame]) -> Ridge:
        out = Ridge((len(of), self.shape[-1]), self.ridge)
        known = of >= 0
        for name in (*Solution._fields[:-1], "_log_dets"):
            getattr(out, name)[known] = getattr(self, name)[of[known]]
        out.log_det = out._known_log_det = out._total(out._log_dets)
        return out

    def _factorise(self, psi: Array, reward: float | Array) -> None:
        rows = np.concatenate([self.root, self.rows, psi[..., None, :]], axis=-2)
        self._set_solution(solve(rows, self.target + psi * np.asarray(reward)[..., None], self.ridge))

    def _add_to_block(self, row: Row, reward: float | Array) -> None:
        psi, at = row.psi, self._at(row)
        single = psi.ndim == 1
        u = apply(self.inverse[at], psi)
        width2 = dot(psi, u)
        before = self._log_dets[at]
        log_det = before + np.log1p(width2)
        with np.errstate(invalid="ignore"):  # too large numbers are refused below
            same = bool((np.floor(log_det / MAX_GROWTH) == np.floor(before / MAX_GROWTH)).all())
        if not (same and at_most(width2, MAX_SIZE) and at_most(dot(psi, psi), MAX_SIZE * self.ridge)):
            self._set_block(at, psi[..., None, :], psi * np.asarray(reward)[..., None])
            return
        target = self.target[at] + (psi * reward if single else psi * np.asarray(reward)[..., None])
        root = _append_row(self.root[at], psi)
        # From here on nothing can fail.
        inverse = self.inverse[at]  # a view of one block, or a copy of one block per trial
        add_outer(inverse, u, -1.0 / (1.0 + width2))
        self.inverse[at], self.root[at], self.target[at] = inverse, root, target
        self.theta[at] = apply(inverse, target)
        self._log_dets[at] = log_det
        self.log_det = self._total(self._log_dets)

    def _set_block(self, at: tuple[Any, ...], psi: Array, target: Array) -> None:
        """Add observations psi (..., n, d), whose products with the rewards sum to `target`, to a block."""
        solution = solve(np.concatenate([self.root[at], psi], axis=-2), self.target[at] + target, self.ridge)
        current = self.root, self.target, self.inverse, self.theta, self._log_dets
        for array, value in zip(current, solution, strict=True):
            array[at] = value
        self.log_det = self._total(self._log_dets)

    def distance(self, theta: Array) -> Array:
        error = theta.reshape(*theta.shape[:-1], *self.shape) - self.theta
        seen = np.concatenate([apply(self.root, error), apply(self.rows, error)], axis=-1)
        return np.sqrt(self._total(self.ridge * np.vecdot(error, error) + np.vecdot(seen, seen)))

    def half(self) -> Array:
        """Return the lower triangular A with A A^T = V^-1 and a positive diagonal, which is unique."""
        try:
            return np.asarray(np.linalg.cholesky(self.inverse), dtype=np.float64)
        except np.linalg.LinAlgError:  # V^-1 has half the digits of its factor
            eye = np.broadcast_to(math.sqrt(self.ridge) * self._eye, self.root.shape)
            rows = np.concatenate([self.root, self.rows, eye], axis=-2)[..., ::-1]
            size = np.linalg.norm(rows, axis=-2)
            factor = _triangle(rows / size[..., None, :])
            sign = np.sign(np.diagonal(factor, axis1=-2, axis2=-1))
            upper = np.linalg.inv(factor) * sign[..., None, :] / size[..., :, None]
            return np.asarray(upper[..., ::-1, ::-1])

    def merge(self, other: Ridge) -> None:
        rows = np.concatenate([self.root, self.rows, other.root, other.rows], axis=-2)
        self._set_solution(solve(rows, self.target + other.target, self.ridge))

    def state(self) -> dict[str, Array]:
        solution = Solution(self.root, self.target, self.inverse, self.theta, self._log_dets)
        log_dets = {"log_det": self.log_det, "known_log_det": self._known_log_det}
        return {name: np.array(value) for name, value in (solution._asdict() | log_dets | {"rows": self.rows}).items()}

    def restore(self, state: dict[str, Array]) -> None:
        kept = restored("Ridge", self.state(), state, {"rows": -2})
        self._set_solution(Solution(*(kept[name] for name in Solution._fields)))
        self.log_det, self._known_log_det, self._rows = kept["log_det"], kept["known_log_det"], kept["rows"]
        self._pending = self._rows.shape[-2]


class Solution(NamedTuple):
    """A factorised fit; `log_dets` has one number per block."""

    root: Array
    target: Array
    inverse: Array
    theta: Array
    log_dets: Array


def solve(rows: Array, target: Array, ridge: float | Array) -> Solution:
    """Fit observations `rows` (..., n, d) whose products with the rewards sum to `target` (..., d).

    A QR factorisation of the rows, with columns of unit length, makes features of very different size harmless.
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
        raise too_large("LinearModel")
    diagonal = np.abs(np.diagonal(factor, axis1=-2, axis2=-1)) * size
    log_det = 2.0 * np.log(diagonal / np.sqrt(ridge)[..., None]).sum(axis=-1)
    return Solution(root, target, half @ half.swapaxes(-1, -2), theta, np.asarray(log_det))


def _append_row(root: Array, psi: Array) -> Array:
    """Return the triangular root of R^T R + psi psi^T from a triangular R, (..., d, d)."""
    if psi.ndim == 1:
        return np.asarray(dtpqrt(0, min(8, len(psi)), root, psi[None])[0])
    return _triangle(np.concatenate([root, psi[..., None, :]], axis=-2))


def _triangle(rows: Array) -> Array:
    """Return the triangular factor of a QR decomposition."""
    return np.asarray(np.linalg.qr(rows, mode="r"))
