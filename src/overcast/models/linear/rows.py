"""The stored rounds of a fit, and linear algebra on all of them at once."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from overcast._check import Array
from overcast._linalg import Indices, apply, upper
from overcast.features.design import Row
from overcast.models.linear.ridge import solve

# Most numbers and most rounds to store. Beyond them, the weights of the oldest rounds become final, so that memory is
# bounded. At least MIN_ROUNDS are stored.
MAX_NUMBERS = 2**22
MAX_ROUNDS = 10_000
MIN_ROUNDS = 32


class Rows:
    """n rounds: features psi (..., n, d) and their folded covariances (..., n, d (d + 1) / 2)."""

    def __init__(self, psi: Array, cov: Array | None) -> None:
        self.psi = np.ascontiguousarray(psi)  # for many products
        self._cov = cov
        #: (..., n)
        self.shape = psi.shape[:-1]

    def along(self, theta: Array) -> Array:
        """Return psi^T theta, shape (..., n)."""
        return apply(self.psi, theta)

    def quadratic(self, inverse: Array) -> Array:
        """Return psi^T P^-1 psi, shape (..., n)."""
        return np.asarray(np.vecdot(self.psi @ inverse, self.psi))

    def context_variance(self, second_moment: Array) -> Array:
        """Return E[theta^T Cov theta], shape (..., n)."""
        assert self._cov is not None
        return apply(self._cov, upper(second_moment))

    def sums(self, rewards: Array, weights: Array) -> tuple[Array, Array]:
        """Return the weighted sums of psi psi^T (..., d, d) and psi y (..., d)."""
        weighted = (self.psi * weights[..., None]).swapaxes(-1, -2)
        return weighted @ self.psi, apply(weighted, rewards)

    def factorised(self, base: Array, target: Array, weights: Array, ridge: Array) -> tuple[Array, Array, Array]:
        """Return P^-1, theta-hat and the log-determinant with twice the digits of `sums`."""
        rows = np.concatenate([_square_root(base), np.sqrt(weights)[..., None] * self.psi], axis=-2)
        return solve(rows, target, ridge)[2:]


class GroupedRows(Rows):
    """Rounds with one block each; results are in the order of the rounds.

    Every block of every trial is a group. Rounds are sorted by group, so that each group takes one product. `block`
    (..., n) holds the block of each round, below `blocks`.
    """

    def __init__(self, psi: Array, cov: Array | None, block: Indices, blocks: int) -> None:
        *leading, n, d = psi.shape
        self._leading = (*leading, blocks)
        groups = int(np.prod(self._leading))
        first = np.arange(0, groups, blocks)[:, None]  # group of the first block of each trial
        group = (first + block.reshape(len(first), n)).ravel()
        self._order = np.argsort(group, kind="stable")
        self._group = group[self._order]
        ends = np.searchsorted(self._group, np.arange(groups), side="right").tolist()
        self._parts = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        self._seen = [(at, part) for at, part in enumerate(self._parts) if part.start < part.stop]
        super().__init__(psi.reshape(-1, d)[self._order], cov)
        self.shape = (*leading, n)

    @cached_property
    def _sorted_cov(self) -> Array:
        assert self._cov is not None
        return self._cov.reshape(-1, self._cov.shape[-1])[self._order]

    def _by_round(self, values: Array) -> Array:
        """Undo the sorting by group."""
        out = np.empty_like(values)
        out[self._order] = values
        return out.reshape(self.shape)

    def _by_group(self, values: Array) -> Array:
        """Flatten values (..., n) and sort them by group."""
        return values.reshape(-1)[self._order]

    def along(self, theta: Array) -> Array:
        return self._by_round(np.vecdot(self.psi, theta.reshape(-1, self.psi.shape[-1])[self._group]))

    def quadratic(self, inverse: Array) -> Array:
        half, inverse = np.empty_like(self.psi), inverse.reshape(-1, *inverse.shape[-2:])
        for at, part in self._seen:
            np.matmul(self.psi[part], inverse[at], out=half[part])
        return self._by_round(np.vecdot(half, self.psi))

    def context_variance(self, second_moment: Array) -> Array:
        out, moments = np.empty(len(self.psi)), upper(second_moment.reshape(-1, *second_moment.shape[-2:]))
        for at, part in self._seen:
            np.matmul(self._sorted_cov[part], moments[at], out=out[part])
        return self._by_round(out)

    def sums(self, rewards: Array, weights: Array) -> tuple[Array, Array]:
        groups, d = len(self._parts), self.psi.shape[-1]
        design, target = np.zeros((groups, d, d)), np.zeros((groups, d))
        weighted, rewards = self.psi * self._by_group(weights)[:, None], self._by_group(rewards)
        for at, part in self._seen:
            across = weighted[part].T
            np.matmul(across, self.psi[part], out=design[at])
            np.matmul(across, rewards[part], out=target[at])
        return design.reshape(*self._leading, d, d), target.reshape(*self._leading, d)

    def factorised(self, base: Array, target: Array, weights: Array, ridge: Array) -> tuple[Array, Array, Array]:
        d, weights = self.psi.shape[-1], self._by_group(weights)
        bases, targets = base.reshape(-1, d, d), target.reshape(-1, d)
        ridges = np.broadcast_to(ridge[..., None], self._leading).reshape(-1)
        fits = [
            Rows(self.psi[part], None).factorised(bases[at], targets[at], weights[part], ridges[at])
            for at, part in enumerate(self._parts)
        ]
        inverse, theta, log_det = (np.stack(each) for each in zip(*fits, strict=True))
        return inverse.reshape(base.shape), theta.reshape(target.shape), log_det.reshape(self._leading)


class Kept:
    """A growing buffer of the latest rounds of a fit with this `shape`, `aware` and `leading` (`Fit`).

    Arrays have leading axes, then rounds.
    """

    def __init__(self, shape: tuple[int, ...], aware: bool, leading: tuple[int, ...]) -> None:
        d, self._blocks = shape[-1], shape[0] if len(shape) > 1 else None
        width = d + (d * (d + 1) // 2 if aware else 0)
        #: number of rounds at which to drop the oldest half
        self.capacity = max(min(MAX_ROUNDS, MAX_NUMBERS // width), MIN_ROUNDS)
        self._psi = np.empty((*leading, 0, d))
        self._cov = np.empty((*leading, 0, width - d)) if aware else None
        self._block: Indices | None = np.empty((*leading, 0), dtype=np.intp) if self._blocks else None
        self._rewards = np.empty((*leading, 0))
        self._weights = np.empty((*leading, 0))
        self._first = self._last = 0  # the rounds in use

    def __len__(self) -> int:
        return self._last - self._first

    def append(self, row: Row, reward: float | Array, weight: float | Array) -> None:
        if self._last == self._rewards.shape[-1]:
            self._make_room()
        n = self._last
        self._psi[..., n, :] = row.psi
        if self._cov is not None:
            assert row.cov is not None
            self._cov[..., n, :] = row.cov
        if self._block is not None:
            assert row.block is not None
            self._block[..., n] = row.block
        self._rewards[..., n] = reward
        self._weights[..., n] = weight
        self._last += 1

    def with_blocks(self, of: Indices) -> Kept:
        """Return a copy with other blocks: block i continues block of[i] (`Fit.with_blocks`)."""
        out, places = copy.copy(self), np.zeros(max(int(of.max()), self._blocks or 0) + 1, dtype=np.intp)
        places[of[of >= 0]] = np.flatnonzero(of >= 0)
        out._blocks = len(of)
        for name in self.axes:  # copied, so that the two are independent
            setattr(out, f"_{name}", np.array(self._used(name)))
        assert out._block is not None
        out._first, out._last, out._block = 0, len(self), places[out._block]
        return out

    def _make_room(self) -> None:
        """Move the rounds in use to the front of arrays with room for as many again."""
        n = len(self)
        for name, axis in self.axes.items():
            old = getattr(self, f"_{name}")
            shape = list(old.shape)
            shape[axis] = n + max(16, n)
            new = np.empty(shape, dtype=old.dtype)
            np.moveaxis(new, axis, 0)[:n] = np.moveaxis(old, axis, 0)[self._first : self._last]
            setattr(self, f"_{name}", new)
        self._first, self._last = 0, n

    def drop(self, n: int) -> None:
        """Forget the n oldest rounds."""
        self._first += n

    def __iter__(self) -> Iterator[tuple[Row, Array, Array]]:
        """Yield row, reward and weight of each round."""
        psi, cov, block = (self._used(name) for name in ("psi", "cov", "block"))
        for i in range(len(self)):
            row = Row(psi[..., i, :], None if cov is None else cov[..., i, :], None if block is None else block[..., i])
            yield row, self.rewards[..., i], self.weights[..., i]

    @property
    def rewards(self) -> Array:
        """Rewards of the rounds, (..., n)."""
        return self._rewards[..., self._first : self._last]

    @property
    def weights(self) -> Array:
        """The latest weights 1 / v_s of the rounds, (..., n)."""
        return self._weights[..., self._first : self._last]

    def set_weights(self, weights: Array) -> None:
        """Replace the weights, in a new array, so that a copy of this object keeps the old ones."""
        new = self._weights.copy()
        new[..., self._first : self._last] = weights
        self._weights = new

    def rows(self, n: int | None = None, matrix: Array | None = None) -> Rows:
        """Return all rounds, or the n oldest, with psi multiplied by a matrix (..., d, d), or its diagonal (..., d)."""
        return self._rows(self._used("psi", n), self._used("cov", n), self._used("block", n), matrix)

    def others(self, rows: Sequence[Row], matrix: Array | None = None) -> Rows:
        """Return other rows in the same form, without covariances."""
        psi = np.stack([row.psi for row in rows], axis=-2)
        block = None if self._block is None else np.stack([np.asarray(row.block) for row in rows], axis=-1)
        return self._rows(psi, None, block, matrix)

    def _rows(self, psi: Array, cov: Array | None, block: Any, matrix: Array | None) -> Rows:
        if matrix is not None:
            psi = psi * matrix[..., None, :] if matrix.ndim < psi.ndim else psi @ matrix.swapaxes(-1, -2)
        return Rows(psi, cov) if self._blocks is None else GroupedRows(psi, cov, block, self._blocks)

    @property
    def axes(self) -> dict[str, int]:
        """The axis of rounds in each array, by name."""
        axes = {"psi": -2, "cov": -2, "block": -1, "rewards": -1, "weights": -1}
        return {name: axis for name, axis in axes.items() if getattr(self, f"_{name}") is not None}

    def _used(self, name: str, n: int | None = None) -> Any:
        """Return the rounds in use, or the n oldest, of an array, None if it does not exist."""
        axis, array = self.axes.get(name), getattr(self, f"_{name}")
        last = self._last if n is None else self._first + n
        if axis is None:
            return None
        return array[..., self._first : last, :] if axis == -2 else array[..., self._first : last]

    def state(self) -> dict[str, Array]:
        return {name: np.array(self._used(name)) for name in self.axes}

    def restore(self, state: dict[str, Array]) -> None:
        """Restore arrays of checked names and shapes; raise ValueError if a block does not exist."""
        blocks = state.get("block", np.zeros(0))
        if self._blocks is not None and blocks.size and not 0 <= blocks.min() <= blocks.max() < self._blocks:
            raise ValueError(f"Weighted: block must lie between 0 and {self._blocks - 1}, got others")
        for name in self.axes:
            setattr(self, f"_{name}", state[name])
        self._first, self._last = 0, self._rewards.shape[-1]


def inverse_and_log_det(matrix: Array) -> tuple[Array, Array]:
    """Return the inverse and the log-determinant of positive definite matrices (..., d, d); NaN for others."""
    if matrix.ndim == 2:  # LAPACK calls cost a fifth of NumPy's
        root, fault = dpotrf(matrix, lower=1)
        if fault:
            return np.full(matrix.shape, np.nan), np.full((), np.nan)
        half, _ = dpotri(root, lower=1)
        inverse = half + half.T
        np.einsum("ii->i", inverse)[:] *= 0.5
        return inverse, 2.0 * np.log(root.diagonal()).sum()
    try:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64), np.asarray(np.linalg.slogdet(matrix)[1])
    except np.linalg.LinAlgError:
        return np.full(matrix.shape, np.nan), np.full(matrix.shape[:-2], np.nan)


def _square_root(matrix: Array) -> Array:
    """Return A with A^T A = matrix, for positive semi-definite matrices (..., d, d)."""
    values, Q = np.linalg.eigh(matrix)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[..., None] * Q.swapaxes(-1, -2))
