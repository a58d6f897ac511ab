"""Polynomial features: chosen monomials of action and context, or all up to a degree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._linalg import Indices, triangle
from overcast.beliefs._moments import Powers, exponents
from overcast.beliefs.base import Beliefs
from overcast.features.separable import Separable
from overcast.features.standard import CONSTANT, Moments, Side, hermite, orthonormal, products, shifted

_ONE = np.ones(1)


@dataclass(frozen=True)
class Quadratic(Separable):
    """Quadratic features (x_1^2, ..., x_a^2, c_1^2, ..., c_a^2, x_1 c_1, ..., x_a c_a), d = 3a (section 5).

    Actions and contexts have the same dimension.

    Examples
    --------
    >>> Quadratic()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[[ 1.,  4.,  9., 16.,  3.,  8.]]])
    """

    def action_terms(self, actions: Array) -> Array:
        return np.concatenate([actions**2, np.ones((*actions.shape[:-1], 1)), actions], axis=-1)

    def context_terms(self, contexts: Array) -> Array:
        return _terms(contexts, contexts * contexts)

    def sampled_terms(self, beliefs: Beliefs, samples: int, rng: Any) -> Array:
        return _terms(*beliefs.sample_moments(samples, rng))

    def pairs(self, a: int, c: int) -> tuple[Indices, Indices]:
        if a != c:
            raise ValueError(f"Quadratic: actions and contexts must have the same dimension, got {a} and {c}")
        i = np.arange(a)
        m = np.concatenate([np.zeros(a, dtype=np.intp), 1 + i, 1 + a + i])
        return np.concatenate([i, np.full(a, a), 1 + a + i]), m

    def standard_actions(self, actions: Array) -> Side:
        side = super().standard_actions(actions)
        one = np.zeros(side.one.shape)
        one[..., actions.shape[-1]] = 1.0
        return Side(side.matrix, one)

    def actions_change(self, j: Indices) -> Indices:
        return np.flatnonzero(j != len(j) // 3)  # all but the squares of contexts, whose action term is 1

    def _term_names(self, actions: Sequence[str], contexts: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        squares = [f"{name}^2" for name in actions], [f"{name}^2" for name in contexts]
        return [*squares[0], "1", *actions], ["1", *squares[1], *contexts]

    def _expected_terms(self, beliefs: Beliefs) -> Array:
        mean = beliefs.mean()
        return _terms(mean, beliefs.variance() + mean * mean)

    def _term_covariance(self, beliefs: Beliefs) -> Array:
        if beliefs.normal and beliefs.uncorrelated:
            return _of_independent_normal(beliefs.mean(), beliefs.variance())
        if beliefs.normal:
            return _of_normal(beliefs.mean(), beliefs.cov())
        one = np.eye(beliefs.dim, dtype=np.int64)
        return _covariance(beliefs, np.concatenate([np.zeros_like(one[:1]), 2 * one, one]))


@dataclass(frozen=True)
class Polynomial(Separable):
    """All monomials x^alpha c^gamma with |alpha| + |gamma| <= degree, the constant included.

    d = (a + c + degree choose degree). Expectations are exact if the belief knows its moments up to `degree`.

    Examples
    --------
    >>> Polynomial(2)([[2.0]], [[3.0]])  # 1, c, c^2, x, xc, x^2
    array([[[1., 3., 9., 2., 6., 4.]]])
    """

    degree: int

    def __post_init__(self) -> None:
        _check.integer("Polynomial", "degree", self.degree, at_least=1)

    def action_terms(self, actions: Array) -> Array:
        return _monomials(actions, self.degree)

    def context_terms(self, contexts: Array) -> Array:
        return _monomials(contexts, self.degree)

    def standard_actions(self, actions: Array) -> Side:
        mean, size, polynomials = self._orthonormal(actions)
        return self._side(polynomials @ shifted(mean, size, self.degree))

    def action_basis(self, actions: Array, side: Side) -> tuple[Array, Array, Array]:
        mean, size, polynomials = self._orthonormal(actions)
        coefficients = products(polynomials, exponents(actions.shape[-1], self.degree))
        return mean[..., None, :], size[..., None, :], coefficients.swapaxes(-1, -2)

    def standard_action_terms(self, actions: Array, basis: tuple[Array, Array, Array]) -> Array:
        mean, size, coefficients = basis
        standard = (actions - mean) / size  # first, because expanding the powers would lose digits
        return np.asarray(_monomials(standard, self.degree) @ coefficients)

    def standard_contexts(self, moments: Moments) -> Side:
        c = next(c for c in count(1) if len(exponents(c, self.degree)) == moments.mean.shape[-1])
        mean, variance = moments.mean[..., 1 : 1 + c], moments.variance[..., 1 : 1 + c]  # of the coordinates
        size = np.sqrt(np.where(variance > CONSTANT * mean * mean, variance, mean * mean))
        return self._side(hermite(self.degree) @ shifted(mean, np.where(size > 0.0, size, 1.0), self.degree))

    def variety(self, moments: Moments) -> Array:
        return np.asarray(moments.variance > CONSTANT * moments.mean**2, dtype=np.float64)

    def actions_change(self, j: Indices) -> Indices:
        return np.flatnonzero(j > 0)

    def _orthonormal(self, actions: Array) -> tuple[Array, Array, Array]:
        """Return mean and size of each coordinate, and coefficients of polynomials orthonormal over the actions."""
        mean, deviation, largest = actions.mean(axis=-2), actions.std(axis=-2), np.abs(actions).max(axis=-2)
        size = np.where(deviation > math.sqrt(CONSTANT) * largest, deviation, np.where(largest > 0.0, largest, 1.0))
        standard = (actions - mean[..., None, :]) / size[..., None, :]
        return mean, size, orthonormal(standard.swapaxes(-1, -2), self.degree)

    def _side(self, of_each: Array) -> Side:
        """Return the side whose terms are products of the coordinates' polynomials (..., c, n, n); the first is 1."""
        matrix = products(of_each, exponents(of_each.shape[-3], self.degree))
        one = np.zeros(matrix.shape[:-1])
        one[..., 0] = 1.0
        return Side(matrix, one)

    def size(self, a: int, c: int) -> int:
        return math.comb(a + c + self.degree, self.degree)

    def pairs(self, a: int, c: int) -> tuple[Indices, Indices]:
        of_action = exponents(a, self.degree).sum(axis=1)
        of_context = exponents(c, self.degree).sum(axis=1)
        j, m = np.nonzero(of_action[:, None] + of_context <= self.degree)
        return j, m

    def _term_names(self, actions: Sequence[str], contexts: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        return _names(actions, self.degree), _names(contexts, self.degree)

    def _expected_terms(self, beliefs: Beliefs) -> Array:
        return beliefs.moments(exponents(beliefs.dim, self.degree))

    def _term_covariance(self, beliefs: Beliefs) -> Array:
        return _covariance(beliefs, exponents(beliefs.dim, self.degree))


def _terms(first: Array, second: Array) -> Array:
    """Return (1, E[c_i^2], E[c_i]) along the last axis."""
    one = np.ones((*first.shape[:-1], 1)) if first.ndim > 1 else _ONE
    return np.concatenate([one, second, first], axis=-1)


def _of_independent_normal(mean: Array, variance: Array) -> Array:
    """Return `_of_normal` for a diagonal covariance with these variances (..., c)."""
    c = mean.shape[-1]
    d = 1 + 2 * c
    out = np.zeros((*mean.shape[:-1], d * d))  # row after row; the next diagonal element is d + 1 places away
    squares, mixed, mixed_too, linear = (
        slice(start, start + (d + 1) * (c - 1) + 1, d + 1)
        for start in (d + 1, d + 1 + c, (1 + c) * d + 1, (1 + c) * (d + 1))
    )
    twice = 2.0 * mean * variance
    out[..., squares] = 2.0 * (variance * variance + twice * mean)
    out[..., mixed] = out[..., mixed_too] = twice
    out[..., linear] = variance
    return out.reshape(*mean.shape[:-1], d, d)


def _of_normal(mean: Array, cov: Array) -> Array:
    """Return the covariance of (1, c_i^2, c_i) for normal c, shape (..., 1 + 2c, 1 + 2c).

    Cov(c_i^2, c_j^2) = 2 cov_ij (cov_ij + 2 mean_i mean_j) and Cov(c_i^2, c_j) = 2 mean_i cov_ij, by Isserlis.
    """
    c = mean.shape[-1]
    twice = 2.0 * mean[..., :, None] * cov
    out = np.zeros((*mean.shape[:-1], 1 + 2 * c, 1 + 2 * c))
    out[..., 1 : 1 + c, 1 : 1 + c] = 2.0 * (cov * cov + twice * mean[..., None, :])
    out[..., 1 : 1 + c, 1 + c :] = twice
    out[..., 1 + c :, 1 : 1 + c] = twice.swapaxes(-1, -2)
    out[..., 1 + c :, 1 + c :] = cov
    return out


def _covariance(beliefs: Beliefs, powers: Powers) -> Array:
    """Return the covariance of the monomials with these exponents (q, c), shape (..., q, q).

    It is computed from monomials about the mean, which loses no digits if the mean is large.
    """
    i, j, _ = triangle(len(powers))
    centred = beliefs.centred()
    mean = centred.moments(powers)
    about = np.empty((*mean.shape, len(powers)))
    about[..., i, j] = centred.moments(powers[i] + powers[j]) - mean[..., i] * mean[..., j]
    about[..., j, i] = about[..., i, j]
    back = products(shifted(-beliefs.mean(), np.ones(beliefs.dim), int(powers.max())), powers)
    return np.asarray(back @ about @ back.swapaxes(-1, -2))


def _names(coordinates: Sequence[str], degree: int) -> list[str]:
    rows = exponents(len(coordinates), degree).tolist()
    powers = (zip(coordinates, row, strict=True) for row in rows)
    return [" ".join(x if p == 1 else f"{x}^{p}" for x, p in row if p) or "1" for row in powers]


def _monomials(points: Array, degree: int) -> Array:
    return np.asarray(np.prod(points[..., None, :] ** exponents(points.shape[-1], degree), axis=-1))
