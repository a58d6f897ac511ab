"""Clouds: mixtures of points and normal distributions, the form in which kernels take a belief."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array

Complex = NDArray[np.complex128]


class Cloud(NamedTuple):
    """The distribution sum_i weights_i N(centres_i, cov_i): weighted points, normal distributions, or both.

    weights : (n,), which add up to one
    centres : (n, c)
    cov : None for points, variances (n, c), or covariances (n, c, c)
    """

    weights: Array
    centres: Array
    cov: Array | None = None

    def rows(self, at: slice | NDArray[np.intp]) -> Cloud:
        """Return some of the components, with their weights as they are."""
        return Cloud(self.weights[at], self.centres[at], None if self.cov is None else self.cov[at])

    def characteristic(self, frequencies: Array) -> Complex:
        """Return E[exp(i w^T c)] for each row w of `frequencies` (m, c), shape (m,).

        A normal component contributes exp(i w^T centre - w^T cov w / 2).
        """
        waves = np.exp(1j * (frequencies @ self.centres.T))  # (m, n)
        if self.cov is not None and self.cov.ndim == 2:
            waves *= np.exp(-0.5 * (frequencies**2 @ self.cov.T))
        elif self.cov is not None:
            waves *= np.exp(-0.5 * np.einsum("mi,nij,mj->mn", frequencies, self.cov, frequencies))
        return np.asarray(waves @ self.weights)


def kind_of(cov: Array | None) -> int:
    """Return 0 for points, 1 for variances, 2 for covariances."""
    return 0 if cov is None else cov.ndim - 1


def of_kind(cov: Array | None, kind: int, shape: tuple[int, ...]) -> Array | None:
    """Convert the `cov` of centres of shape (n, c) to kind 0 (points), 1 (variances) or 2 (covariances)."""
    n, c = shape
    if kind == 0:
        return None
    if cov is None:
        return np.zeros((n, c) if kind == 1 else (n, c, c))
    return cov[:, None] * np.eye(c) if cov.ndim == 2 and kind == 2 else cov


def _same_kind(clouds: Sequence[Cloud]) -> list[Array]:
    """Convert the `cov` of each cloud to the most general kind among them; return [] if all are points."""
    kind = max(kind_of(cloud.cov) for cloud in clouds)
    covs = (of_kind(cloud.cov, kind, cloud.centres.shape) for cloud in clouds)
    return [cov for cov in covs if cov is not None]


def mixture(clouds: Sequence[Cloud], weights: Array) -> Cloud:
    """Return the mixture of clouds."""
    covs = _same_kind(clouds)
    return Cloud(
        np.concatenate([w * cloud.weights for w, cloud in zip(weights, clouds, strict=True)]),
        np.concatenate([cloud.centres for cloud in clouds]),
        np.concatenate(covs) if covs else None,
    )


def product(clouds: Sequence[Cloud]) -> Cloud:
    """Return the product of clouds over parts of the context: every choice of one component from each."""
    sizes = [len(cloud.weights) for cloud in clouds]
    at = np.indices(sizes).reshape(len(sizes), -1)
    picked = [cloud.rows(i) for cloud, i in zip(clouds, at, strict=True)]
    centres, covs = np.concatenate([part.centres for part in picked], axis=1), _same_kind(picked)
    cov: Array | None = None
    if covs and covs[0].ndim == 2:
        cov = np.concatenate(covs, axis=1)
    elif covs:
        n, c = centres.shape
        cov, first = np.zeros((n, c, c)), 0
        for block in covs:
            last = first + block.shape[1]
            cov[:, first:last, first:last] = block
            first = last
    return Cloud(np.prod([part.weights for part in picked], axis=0), centres, cov)
