"""Weighted least squares where every action has a block of parameters of its own, and all share noise and ridge."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from overcast._check import Array
from overcast.models.rows import Rows
from overcast.models.symmetric import upper
from overcast.models.weighted import Settings, Weighted


class WeightedBlocks(Weighted):
    """`Weighted` with features that are zero outside one of k blocks of c each: then so is P, block by block.

    A round is [block, psi (c,), folded covariance (c (c + 1) / 2,)], and costs c^2 until all are weighed anew. The
    arrays theta (k, c), inverse (k, c, c) and log_det (k,) are those of the blocks; ridge, sigma2 and slack are shared.

    Parameters
    ----------
    k, c : number of blocks, and of features in each

    Examples
    --------
    >>> fit = WeightedBlocks(2, 1, Settings(ridge=1.0, sigma=1.0), noisy=False)
    >>> fit.add(np.array([1.0, 1.0]), 3.0)
    >>> fit.theta
    array([[0. ],
           [1.5]])
    """

    def __init__(self, k: int, c: int, settings: Settings, noisy: bool) -> None:
        super().__init__(c, settings, noisy, blocks=(k,))

    @property
    def width(self) -> int:
        """Numbers of a round: its block, psi there, and the folded covariance of the features there."""
        return 1 + super().width

    def _rows(self, rounds: Array) -> Rows:
        return GroupedRows(rounds, len(self._base), self._d)

    def _at(self, evidence: Array) -> tuple[Array, Array, Array, Array]:
        block = int(evidence[0])
        return *super()._at(evidence[1:])[:2], self.theta[block], self.inverse[block]

    def _move(self, evidence: Array, step: Array, growth: float | Array) -> None:
        block = int(evidence[0])
        self.theta, self.log_det = self.theta.copy(), self.log_det.copy()
        self.theta[block] += step
        self.log_det[block] += growth

    def _total_of(self, parts: Array) -> Array:
        return np.asarray(parts.sum(axis=-1))


class GroupedRows(Rows):
    """Rounds (n, width) of `WeightedBlocks`; weights and answers are in the order of the rounds.

    psi : (n, c), block after block
    """

    def __init__(self, rounds: Array, k: int, c: int) -> None:
        block = rounds[:, 0].astype(np.intp)
        self._order = np.argsort(block, kind="stable")
        self._block = block[self._order]
        ends = np.searchsorted(self._block, np.arange(k), side="right").tolist()
        self._parts = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        self._seen = [(block, part) for block, part in enumerate(self._parts) if part.start < part.stop]
        super().__init__(rounds[self._order, 1 : 1 + c], rounds[:, 1 + c :])

    @cached_property
    def _grouped(self) -> Array:
        """The covariances, block after block."""
        return np.asarray(self._covariances[self._order])

    def _by_round(self, values: Array) -> Array:
        out = np.empty_like(values)
        out[self._order] = values
        return out

    def along(self, theta: Array) -> Array:
        return self._by_round(np.vecdot(self.psi, theta[self._block]))

    def quadratic(self, inverse: Array) -> Array:
        half = np.empty_like(self.psi)
        for block, part in self._seen:
            np.matmul(self.psi[part], inverse[block], out=half[part])
        return self._by_round(np.vecdot(half, self.psi))

    def of_context(self, second_moment: Array) -> Array:
        out, moments = np.empty(len(self.psi)), upper(second_moment)
        for block, part in self._seen:
            np.matmul(self._grouped[part], moments[block], out=out[part])
        return self._by_round(out)

    def sums(self, rewards: Array, weights: Array) -> tuple[Array, Array]:
        k, c = len(self._parts), self.psi.shape[-1]
        design, target = np.zeros((k, c, c)), np.zeros((k, c))
        weighted = self.psi * weights[self._order, None]
        rewards = rewards[self._order]
        for block, part in self._seen:
            across = weighted[part].T
            np.matmul(across, self.psi[part], out=design[block])
            np.matmul(across, rewards[part], out=target[block])
        return design, target

    def factorised(self, base: Array, target: Array, weights: Array, ridge: Array) -> tuple[Array, Array, Array]:
        weights = weights[self._order]
        rows = [Rows(self.psi[part], self._covariances) for part in self._parts]
        fits = [
            own.factorised(base[block], target[block], weights[part], ridge)
            for block, (own, part) in enumerate(zip(rows, self._parts, strict=True))
        ]
        inverse, theta, log_det = zip(*fits, strict=True)
        return np.stack(inverse), np.stack(theta), np.stack(log_det)
