"""Clouds: what kernels need of a belief."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array

Complex = NDArray[np.complex128]


class Cloud(NamedTuple):
    """The distribution sum_i weights_i N(centres_i, spread_i): weighted points, or normal distributions, or both.

    weights : (n,) adding up to one
    centres : (n, c)
    spread : None for points, (n, c) variances, or (n, c, c) covariances
    """

    weights: Array
    centres: Array
    spread: Array | None = None

    def rows(self, at: slice) -> Cloud:
        """Return some of the components, with the weights they have here."""
        return Cloud(self.weights[at], self.centres[at], None if self.spread is None else self.spread[at])

    def characteristic(self, frequencies: Array) -> Complex:
        """Return E[exp(i w^T c)] for each row w of `frequencies` (m, c), shape (m,).

        A normal component has exp(i w^T centre - w^T spread w / 2).
        """
        waves = np.exp(1j * (frequencies @ self.centres.T))  # (m, n)
        if self.spread is not None and self.spread.ndim == 2:
            waves *= np.exp(-0.5 * (frequencies**2 @ self.spread.T))
        elif self.spread is not None:
            waves *= np.exp(-0.5 * np.einsum("mi,nij,mj->mn", frequencies, self.spread, frequencies))
        return np.asarray(waves @ self.weights)


def of_kind(spread: Array | None, kind: int, shape: tuple[int, ...]) -> Array | None:
    """Return the spread of centres of this (n, c) shape as kind 0 (points), 1 (variances) or 2 (covariances)."""
    n, c = shape
    if kind == 0:
        return None
    if spread is None:
        return np.zeros((n, c) if kind == 1 else (n, c, c))
    if spread.ndim == 2 and kind == 2:
        out = np.zeros((n, c, c))
        out[:, np.arange(c), np.arange(c)] = spread
        return out
    return spread


def kind_of(spread: Array | None) -> int:
    """Return 0 for points, 1 for variances, 2 for covariances."""
    return 0 if spread is None else spread.ndim - 1


def mixed(clouds: Sequence[Cloud], weights: Array) -> Cloud:
    """Return the mixture of clouds."""
    kind = max(kind_of(cloud.spread) for cloud in clouds)
    spreads = [of_kind(cloud.spread, kind, cloud.centres.shape) for cloud in clouds]
    return Cloud(
        np.concatenate([w * cloud.weights for w, cloud in zip(weights, clouds, strict=True)]),
        np.concatenate([cloud.centres for cloud in clouds]),
        None if kind == 0 else np.concatenate([spread for spread in spreads if spread is not None]),
    )


def beside(clouds: Sequence[Cloud]) -> Cloud:
    """Return the product of clouds over parts of the context: every choice of one component of each."""
    sizes = [len(cloud.weights) for cloud in clouds]
    at = np.indices(sizes).reshape(len(sizes), -1)
    picked = [
        Cloud(cloud.weights[i], cloud.centres[i], None if cloud.spread is None else cloud.spread[i])
        for cloud, i in zip(clouds, at, strict=True)
    ]
    kind = max(kind_of(cloud.spread) for cloud in clouds)
    centres = np.concatenate([part.centres for part in picked], axis=1)
    spreads = [of_kind(part.spread, kind, part.centres.shape) for part in picked]
    found = [spread for spread in spreads if spread is not None]
    spread: Array | None = None
    if kind == 1:
        spread = np.concatenate(found, axis=1)
    elif kind == 2:
        n, c = centres.shape
        spread, first = np.zeros((n, c, c)), 0
        for block in found:
            last = first + block.shape[1]
            spread[:, first:last, first:last] = block
            first = last
    return Cloud(np.prod([part.weights for part in picked], axis=0), centres, spread)
