"""Standard coordinates: actions and contexts without their units and zero points.

A function that is linear in the features is linear in standard features too, and parameters of standard features are of
one size whatever the units: that is what a prior can be stated for.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from overcast._check import Array
from overcast._linalg import Indices, apply

# A coordinate whose variance is below this share of its squared mean is a constant.
CONSTANT = 1e-20
# A constant that a combination of coordinates gives up to this error is one of the functions.
SPANNED = 1e-8
# A coordinate that varies by less than this share of its size counts as if it varied by so much.
LEAST_VARIATION = 0.1
# Polynomials that vanish on all actions up to this size, beside 1, are left out.
VANISHING = 1e-8
# The best approximation of a constant counts as one if its mean squared error is at most this.
NEARLY = 0.1
# What no action changes may be this much larger than what actions change: the standard deviation of its parameters
# beforehand, as a multiple of that of the others.
COMMON = 1.3
_YES = np.ones(1, dtype=bool)


class Moments(NamedTuple):
    """Mean and variance of the context terms under a belief, or over all beliefs so far, (..., q) each."""

    mean: Array
    variance: Array


class Side(NamedTuple):
    """Standard terms of one side, action or context: they are `matrix` times the terms.

    matrix : (..., p, p)
    one : (..., p) standard terms times this are 1 everywhere, or nearly so; zeros if they do not come near a constant
    exact : (..., 1) whether they are 1 everywhere, unless `one` is zero
    """

    matrix: Array
    one: Array
    exact: NDArray[np.bool_] = _YES


class Frame(NamedTuple):
    """Standard features, as seen from the contexts so far.

    terms : (..., n, n) turns the terms of a view into standard ones; (..., n) if it is diagonal
    matrix : (..., d, d) turns the features of a row into standard ones; of any block, if there are blocks; (..., d) if
        it is diagonal
    one : in the shape of theta, the parameters of the function that is 1 everywhere, or nearly so; zeros if there is
        none
    diversity : (...) share of the mean square of standard features that comes from contexts that differ, from 0 to 1
    """

    terms: Array
    matrix: Array
    one: Array
    diversity: Array

    def turn_terms(self, terms: Array) -> Array:
        """Return the terms of a view in standard form, with the leading axes of the frame, or with one (n,) more."""
        return self._turn(self.terms, terms)

    def turn_features(self, psi: Array) -> Array:
        """Return the features of a row in standard form; axes as in `turn_terms`."""
        return self._turn(self.matrix, psi)

    def _turn(self, matrix: Array, vector: Array) -> Array:
        if matrix.ndim == self.diversity.ndim + 1:  # a diagonal
            return matrix * vector
        return apply(matrix, vector) if vector.ndim < matrix.ndim else np.asarray(vector @ matrix.swapaxes(-1, -2))


def slim(matrix: Array) -> Array:
    """Return a matrix (..., d, d), by its diagonal (..., d) if it is diagonal."""
    diagonal = matrix.diagonal(axis1=-2, axis2=-1)
    return diagonal.copy() if np.count_nonzero(matrix) <= np.count_nonzero(diagonal) else matrix


def full(matrix: Array, axes: int) -> Array:
    """Return a matrix with so many axes from one that may be given by its diagonal."""
    return matrix if matrix.ndim == axes else matrix[..., None] * np.eye(matrix.shape[-1])


def scaled(size: Array) -> Side:
    """Return terms divided by their size (..., p); a term that is always zero stays as it is."""
    eye = np.eye(size.shape[-1])
    return Side(eye / np.where(size > 0.0, size, 1.0)[..., None], np.zeros(size.shape))


def widened(side: Side) -> Side:
    """Return the side of action terms with the constant among them COMMON times larger.

    Its products with context terms are what no action changes. What is only nearly constant stays as it is.
    """
    one = side.one / np.where(side.exact, COMMON, 1.0)
    return Side(side.matrix + _stretch(side.one * side.exact) @ side.matrix, one, side.exact)


def stretched(side: Side, terms: Array) -> Array:
    """Return action terms (..., k, p) with the constant COMMON times larger, for the side that `widened` returned."""
    return np.asarray(terms + terms @ _stretch(side.one * side.exact * COMMON))


def _stretch(one: Array) -> Array:
    length2 = (one**2).sum(axis=-1)[..., None, None]
    return np.asarray((COMMON - 1.0) * one[..., :, None] * one[..., None, :] / np.where(length2 > 0.0, length2, 1.0))


def variation(moments: Moments) -> Array:
    """Return how much each term varies, (..., p): its standard deviation, or a share of its size if that is larger.

    A term that is constant has its size.
    """
    mean, variance = moments
    square = mean * mean + variance
    varies = variance > CONSTANT * mean * mean
    return np.asarray(np.sqrt(np.where(varies, np.maximum(variance, LEAST_VARIATION**2 * square), square)))


def of_moments(moments: Moments) -> Side:
    """Return coordinates of mean zero and variance one if a coordinate is constant, else of variance one."""
    mean, variance = moments
    constant = (variance <= CONSTANT * mean * mean) & (mean != 0.0)
    has = constant.any(axis=-1, keepdims=True)
    first = np.eye(mean.shape[-1])[constant.argmax(axis=-1)] * has  # the constant coordinate, as a unit vector
    size = np.where(has & ~constant, np.sqrt(variance), variation(moments))
    size = np.where(size > 0.0, size, 1.0)
    level = np.where(has, (first * mean).sum(axis=-1, keepdims=True), 1.0)
    size = np.where(first > 0.0, level, size)
    matrix = np.eye(mean.shape[-1]) / size[..., None]
    matrix = matrix - (mean / size * (1.0 - first))[..., :, None] * (first / level)[..., None, :]
    return Side(matrix, first)


def constant_of_moments(moments: Moments) -> tuple[Array, Array]:
    """Return the combination u (..., p) of uncorrelated coordinates x with these moments for which u^T x comes nearest
    to 1, and its mean squared error (..., 1): u = m / v / (1 + t) and 1 / (1 + t), with t = sum m^2 / v."""
    mean, variance = moments
    u = np.divide(mean, variance, out=np.zeros(mean.shape), where=variance > CONSTANT * mean * mean)
    error = 1.0 / (1.0 + (u * mean).sum(axis=-1, keepdims=True))
    return u * error, error


def constant_of_vectors(vectors: Array) -> tuple[Array, Array]:
    """Return the same for vectors (..., k, p), by least squares."""
    size = np.sqrt((vectors**2).mean(axis=-2))
    size = np.where(size > 0.0, size, 1.0)
    u = np.linalg.pinv(vectors / size[..., None, :], rcond=1e-10).sum(axis=-1) / size
    return u, (((vectors @ u[..., None])[..., 0] - 1.0) ** 2).mean(axis=-1, keepdims=True)


def nearly(side: Side, constant: tuple[Array, Array]) -> Side:
    """Return a side of coordinates with the `one` of what is nearly a constant, unless it has a constant."""
    u, error = constant
    near = (error <= NEARLY) & ~side.one.any(axis=-1, keepdims=True)
    one = np.divide(u, side.matrix.diagonal(axis1=-2, axis2=-1), out=np.zeros(u.shape), where=near)
    return Side(side.matrix, side.one + one, ~near)


def variety(moments: Moments) -> Array:
    """Return the share of each coordinate's mean square that comes from its variance, once it is standard, (..., q)."""
    mean, variance = moments
    varies = variance > CONSTANT * mean * mean
    centred = (~varies & (mean != 0.0)).any(axis=-1, keepdims=True)
    square = mean * mean + variance
    return np.where(centred, varies, variance / np.where(square > 0.0, square, 1.0))


def of_vectors(vectors: Array, constant: tuple[Array, Array]) -> Side:
    """Return the same for vectors (..., k, p), where any combination of coordinates may be constant.

    constant : what `constant_of_vectors` returns for them
    """
    u, _ = constant
    spans = np.asarray((np.abs((vectors @ u[..., None])[..., 0] - 1.0) <= SPANNED).all(axis=-1))
    if not spans.any():
        return scaled(variation(Moments(vectors.mean(axis=-2), vectors.var(axis=-2))))
    mean, deviation = vectors.mean(axis=-2), vectors.std(axis=-2)
    size = np.sqrt((vectors**2).mean(axis=-2))
    deviation = np.where(deviation > math.sqrt(CONSTANT) * size, deviation, np.where(size > 0.0, size, 1.0))
    eye = np.eye(vectors.shape[-1])
    centred = (eye - mean[..., :, None] * u[..., None, :]) / deviation[..., None]
    matrix = _triangular(np.concatenate([u[..., None, :], centred], axis=-2))
    one = np.linalg.solve(matrix.swapaxes(-1, -2), u[..., None])[..., 0]
    alone = scaled(variation(Moments(mean, vectors.var(axis=-2))))
    return Side(np.where(spans[..., None, None], matrix, alone.matrix), np.where(spans[..., None], one, alone.one))


def products(of_each: Array, powers: Indices) -> Array:
    """Return the matrix of products of polynomials, (..., q, q), from one matrix per coordinate (..., c, n, n).

    Row e of a coordinate's matrix holds the coefficients of its polynomial of degree e; `powers` (q, c) says which
    degrees are multiplied.
    """
    c = powers.shape[-1]
    rows, columns = powers[:, None, :], powers[None, :, :]
    return np.asarray(of_each[..., np.arange(c), rows, columns].prod(axis=-1))


def shifted(mean: Array, size: Array, degree: int) -> Array:
    """Return the coefficients of ((x - mean) / size)^e in powers of x, (..., degree + 1, degree + 1)."""
    binomial, difference, exponent = _binomial(degree)
    return np.asarray(binomial * (-mean)[..., None, None] ** difference / size[..., None, None] ** exponent)


@lru_cache(maxsize=16)
def _binomial(degree: int) -> tuple[Array, Array, Array]:
    """Return e over b, e - b where it is not negative, and e, for e (rows) and b (columns) up to a degree."""
    e, b = np.indices((degree + 1, degree + 1))
    return np.asarray(comb(e, b), dtype=np.float64), np.maximum(e - b, 0).astype(np.float64), e.astype(np.float64)


def orthonormal(values: Array, degree: int) -> Array:
    """Return coefficients of polynomials of degree 0, 1, ... that are orthonormal over values (..., k), all weighed
    alike; a polynomial that the values do not determine vanishes at all of them."""
    powers = values[..., None] ** np.arange(degree + 1)  # (..., k, n)
    k = values.shape[-1]
    if k <= degree:
        powers = np.concatenate([powers, np.zeros((*values.shape[:-1], degree + 1 - k, degree + 1))], axis=-2)
    R = _triangular(powers / math.sqrt(k))
    known = np.cumprod(R.diagonal(axis1=-2, axis2=-1) > VANISHING, axis=-1).astype(bool)
    R = np.where(known[..., :, None], R, np.eye(degree + 1))
    return np.asarray(np.linalg.inv(R).swapaxes(-1, -2), dtype=np.float64)


@lru_cache(maxsize=16)
def hermite(degree: int) -> Array:
    """Return the coefficients of the polynomials that are orthonormal under the standard normal distribution."""
    out = np.zeros((degree + 1, degree + 1))
    out[0, 0] = 1.0
    for e in range(degree):
        out[e + 1, 1:] = out[e, :-1]
        if e:
            out[e + 1] -= e * out[e - 1]
    out /= np.sqrt([float(math.factorial(e)) for e in range(degree + 1)])[:, None]
    out.setflags(write=False)
    return out


def _triangular(matrix: Array) -> Array:
    """Return the upper triangular R with R^T R = matrix^T matrix and no negative number on its diagonal."""
    R = np.asarray(np.linalg.qr(matrix, mode="r"), dtype=np.float64)
    return R * np.where(R.diagonal(axis1=-2, axis2=-1) < 0.0, -1.0, 1.0)[..., None]
