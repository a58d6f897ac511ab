"""The linear and the polynomial kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs import _moments
from overcast.beliefs.base import Belief
from overcast.beliefs.cloud import Cloud
from overcast.kernels.base import Kernel, Term, no_closed_form
from overcast.kernels.composite import Scaled
from overcast.kernels.constant import Constant


@dataclass(frozen=True)
class Linear(Kernel):
    """The linear kernel k(u, v) = u^T v. Embeddings need only the means: E[k] = E[c]^T E[c'].

    `Product(Linear(), Linear())` is the kernel of `features.Bilinear`.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(left @ right.T)

    def diagonal(self, points: Array) -> Array:
        return np.asarray(np.vecdot(points, points))

    def embed(self, belief: Belief) -> Cloud:
        if not belief.exact:
            raise no_closed_form(self, belief)
        return Cloud(np.ones(1), belief.mean()[None])

    def embed_points(self, points: Array, weights: Array) -> Cloud:
        return Cloud(np.ones(1), (weights @ points)[None])

    def terms(self, a: int) -> tuple[Term, ...]:
        return (self, Constant()), (Constant(), self)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """The polynomial kernel k(u, v) = (scale u^T v + offset)^degree.

    It is a sum of products of monomials of u and v, so embeddings need only moments up to the degree.

    Parameters
    ----------
    degree : >= 1
    scale : > 0
    offset : >= 0; with zero, only the monomials of the highest degree remain

    Examples
    --------
    >>> from overcast.beliefs import Gaussian, PointMass
    >>> Polynomial(2).expected([Gaussian([1.0], 3.0)], [PointMass([2.0])])  # E[(2 c + 1)^2]
    array([[21.]])
    """

    degree: int
    scale: float = 1.0
    offset: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", _check.integer("Polynomial", "degree", self.degree, at_least=1))
        object.__setattr__(self, "scale", _check.number("Polynomial", "scale", self.scale, above=0.0))
        object.__setattr__(self, "offset", _check.number("Polynomial", "offset", self.offset, at_least=0.0))

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray((self.scale * (left @ right.T) + self.offset) ** self.degree)

    def diagonal(self, points: Array) -> Array:
        return np.asarray((self.scale * np.vecdot(points, points) + self.offset) ** self.degree)

    def embed(self, belief: Belief) -> Cloud:
        powers, roots = _expansion(self, belief.dim)
        return Cloud(np.ones(1), (roots * belief.moments(powers))[None])

    def embed_points(self, points: Array, weights: Array) -> Cloud:
        powers, roots = _expansion(self, points.shape[1])
        return Cloud(np.ones(1), (roots * _moments.of_points(points, weights, powers))[None])

    def compare(self, left: Cloud, right: Cloud) -> Array:
        return np.asarray(left.centres @ right.centres.T)

    def terms(self, a: int) -> tuple[Term, ...]:
        """Split the kernel by the binomial theorem for (s x^T x' + (s c^T c' + offset))^degree."""
        n = self.degree
        of_action, of_context = ([Polynomial(j, self.scale, o) for j in range(1, n + 1)] for o in (0.0, self.offset))
        mixed = [(Scaled(of_action[j - 1], math.comb(n, j)), of_context[n - j - 1]) for j in range(1, n)]
        return (Constant(), of_context[n - 1]), *mixed, (of_action[n - 1], Constant())


@lru_cache(maxsize=64)
def _expansion(kernel: Polynomial, dim: int) -> tuple[NDArray[np.int64], Array]:
    """Return the exponents of the kernel's monomials, (q, dim), and the square roots of their factors (q,).

    By the multinomial theorem a monomial of degree m has the factor degree! / (prod powers! (degree - m)!) times
    scale^m offset^(degree - m).
    """
    powers = _moments.exponents(dim, kernel.degree)
    factors = []
    for row in powers.tolist():
        m, rest = sum(row), kernel.degree - sum(row)
        count = math.factorial(kernel.degree) / math.prod(map(math.factorial, (*row, rest)))
        factors.append(count * kernel.scale**m * kernel.offset**rest)
    used = np.flatnonzero(factors)
    return powers[used], np.sqrt(np.array(factors)[used])
