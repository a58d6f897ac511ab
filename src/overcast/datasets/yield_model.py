"""The bilinear model of crop yields, y = w^T W V_x (appendix, "Crops Yield Dataset")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from overcast._check import Array
from overcast.datasets.crops import CropData

RANK = 5

# The weight of the regulariser. The paper prints 1, but then W = V = 0 is the minimum for yields up to 1: explaining y
# by |u| = |v| = s costs (y - s^2)^2 + 2 s^2 per measurement, which is least at s = 0. The cross-validated R^2 is
# highest near 0.01 in the Swiss and in the Californian trials.
PENALTY = 0.01

FOLDS = 5
MAX_SWEEPS = 200
# Sweeps end when one of them lowers the loss by less than this share.
CONVERGED = 1e-6
# Added to the diagonal of the normal equations of W, relative to it, as collinear factors leave W undetermined.
JITTER = 1e-9


@dataclass(frozen=True, eq=False)
class YieldModel:
    """The fitted V and W, with the share of the variance of normalised yields that they explain.

    varieties : (k, q) V
    loading : (p, q) W
    penalty : weight of the regulariser
    r2 : R^2 on the fitted measurements
    cross_validated_r2 : R^2 on held-out measurements; replicates are held out together
    """

    varieties: Array
    loading: Array
    penalty: float
    r2: float
    cross_validated_r2: float


def fit_yields(data: CropData, rank: int = RANK, penalty: float = PENALTY, seed: int = 0) -> YieldModel:
    """Fit the model, and compute its R^2 within the sample and in 5-fold cross-validation.

    The loss is the paper's, sum_i (y_i - w_i^T W V_{x_i})^2 + penalty (|V_{x_i}|^2 + |w_i^T W|^2), over the
    measurements i. It depends on the weather through w^T W alone, so the units of the factors do not matter.
    """
    with threadpool_limits(1):  # the last digits must not depend on the number of threads
        cells, rng = Cells.of(data), np.random.default_rng(seed)
        start = rng.standard_normal((len(data.varieties), rank))
        varieties, loading = minimise(cells, data.factors, start, penalty)
        fold = rng.permutation(len(cells.count)) % FOLDS
        predicted = np.empty(len(cells.count))
        for held_out in range(FOLDS):
            V, W = minimise(cells.take(fold != held_out), data.factors, start, penalty)
            predicted[fold == held_out] = cells.take(fold == held_out).predict(V, data.factors @ W)
        fitted = cells.predict(varieties, data.factors @ loading)
        r2, cross_validated = cells.r2(fitted, data.normalised), cells.r2(predicted, data.normalised)
        return YieldModel(varieties, loading, penalty, r2, cross_validated)


@dataclass(frozen=True, eq=False)
class Cells:
    """Measurements grouped by variety and season: number and mean of each cell, (cells,)."""

    season: NDArray[np.intp]
    variety: NDArray[np.intp]
    count: Array
    mean: Array

    @classmethod
    def of(cls, data: CropData) -> Cells:
        pairs = np.stack([data.season, data.variety])
        (season, variety), cell, count = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
        mean = np.bincount(cell.ravel(), data.normalised) / count
        return cls(season, variety, count.astype(np.float64), mean)

    def take(self, kept: NDArray[np.bool_]) -> Cells:
        return Cells(self.season[kept], self.variety[kept], self.count[kept], self.mean[kept])

    def predict(self, varieties: Array, contexts: Array) -> Array:
        """Return u . v of each cell, from V (k, q) and the contexts w^T W (n, q)."""
        return np.asarray(np.vecdot(contexts[self.season], varieties[self.variety]))

    def r2(self, predicted: Array, measured: Array) -> float:
        """Return 1 - residual / total, both sums of squares over the single measurements."""
        # sum (y - p)^2 = sum y^2 - sum n mean^2 + sum n (mean - p)^2, cell by cell
        residual = measured @ measured + self.count @ ((self.mean - predicted) ** 2 - self.mean**2)
        return float(1.0 - residual / ((measured - measured.mean()) ** 2).sum())


def minimise(cells: Cells, factors: Array, start: Array, penalty: float) -> tuple[Array, Array]:
    """Minimise the loss over V (k, q) and W (p, q) in turn, in each of which it is quadratic."""
    V, last = start, np.inf
    for _ in range(MAX_SWEEPS):
        W = _solve_loading(cells, factors, V, penalty)
        U = factors @ W
        V = _solve_varieties(cells, U, len(V), penalty)
        now = loss(cells, V, U, penalty)
        if now > (1.0 - CONVERGED) * last:
            break
        last = now
    return V, W


def loss(cells: Cells, varieties: Array, contexts: Array, penalty: float) -> float:
    """Return the paper's loss without the variance of replicates, which is constant."""
    residuals = cells.mean - cells.predict(varieties, contexts)
    sizes = np.vecdot(varieties, varieties)[cells.variety] + np.vecdot(contexts, contexts)[cells.season]
    return float(cells.count @ (residuals**2 + penalty * sizes))


def _solve_varieties(cells: Cells, contexts: Array, k: int, penalty: float) -> Array:
    """Return the best V (k, q) for given w^T W; V_x is zero for a variety without cells."""
    squares, products = _normal(cells, contexts[cells.season], cells.variety, k, penalty)
    # A variety without cells has no equations; the identity makes V_x zero.
    squares[np.bincount(cells.variety, minlength=k) == 0] = np.eye(contexts.shape[1])
    return np.asarray(np.linalg.solve(squares, products[..., None])[..., 0])


def _solve_loading(cells: Cells, factors: Array, varieties: Array, penalty: float) -> Array:
    """Return the best W (p, q) for given V: one linear system, sum_s w_s w_s^T W M_s = sum_s w_s b_s^T."""
    n, p = factors.shape
    q = varieties.shape[1]
    squares, products = _normal(cells, varieties[cells.variety], cells.season, n, penalty)
    outer = factors[:, :, None] * factors[:, None, :]
    system = (outer.reshape(n, -1).T @ squares.reshape(n, -1)).reshape(p, p, q, q)
    matrix = system.transpose(0, 2, 1, 3).reshape(p * q, p * q)
    matrix[np.diag_indices(p * q)] += JITTER * (np.trace(matrix) / (p * q) or 1.0)
    return np.asarray(np.linalg.solve(matrix, (factors.T @ products).ravel()).reshape(p, q))


def _normal(cells: Cells, rows: Array, group: NDArray[np.intp], groups: int, penalty: float) -> tuple[Array, Array]:
    """Return sum n (r r^T + penalty I) and sum n y r over the cells of each group, (groups, q, q) and (groups, q)."""
    q = rows.shape[1]
    indicator = np.zeros((groups, len(group)))
    indicator[group, np.arange(len(group))] = cells.count
    squares = (indicator @ (rows[:, :, None] * rows[:, None, :]).reshape(-1, q * q)).reshape(groups, q, q)
    squares += penalty * indicator.sum(axis=1)[:, None, None] * np.eye(q)
    return squares, indicator @ (cells.mean[:, None] * rows)
