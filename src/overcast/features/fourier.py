"""Random Fourier features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from overcast import _check
from overcast._check import Array
from overcast.features._waves import Piece, Spectrum, Waves, pieces
from overcast.features.base import check_hashable
from overcast.kernels.base import JointKernel, Kernel
from overcast.kernels.composite import Product
from overcast.kernels.constant import Constant
from overcast.kernels.rbf import RBF
from overcast.kernels.stationary import scales_for

# Binary digits of a Sobol point.
BITS = 30


@dataclass(frozen=True)
class Fourier(Waves):
    """Random Fourier features of a stationary kernel (Rahimi & Recht, 2008): E[phi(x, c)^T phi(x', c')] = k.

    phi(x, c) = sqrt(2 / n) (cos(w_j^T x + v_j^T c), sin(w_j^T x + v_j^T c)) for j = 1..n/2, where (w_j, v_j) follow the
    kernel's spectral density, and d = n. A `LinearModel` on them costs the same in every round, where a `KernelModel`
    costs more and more. Expectations are exact for every belief whose characteristic function is known.

    For RBF kernels the draws are randomised Sobol points: each has the right distribution, and together they fill space
    evenly. With n = 300, and actions and contexts in a unit interval each of two length scales, the error is a fifth of
    that of independent draws; in unit squares, two fifths. The terms of a sum share the n/2 frequencies in proportion
    to their factors, as if drawn from the sum of their densities; a constant takes one.

    Parameters
    ----------
    kernel : made of RBF, Matern and Constant, e.g. `Product(RBF(0.5), RBF(1.0))`
    n : number of features, even
    seed : of the frequencies

    Examples
    --------
    >>> from overcast.kernels import RBF, Product
    >>> phi = Fourier(Product(RBF(0.5), RBF(1.0)), n=300)
    >>> round(float(np.sum(phi([[0.0]], [[0.0]]) * phi([[0.5]], [[1.0]]))), 3)  # k = exp(-1) = 0.368
    0.363
    """

    kernel: JointKernel
    n: int
    seed: int = 0

    def __post_init__(self) -> None:
        check_hashable("Fourier", self.kernel)
        n = _check.integer("Fourier", "n", self.n, at_least=2)
        if n % 2:
            raise ValueError(f"Fourier: n must be even, a cosine and a sine for each frequency, got {n}; try {n + 1}")
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "seed", _check.integer("Fourier", "seed", self.seed, at_least=0))
        if isinstance(self.kernel, (Kernel, Product)):
            self._pieces(1)  # these split alike whatever the dimension, so that faults show at once

    def _pieces(self, a: int) -> list[Piece]:
        out = pieces(self.kernel, a)
        for part in (part for _, parts in out for part in parts):
            if type(part).frequencies is Kernel.frequencies:
                raise TypeError(
                    f"Fourier: kernel must be made of kernels with a spectral density such as RBF and Matern, got "
                    f"{type(part).__name__}; take Nystrom"
                )
        if len(out) > self.n // 2:
            raise ValueError(f"Fourier: n must be {2 * len(out)} at least, two for each term, got {self.n}")
        return out

    def size(self, a: int, c: int) -> int:
        self.spectrum(a, c)
        return self.n

    def spectrum(self, a: int, c: int) -> Spectrum:
        return _spectrum(self, a, c)


@lru_cache(maxsize=64)
def _spectrum(features: Fourier, a: int, c: int) -> Spectrum:
    found = features._pieces(a)
    rng = np.random.default_rng(features.seed)
    counts = _shares(found, features.n // 2)
    frequencies = np.concatenate([_draw(parts, m, a, c, rng) for (_, parts), m in zip(found, counts, strict=True)])
    squares = np.concatenate([np.full(m, factor / m) for (factor, _), m in zip(found, counts, strict=True)])
    w, v, amplitudes = frequencies[:, :a].copy(), frequencies[:, a:].copy(), np.sqrt(squares)
    return Spectrum(_check.read_only(w), _check.read_only(v), _check.read_only(amplitudes))


def _shares(found: list[Piece], m: int) -> list[int]:
    """Share m frequencies: one each, and the rest in proportion to the factors, which makes the error least."""
    factors = np.array([0.0 if all(isinstance(p, Constant) for p in parts) else factor for factor, parts in found])
    counts = np.ones(len(found), dtype=np.intp)
    for _ in range(m - len(found)):
        counts[np.argmax(factors / counts)] += 1
    return [int(count) for count in counts]


def _draw(parts: tuple[Kernel, ...], n: int, a: int, c: int, rng: np.random.Generator) -> Array:
    """Return n frequencies of (x, c), (n, a + c)."""
    normal = _even_normals(n, a + c, rng)
    columns = [normal] if len(parts) == 1 else np.split(normal, [a], axis=1)
    return np.concatenate([_transform(part, own, rng) for part, own in zip(parts, columns, strict=True)], axis=1)


def _transform(kernel: Kernel, normal: Array, rng: np.random.Generator) -> Array:
    n, dim = normal.shape
    if isinstance(kernel, RBF):
        return np.asarray(normal / scales_for("RBF", kernel.lengthscale, dim))
    return kernel.frequencies(n, dim, rng)


def _even_normals(n: int, dim: int, rng: np.random.Generator) -> Array:
    """Return n standard normal vectors that fill space evenly, (n, dim)."""
    from scipy.stats import qmc  # which takes longer to import than the rest of the package

    points = qmc.Sobol(dim, scramble=False, bits=BITS).random_base2(math.ceil(math.log2(n)))[:n]
    # Flipping the same digits of all points makes each of them uniform. SciPy scrambles as well, but differently from
    # release to release maybe, and a saved bandit knows its frequencies by the seed alone.
    flipped = (points * 2**BITS).astype(np.int64) ^ rng.integers(2**BITS, size=dim)
    return np.asarray(ndtri((flipped + 0.5) / 2**BITS))
