"""Fourier features, which approximate a stationary kernel, with frequencies at random or from quadrature."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief, NoClosedForm
from overcast.beliefs.cloud import Cloud, Complex
from overcast.features.base import check_hashable, no_closed_form
from overcast.features.dense import Dense, Prepared
from overcast.kernels.base import AnyKernel, Kernel
from overcast.kernels.composite import JointScaled, JointSum, Product
from overcast.kernels.constant import Constant
from overcast.kernels.rbf import RBF

# Binary digits of a Sobol point.
BITS = 30
# Most features from quadrature, for which V^-1 alone holds 100,000,000 numbers.
MAX_SIZE = 10_000
# Kernels whose pieces do not depend on the dimension, and can be checked in the constructor.
PACKAGED = Kernel, Product, JointScaled, JointSum

# A factor and the kernels that it multiplies: one kernel of (x, c), or one of x and one of c.
Piece = tuple[float, tuple[Kernel, ...]]


class Spectrum(NamedTuple):
    """Waves amplitude_j exp(i (w_j^T x + v_j^T c)); a wave of frequency zero has no sine, and comes last."""

    of_action: Array  # w, (f, a)
    of_context: Array  # v, (f, c)
    amplitudes: Array  # (f,)


class Waves(Dense):
    """A map of cosines and sines: phi(x, c) = (amplitude_j cos(w_j^T x + v_j^T c))_j, then the same with sines.

    Expectations follow from the characteristic function of a belief, E_mu[exp(i v^T c)] = phi_mu(v), at the
    frequencies, whatever the actions, and are exact if it is known.
    """

    @abstractmethod
    def _waves(self, a: int, c: int) -> tuple[Array, Array]:
        """Return the frequencies (w, v), shape (f, a + c), and the squares of the amplitudes, (f,)."""

    def spectrum(self, a: int, c: int) -> Spectrum:
        """Return the waves for actions of dimension `a` and contexts of dimension `c`."""
        return _spectrum(self, a, c)

    def _embed(self, belief: Belief, a: int) -> Complex:
        try:
            return belief.characteristic(self.spectrum(a, belief.dim).of_context)
        except NoClosedForm:
            raise no_closed_form(self, belief) from None

    def _embed_draws(self, draws: Array, a: int) -> Complex:
        n, c = draws.shape
        return Cloud(np.full(n, 1.0 / n), draws).characteristic(self.spectrum(a, c).of_context)

    def _prepare(self, actions: Array, c: int) -> PreparedWaves:
        return PreparedWaves(self, actions, c)

    def _evaluate(self, actions: Array, contexts: Array) -> Array:
        frequencies = self.spectrum(actions.shape[1], contexts.shape[1]).of_context
        return self._prepare(actions, contexts.shape[1]).expected(np.exp(1j * (contexts @ frequencies.T)))


@lru_cache(maxsize=64)
def _spectrum(features: Waves, a: int, c: int) -> Spectrum:
    frequencies, squares = features._waves(a, c)
    parts = frequencies[:, :a], frequencies[:, a:], np.sqrt(squares)
    return Spectrum(*(_check.read_only(part.copy()) for part in parts))


class PreparedWaves(Prepared):
    """The waves of fixed actions, amplitude_j exp(i w_j^T x), (k, f)."""

    def __init__(self, features: Waves, actions: Array, c: int) -> None:
        super().__init__(features, actions, c)
        w, _, amplitudes = features.spectrum(actions.shape[1], c)
        self._d = features.size(actions.shape[1], c)
        self._table = amplitudes * np.exp(1j * (actions @ w.T))

    def expected(self, embedded: Complex) -> Array:
        """Return the features from exp(i v_j^T c) or its average: (f,) gives (k, d), (n, f) gives (k, n, d)."""
        f = self._table.shape[1]
        waves = (self._table if embedded.ndim == 1 else self._table[:, None]) * embedded
        out = np.empty((*waves.shape[:-1], self._d))
        out[..., :f] = waves.real
        out[..., f:] = waves.imag[..., : self._d - f]
        return out


def pieces(kernel: AnyKernel, a: int) -> list[Piece]:
    """Expand a kernel into a sum of factors times products of kernels, for actions in R^a."""
    if isinstance(kernel, JointScaled):
        return [(kernel.scale * factor, parts) for factor, parts in pieces(kernel.kernel, a)]
    if isinstance(kernel, JointSum):
        return [piece for part in kernel.kernels for piece in pieces(part, a)]
    if isinstance(kernel, Kernel):
        return [(factor, (atom,)) for factor, atom in kernel.atoms()]
    return [
        (f * g, (of_action, of_context))
        for action, context in kernel.terms(a)
        for f, of_action in action.atoms()
        for g, of_context in context.atoms()
    ]


@dataclass(frozen=True)
class Fourier(Waves):
    """Random Fourier features of a stationary kernel (Rahimi & Recht, 2008): E[phi(x, c)^T phi(x', c')] = k.

    phi(x, c) = sqrt(2 / n) (cos(w_j^T x + v_j^T c), sin(w_j^T x + v_j^T c)) for j = 1..n/2, where (w_j, v_j) follow the
    kernel's spectral density, and d = n. A `LinearModel` on them costs the same in every round, while a `KernelModel`
    costs more with every round. Expectations are exact for every belief whose characteristic function is known.

    For RBF kernels the draws are randomised Sobol points: each has the right distribution, and together they fill space
    evenly. With n = 300, and actions and contexts in a unit interval each of two length scales, the error is a fifth of
    the error of independent draws; in unit squares, two fifths. The terms of a sum share the n/2 frequencies in
    proportion to their factors, as if drawn from the sum of their densities; a constant takes one frequency.

    Parameters
    ----------
    kernel : a kernel made of RBF, Matern and Constant, e.g. `Product(RBF(0.5), RBF(1.0))`
    n : number of features, even
    seed : seed of the frequencies

    Examples
    --------
    >>> from overcast.kernels import RBF, Product
    >>> phi = Fourier(Product(RBF(0.5), RBF(1.0)), n=300)
    >>> round(float(np.sum(phi([[0.0]], [[0.0]]) * phi([[0.5]], [[1.0]]))), 3)  # k = exp(-1) = 0.368
    0.363
    """

    kernel: AnyKernel
    n: int
    seed: int = 0

    def __post_init__(self) -> None:
        check_hashable("Fourier", self.kernel)
        n = _check.integer("Fourier", "n", self.n, at_least=2)
        if n % 2:
            raise ValueError(f"Fourier: n must be even, a cosine and a sine for each frequency, got {n}; try {n + 1}")
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "seed", _check.integer("Fourier", "seed", self.seed, at_least=0))
        if isinstance(self.kernel, PACKAGED):
            self._pieces(1)

    def _pieces(self, a: int) -> list[Piece]:
        out = pieces(self.kernel, a)
        for part in (part for _, parts in out for part in parts):
            if type(part).frequencies is Kernel.frequencies:
                raise TypeError(
                    f"Fourier: kernel must be made of kernels with a spectral density such as RBF and Matern, got "
                    f"{type(part).__name__}; take Nystrom"
                )
        if len(out) > self.n // 2:
            raise ValueError(f"Fourier: n must be at least {2 * len(out)}, two for each term, got {self.n}")
        return out

    def size(self, a: int, c: int) -> int:
        self.spectrum(a, c)
        return self.n

    def _waves(self, a: int, c: int) -> tuple[Array, Array]:
        terms, rng = self._pieces(a), np.random.default_rng(self.seed)
        counts = _shares(terms, self.n // 2)
        frequencies = [_draw(parts, m, a, c, rng) for (_, parts), m in zip(terms, counts, strict=True)]
        squares = [np.full(m, factor / m) for (factor, _), m in zip(terms, counts, strict=True)]
        return np.concatenate(frequencies), np.concatenate(squares)


def _shares(terms: list[Piece], m: int) -> list[int]:
    """Divide m frequencies among the pieces: at least one each, in proportion to factors, to minimise the error."""
    factors = np.array([0.0 if all(isinstance(p, Constant) for p in parts) else factor for factor, parts in terms])
    counts = np.ones(len(terms), dtype=np.intp)
    for _ in range(m - len(terms)):
        counts[np.argmax(factors / counts)] += 1
    return [int(count) for count in counts]


def _draw(parts: tuple[Kernel, ...], n: int, a: int, c: int, rng: np.random.Generator) -> Array:
    """Draw n frequencies of (x, c), (n, a + c)."""
    normal = _even_normals(n, a + c, rng)
    columns = [normal] if len(parts) == 1 else np.split(normal, [a], axis=1)
    return np.concatenate(
        [part.frequencies(normals, rng) for part, normals in zip(parts, columns, strict=True)], axis=1
    )


def _even_normals(n: int, dim: int, rng: np.random.Generator) -> Array:
    """Return n standard normal vectors from randomised Sobol points, (n, dim)."""
    from scipy.stats import qmc  # imported here, because it takes longer than the rest of the package

    points = qmc.Sobol(dim, scramble=False, bits=BITS).random_base2(math.ceil(math.log2(n)))[:n]
    # Flipping the same random digits of all points makes each of them uniform. SciPy's scrambling may change between
    # releases, but a saved bandit recovers its frequencies from the seed alone.
    flipped = (points * 2**BITS).astype(np.int64) ^ rng.integers(2**BITS, size=dim)
    return np.asarray(ndtri((flipped + 0.5) / 2**BITS))


@dataclass(frozen=True)
class QuadratureFourier(Waves):
    """Fourier features of an RBF kernel from Gauss-Hermite quadrature (Mutny & Krause, 2018).

    k is the integral of cos(w^T (x - x') + v^T (c - c')) over its spectral density, which is normal: m nodes z_i with
    weights q_i for each dimension make nodes of weight q = prod_i q_i at the frequencies z_i / l_i. Nodes come in pairs
    (w, v) and (-w, -v), one of which gives the features sqrt(2 q) cos and sqrt(2 q) sin, so that d = m^(a + c).

    At a distance of r_i length scales in dimension i the error is at most sum_i r_i^(2m) m! / (2m)!, which vanishes
    faster than exponentially once m > 0.7 r_i^2. Since d is a power of m, the map suits at most four dimensions.

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

    kernel: AnyKernel
    m: int

    def __post_init__(self) -> None:
        check_hashable("QuadratureFourier", self.kernel)
        object.__setattr__(self, "m", _check.integer("QuadratureFourier", "m", self.m, at_least=1))
        if isinstance(self.kernel, PACKAGED):
            self._piece(1)

    def _piece(self, a: int) -> tuple[float, list[RBF]]:
        terms = pieces(self.kernel, a)
        rbfs = [part for _, parts in terms for part in parts if isinstance(part, RBF)]
        if len(terms) > 1 or len(rbfs) < len(terms[0][1]):
            raise TypeError(
                "QuadratureFourier: kernel must be RBF, a Product of two RBF or a multiple of these, got "
                f"{_check.short(self.kernel)}; take Fourier or Nystrom"
            )
        return terms[0][0], rbfs

    def size(self, a: int, c: int) -> int:
        d: int = self.m ** (a + c)
        if d > MAX_SIZE:
            most = int(MAX_SIZE ** (1.0 / (a + c)) + 1e-9)
            raise ValueError(
                f"QuadratureFourier: m must be at most {most} for actions and contexts of {a} + {c} dimensions, got "
                f"{self.m}, which makes {self.m}^{a + c} = {d} features; take Fourier or Nystrom for more"
            )
        self.spectrum(a, c)
        return d

    def _waves(self, a: int, c: int) -> tuple[Array, Array]:
        factor, parts = self._piece(a)
        dims = [a + c] if len(parts) == 1 else [a, c]
        scales = np.concatenate([part.scales(p) for part, p in zip(parts, dims, strict=True)])
        nodes, weights = np.polynomial.hermite_e.hermegauss(self.m)
        # In this order, node i is the opposite of the i-th node from the end: the first half holds one node of each
        # pair. For odd m, zero is in the middle.
        half = (self.m ** (a + c) + 1) // 2
        at = np.indices((self.m,) * (a + c)).reshape(a + c, -1)[:, :half]
        squares = 2.0 * factor * np.prod(weights[at] / math.sqrt(2.0 * math.pi), axis=0)
        if self.m % 2:
            squares[-1] /= 2.0
        return nodes[at].T / scales, squares
