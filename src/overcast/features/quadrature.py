"""Quadrature Fourier features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.features._waves import Spectrum, Waves, pieces
from overcast.features.base import check_hashable
from overcast.kernels.base import JointKernel, Kernel
from overcast.kernels.composite import Product
from overcast.kernels.rbf import RBF
from overcast.kernels.stationary import scales_for

# More features than this do not pay: V^-1 alone would hold 100,000,000 numbers.
MAX_SIZE = 10_000


@dataclass(frozen=True)
class QuadratureFourier(Waves):
    """Fourier features of an RBF kernel from Gauss-Hermite quadrature (Mutny & Krause, 2018).

    k is the integral of cos(w^T (x - x') + v^T (c - c')) over its spectral density, which is normal: m nodes z_i with
    weights q_i for each dimension make nodes of weight q = prod_i q_i at the frequencies z_i / l_i. Nodes come in pairs
    (w, v) and (-w, -v), one of which gives the features sqrt(2 q) cos and sqrt(2 q) sin, so that d = m^(a + c).

    At a distance of r_i length scales in dimension i the error is at most sum_i r_i^(2m) m! / (2m)!, which vanishes
    faster than exponentially once m > 0.7 r_i^2. As d is a power of m, this is for up to four dimensions.

    Parameters
    ----------
    kernel : `RBF`, a `Product` of two, or a multiple of these
    m : nodes for each dimension

    Examples
    --------
    >>> from overcast.kernels import RBF, Product
    >>> phi = QuadratureFourier(Product(RBF(0.5), RBF(1.0)), m=12)
    >>> phi.size(1, 1)
    144
    >>> round(float(np.sum(phi([[0.0]], [[0.0]]) * phi([[0.5]], [[1.0]]))), 8)  # k = exp(-1)
    0.36787944
    """

    kernel: JointKernel
    m: int

    def __post_init__(self) -> None:
        check_hashable("QuadratureFourier", self.kernel)
        object.__setattr__(self, "m", _check.integer("QuadratureFourier", "m", self.m, at_least=1))
        if isinstance(self.kernel, (Kernel, Product)):
            self._piece(1)  # these split alike whatever the dimension, so that faults show at once

    def _piece(self, a: int) -> tuple[float, list[RBF]]:
        found = pieces(self.kernel, a)
        rbfs = [part for _, parts in found for part in parts if isinstance(part, RBF)]
        if len(found) > 1 or len(rbfs) < len(found[0][1]):
            raise TypeError(
                "QuadratureFourier: kernel must be RBF, a Product of two RBF or a multiple of these, got "
                f"{_check.short(self.kernel)}; take Fourier or Nystrom"
            )
        return found[0][0], rbfs

    def size(self, a: int, c: int) -> int:
        d: int = self.m ** (a + c)
        if d > MAX_SIZE:
            most = int(MAX_SIZE ** (1.0 / (a + c)) + 1e-9)
            raise ValueError(
                f"QuadratureFourier: m must be {most} at most for actions and contexts of {a} + {c} dimensions, got "
                f"{self.m}, which makes {self.m}^{a + c} = {d} features; take Fourier or Nystrom for more"
            )
        self.spectrum(a, c)
        return d

    def spectrum(self, a: int, c: int) -> Spectrum:
        return _spectrum(self, a, c)


@lru_cache(maxsize=16)
def _spectrum(features: QuadratureFourier, a: int, c: int) -> Spectrum:
    factor, parts = features._piece(a)
    dims = [a + c] if len(parts) == 1 else [a, c]
    scales = np.concatenate([scales_for("RBF", part.lengthscale, p) for part, p in zip(parts, dims, strict=True)])
    nodes, weights = np.polynomial.hermite_e.hermegauss(features.m)
    # In this order the node at place i is the opposite of the i-th from the end: the first half has one of each pair,
    # and in the middle, for odd m, there is zero.
    half = (features.m ** (a + c) + 1) // 2
    at = np.indices((features.m,) * (a + c)).reshape(a + c, -1)[:, :half]
    frequencies = nodes[at].T / scales  # (half, a + c)
    squares = 2.0 * factor * np.prod(weights[at] / math.sqrt(2.0 * math.pi), axis=0)
    if features.m % 2:
        squares[-1] /= 2.0
    return Spectrum(*map(_closed, (frequencies[:, :a], frequencies[:, a:], np.sqrt(squares))))


def _closed(array: Array) -> Array:
    return _check.read_only(array.copy())
