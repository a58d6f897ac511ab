"""What weighted least squares ask of all rounds at once."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from overcast._check import Array
from overcast.models.ridge import apply, solve
from overcast.models.symmetric import upper


class Rows:
    """Rounds (..., n, width), and what a fit asks of all of them.

    psi : (..., n, d)
    """

    def __init__(self, psi: Array, covariances: Array) -> None:
        self.psi = psi
        self._covariances = covariances

    def along(self, theta: Array) -> Array:
        """Return psi^T theta, shape (..., n)."""
        return apply(self.psi, theta)

    def quadratic(self, inverse: Array) -> Array:
        """Return psi^T P^-1 psi, shape (..., n)."""
        return np.asarray(np.vecdot(self.psi @ inverse, self.psi))

    def of_context(self, second_moment: Array) -> Array:
        """Return E[theta^T Cov theta], shape (..., n)."""
        return np.asarray((self._covariances @ upper(second_moment)[..., None])[..., 0])

    def sums(self, rewards: Array, weights: Array) -> tuple[Array, Array]:
        """Return the weighted sums of psi psi^T (..., d, d) and psi y (..., d)."""
        weighted = (self.psi * weights[..., None]).swapaxes(-1, -2)
        return weighted @ self.psi, (weighted @ rewards[..., None])[..., 0]

    def factorised(self, base: Array, target: Array, weights: Array, ridge: Array) -> tuple[Array, Array, Array]:
        """Return P^-1, theta-hat and the log-determinant, at twice the digits that sums have."""
        rows = np.concatenate([_root(base), np.sqrt(weights)[..., None] * self.psi], axis=-2)
        return solve(rows, target, ridge)[2:]


def inverse_and_log_det(matrix: Array) -> tuple[Array, Array]:
    """Return the inverse and the log-determinant of positive definite matrices (..., d, d); NaN for others."""
    if matrix.ndim == 2:  # the plain calls cost a fifth of the general ones
        root, fault = dpotrf(matrix, lower=1)
        half, _ = dpotri(root, lower=1)
        inverse = half + half.T
        np.einsum("ii->i", inverse)[:] *= np.nan if fault else 0.5
        return inverse, 2.0 * np.log(np.abs(root.diagonal())).sum()
    try:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64), np.asarray(np.linalg.slogdet(matrix)[1])
    except np.linalg.LinAlgError:
        return np.full(matrix.shape, np.nan), np.full(matrix.shape[:-2], np.nan)


def _root(matrix: Array) -> Array:
    """Return A with A^T A = matrix for positive semi-definite matrices (..., d, d)."""
    values, Q = np.linalg.eigh(matrix)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[..., None] * Q.swapaxes(-1, -2))
