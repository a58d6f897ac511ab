"""Polynomial features, monomial by monomial, and quadratic ones, pair by pair."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from overcast._check import Array
from overcast.beliefs import Ensemble, Gaussian, PointMass
from overcast.beliefs._moments import exponents
from overcast.features import FeatureMap, Polynomial, Quadratic
from overcast.features.standard import products, shifted
from support import refused

POINTS = np.random.default_rng(0).normal(size=(6, 2))
EXAMPLES: list[tuple[FeatureMap, Array]] = [(phi, POINTS[:3]) for phi in (Quadratic(), Polynomial(1), Polynomial(3))]

RNG = np.random.default_rng(0)
ALL = RNG.normal(size=(4, 3))
ACTIONS = ALL[:, :2]
CONTEXTS = RNG.normal(size=(5, 3))


def _monomials(x: Array, c: Array, degree: int) -> set[tuple[int, ...]]:
    a, b = len(x), len(c)
    return {p for p in itertools.product(range(degree + 1), repeat=a + b) if sum(p) <= degree}


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_polynomials_hold_every_monomial_once(degree: int) -> None:
    actions, contexts = ACTIONS, CONTEXTS
    features = Polynomial(degree)
    d = math.comb(2 + 3 + degree, degree)
    assert features.size(2, 3) == d
    j, m = features.pairs(2, 3)
    powers = np.concatenate([exponents(2, degree)[j], exponents(3, degree)[m]], axis=1)
    assert {tuple(int(p) for p in row) for row in powers} == _monomials(actions[0], contexts[0], degree)
    assert len(powers) == d
    got = features(actions, contexts)
    for i, x in enumerate(actions):
        for n, c in enumerate(contexts):
            values = [math.prod(v ** int(p) for v, p in zip([*x, *c], row, strict=True)) for row in powers]
            np.testing.assert_allclose(got[i, n], values, rtol=1e-13)


def test_polynomials_by_hand() -> None:
    x, c = 2.0, 3.0
    np.testing.assert_array_equal(
        Polynomial(3)([[x]], [[c]])[0, 0],
        [1, c, c**2, c**3, x, x * c, x * c**2, x**2, x**2 * c, x**3],
    )


@pytest.mark.parametrize(("value", "kind"), [(0, ValueError), (1.0, TypeError), (True, TypeError), ("2", TypeError)])
def test_bad_degrees(value: Any, kind: type[Exception]) -> None:
    with refused(kind, "Polynomial", "degree"):
        Polynomial(value)


def test_quadratic_features_of_every_pair_of_action_and_context() -> None:
    expected = np.array([[[v * v for v in (*x, *c)] + [x[i] * c[i] for i in range(3)] for c in CONTEXTS] for x in ALL])
    got = Quadratic()(ALL, CONTEXTS)
    assert got.shape == expected.shape
    assert Quadratic().size(3, 3) == expected.shape[2]
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-15)


def test_quadratic_needs_one_dimension() -> None:
    with refused(ValueError, "Quadratic", "3 and 2"):
        Quadratic()(ALL, CONTEXTS[:, :2])
    with refused(ValueError, "Quadratic", "3 and 2"):
        Quadratic().expected(ALL, PointMass([1.0, 2.0]))


def test_quadratic_terms_of_a_narrow_gaussian_far_from_zero_keep_their_digits() -> None:
    """Cov(c^2, c^2) = 2 v (v + 2 m^2), where E[c^4] - E[c^2]^2 would be lost in rounding."""
    got = Quadratic().term_covariance(Gaussian([1e6], 1e-8))
    np.testing.assert_allclose(got, [[0.0, 0.0, 0.0], [0.0, 4e4, 2e-2], [0.0, 2e-2, 1e-8]], rtol=1e-12)


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("kind", ["normal", "correlated", "ensemble"])
def test_covariances_do_not_suffer_from_a_zero_point_that_is_far_away(degree: int, kind: str) -> None:
    """The variance of a polynomial that is written in powers of c - 290, whether c is so large or not."""
    rng, shift, mean = np.random.default_rng(0), np.array([290.0, -1000.0]), np.array([1.0, -0.5])
    make: dict[str, Any] = {
        "normal": lambda by: Gaussian(by + mean, [0.7, 2.0]),
        "correlated": lambda by: Gaussian(by + mean, [[1.0, 0.4], [0.4, 2.0]]),
        "ensemble": lambda by: Ensemble(by + np.random.default_rng(1).normal(size=(7, 2))),
    }
    features, powers = Polynomial(degree), exponents(2, degree)
    theta = rng.normal(size=len(powers))
    near = theta @ features.term_covariance(make[kind](np.zeros(2))) @ theta
    back = theta @ products(shifted(shift, np.ones(2), degree), powers)  # in powers of c itself
    far = back @ features.term_covariance(make[kind](shift)) @ back
    assert far == pytest.approx(near, rel=1e-8 if degree == 2 else 1e-2)
