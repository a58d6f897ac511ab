"""Standardise actions and contexts, so that units and zero points do not matter.

A function that is linear in the features is linear in standard features too, and the size of parameters of standard
features does not depend on units, so that one prior suits all problems.
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

# A coordinate with a variance below this share of its squared mean is a constant.
CONSTANT = 1e-20
# Tolerance for a linear combination of coordinates that equals a constant.
SPANNED = 1e-8
# The smallest standard deviation of a coordinate, as a share of its size.
LEAST_VARIATION = 0.1
# Polynomials no larger than this on all actions are left out.
VANISHING = 1e-8
# Largest mean squared error of a near constant.
NEARLY = 0.1
# Prior standard deviation of parameters that no action changes, as a multiple of that of the others.
COMMON = 1.3
_YES = np.ones(1, dtype=bool)


class Moments(NamedTuple):
    """Mean and variance of the context terms under one belief, or over all past beliefs, (..., q) each."""

    mean: Array
    variance: Array


class Side(NamedTuple):
    """The standard terms of actions, or of contexts: `matrix` times the terms.

    matrix : (..., p, p)
    one : (..., p) coefficients with which standard terms give 1, at least nearly; zeros if there are none
    exact : (..., 1) whether they give exactly 1
    """

    matrix: Array
    one: Array
    exact: NDArray[np.bool_] = _YES


class Frame(NamedTuple):
    """The transformation to standard features, for the contexts so far.

    terms : (..., n, n) from the terms of a view to standard ones; (..., n) if diagonal
    matrix : (..., d, d) from the features of a row, or of its block, to standard ones; (..., d) if diagonal
    one : in the shape of theta, the parameters of the function that is 1, at least nearly; zeros if there is none
    diversity : (...) share of the mean square of standard features by differences between contexts, from 0 to 1
    """

    terms: Array
    matrix: Array
    one: Array
    diversity: Array

    def turn_terms(self, terms: Array) -> Array:
        """Convert the terms of a view to standard ones; leading axes are those of the frame, or one (n,) more."""
        return self._turn(self.terms, terms)

    def turn_features(self, psi: Array) -> Array:
        """Convert the features of a row to standard ones; axes as in `turn_terms`."""
        return self._turn(self.matrix, psi)

    def _turn(self, matrix: Array, vector: Array) -> Array:
        if matrix.ndim == self.diversity.ndim + 1:  # a diagonal
            return matrix * vector
        return apply(matrix, vector) if vector.ndim < matrix.ndim else np.asarray(vector @ matrix.swapaxes(-1, -2))


def compress_diagonal(matrix: Array) -> Array:
    """Return a matrix (..., d, d), or its diagonal (..., d) if all else is zero."""
    diagonal = matrix.diagonal(axis1=-2, axis2=-1)
    return diagonal.copy() if np.count_nonzero(matrix) <= np.count_nonzero(diagonal) else matrix


def expand_diagonal(matrix: Array, axes: int) -> Array:
    """Undo `compress_diagonal`: return a matrix with so many axes."""
    return matrix if matrix.ndim == axes else matrix[..., None] * np.eye(matrix.shape[-1])


def scaled(size: Array) -> Side:
    """Return the side of terms divided by their sizes (..., p), without the terms of size zero."""
    eye = np.eye(size.shape[-1])
    return Side(eye / np.where(size > 0.0, size, 1.0)[..., None], np.zeros(size.shape))


def enlarge_constant(side: Side) -> Side:
    """Make the constant among action terms COMMON times larger.

    Its products with context terms are the features that no action changes. Near constants stay as they are.
    """
    one = side.one / np.where(side.exact, COMMON, 1.0)
    return Side(side.matrix + _stretch(side.one * side.exact) @ side.matrix, one, side.exact)


def enlarge_constant_term(side: Side, terms: Array) -> Array:
    """Make the constant in action terms (..., k, p) COMMON times larger, by the side from `enlarge_constant`."""
    return np.asarray(terms + terms @ _stretch(side.one * side.exact * COMMON))


def _stretch(one: Array) -> Array:
    """Return (COMMON - 1) times the projection on `one`, (..., p, p)."""
    length2 = (one**2).sum(axis=-1)[..., None, None]
    return np.asarray((COMMON - 1.0) * one[..., :, None] * one[..., None, :] / np.where(length2 > 0.0, length2, 1.0))


def variation(moments: Moments) -> Array:
    """Return each term's standard deviation, (..., p), but at least a share of its size.

    For a constant term it is the size.
    """
    mean, variance = moments
    square = mean * mean + variance
    varies = variance > CONSTANT * mean * mean
    return np.asarray(np.sqrt(np.where(varies, np.maximum(variance, LEAST_VARIATION**2 * square), square)))


def side_of_moments(moments: Moments) -> Side:
    """Standardise coordinates with these moments to variance one, and to mean zero if one of them is constant."""
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
    """Return u (..., p) for which u^T x is nearest to 1, and its mean squared error (..., 1).

    For uncorrelated coordinates x with these moments, u = m / v / (1 + t) and the error is 1 / (1 + t), with
    t = sum m^2 / v.
    """
    mean, variance = moments
    u = np.divide(mean, variance, out=np.zeros(mean.shape), where=variance > CONSTANT * mean * mean)
    error = 1.0 / (1.0 + (u * mean).sum(axis=-1, keepdims=True))
    return u * error, error


def constant_of_vectors(vectors: Array) -> tuple[Array, Array]:
    """Return u (..., p) for which u^T x is nearest to 1 over vectors x (..., k, p), and its mean squared error."""
    size = np.sqrt((vectors**2).mean(axis=-2))
    size = np.where(size > 0.0, size, 1.0)
    u = np.linalg.pinv(vectors / size[..., None, :], rcond=1e-10).sum(axis=-1) / size
    return u, (((vectors @ u[..., None])[..., 0] - 1.0) ** 2).mean(axis=-1, keepdims=True)


def add_near_constant(side: Side, constant: tuple[Array, Array]) -> Side:
    """Set `one` of a side without a constant to the near constant from `constant_of_...`, if the error is small."""
    u, error = constant
    near = (error <= NEARLY) & ~side.one.any(axis=-1, keepdims=True)
    one = np.divide(u, side.matrix.diagonal(axis1=-2, axis2=-1), out=np.zeros(u.shape), where=near)
    return Side(side.matrix, side.one + one, ~near)


def variety(moments: Moments) -> Array:
    """Return the variance of each standard coordinate as a share of its mean square, (..., q)."""
    mean, variance = moments
    varies = variance > CONSTANT * mean * mean
    centred = (~varies & (mean != 0.0)).any(axis=-1, keepdims=True)
    square = mean * mean + variance
    return np.where(centred, varies, variance / np.where(square > 0.0, square, 1.0))


def side_of_vectors(vectors: Array, constant: tuple[Array, Array]) -> Side:
    """Standardise coordinates on vectors (..., k, p), of which any linear combination may be constant.

    constant : the result of `constant_of_vectors` for them
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


def products(polynomials: Array, powers: Indices) -> Array:
    """Return the coefficients of products of polynomials, (..., q, q), from those of each coordinate (..., c, n, n).

    Row e of a coordinate's matrix holds the coefficients of its polynomial of degree e; `powers` (q, c) holds the
    degrees of each product.
    """
    c = powers.shape[-1]
    rows, columns = powers[:, None, :], powers[None, :, :]
    return np.asarray(polynomials[..., np.arange(c), rows, columns].prod(axis=-1))


def shifted(mean: Array, size: Array, degree: int) -> Array:
    """Return the coefficients of ((x - mean) / size)^e in powers of x, (..., degree + 1, degree + 1)."""
    binomial, difference, exponent = _binomial(degree)
    return np.asarray(binomial * (-mean)[..., None, None] ** difference / size[..., None, None] ** exponent)


@lru_cache(maxsize=16)
def _binomial(degree: int) -> tuple[Array, Array, Array]:
    """Return e over b, max(e - b, 0), and e, for e (rows) and b (columns) up to a degree."""
    e, b = np.indices((degree + 1, degree + 1))
    return np.asarray(comb(e, b), dtype=np.float64), np.maximum(e - b, 0).astype(np.float64), e.astype(np.float64)


def orthonormal(values: Array, degree: int) -> Array:
    """Return coefficients of polynomials of degree 0, 1, ... that are orthonormal over values (..., k).

    A polynomial that the values do not determine is zero at all of them.
    """
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
    """Return the upper triangular R of a QR decomposition, with a diagonal >= 0: R^T R = matrix^T matrix."""
    R = np.asarray(np.linalg.qr(matrix, mode="r"), dtype=np.float64)
    return R * np.where(R.diagonal(axis1=-2, axis2=-1) < 0.0, -1.0, 1.0)[..., None]
