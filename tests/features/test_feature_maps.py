"""phi(x, c) against formulas written out pair by pair, the separable structure, and what the maps refuse."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from overcast._check import Array
from overcast.beliefs import Ensemble, Gaussian, PointMass
from overcast.beliefs._moments import exponents
from overcast.beliefs.stacked import Catalogue
from overcast.features import (
    Bilinear,
    Disjoint,
    FeatureMap,
    Function,
    Linear,
    Polynomial,
    Quadratic,
    Separable,
)
from support import refused

RNG = np.random.default_rng(0)
ACTIONS = RNG.normal(size=(4, 3))
CONTEXTS = RNG.normal(size=(5, 3))


def _quadratic(x: Array, c: Array) -> list[float]:
    return [v * v for v in x] + [v * v for v in c] + [x[i] * c[i] for i in range(len(x))]


def _bilinear(x: Array, c: Array) -> list[float]:
    return [u * v for u in x for v in c]


def _linear(x: Array, c: Array) -> list[float]:
    return [*x, *c]


def _monomials(x: Array, c: Array, degree: int) -> set[tuple[int, ...]]:
    a, b = len(x), len(c)
    return {p for p in itertools.product(range(degree + 1), repeat=a + b) if sum(p) <= degree}


def _disjoint(x: Array, c: Array) -> list[float]:
    return [v if x[i] else 0.0 for i in range(len(x)) for v in c]


def _waves(x: Array, c: Array) -> Array:
    angle = x[:, None, :2] * c[None, :, :2]
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)


CASES: dict[str, tuple[FeatureMap, Array, Callable[[Array, Array], list[float]]]] = {
    "quadratic": (Quadratic(), ACTIONS, _quadratic),
    "bilinear": (Bilinear(), ACTIONS[:, :2], _bilinear),
    "linear": (Linear(), ACTIONS[:, :2], _linear),
    "disjoint": (Disjoint(4), np.eye(4)[[2, 0, 3, 1]], _disjoint),
    "function": (
        Function(_waves, dim=4),
        ACTIONS,
        lambda x, c: [f(x[i] * c[i]) for f in (math.sin, math.cos) for i in range(2)],
    ),
}
SEPARABLE: dict[str, Separable] = {
    "quadratic": Quadratic(),
    "bilinear": Bilinear(),
    "linear": Linear(),
    "polynomial 1": Polynomial(1),
    "polynomial 2": Polynomial(2),
    "polynomial 3": Polynomial(3),
}
each_separable = pytest.mark.parametrize("features", SEPARABLE.values(), ids=SEPARABLE.keys())


@pytest.mark.parametrize(("features", "actions", "naive"), CASES.values(), ids=CASES.keys())
def test_every_pair_of_action_and_context(
    features: FeatureMap, actions: Array, naive: Callable[[Array, Array], list[float]]
) -> None:
    expected = np.array([[naive(x, c) for c in CONTEXTS] for x in actions])
    got = features(actions, CONTEXTS)
    assert got.shape == expected.shape
    assert features.size(actions.shape[1], CONTEXTS.shape[1]) == expected.shape[2]
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_polynomials_hold_every_monomial_once(degree: int) -> None:
    actions, contexts = ACTIONS[:, :2], CONTEXTS
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


@each_separable
def test_every_feature_is_an_action_term_times_a_context_term(features: Separable) -> None:
    z, s = features.action_terms(ACTIONS), features.context_terms(CONTEXTS)
    j, m = features.pairs(3, 3)
    phi = features(ACTIONS, CONTEXTS)
    for k, n, i in itertools.product(range(len(ACTIONS)), range(len(CONTEXTS)), range(phi.shape[2])):
        assert phi[k, n, i] == pytest.approx(z[k, j[i]] * s[n, m[i]], rel=1e-14)


@each_separable
def test_width_from_the_terms_alone(features: Separable) -> None:
    """psi^T V^-1 psi = z^T (S^T V^-1 S) z with S = diag(E[s]_m) E, E the 0/1 matrix from terms to features."""
    belief = Gaussian(CONTEXTS[0], np.cov(CONTEXTS.T))
    j, m = features.pairs(3, 3)
    z = features.action_terms(ACTIONS)
    root = np.random.default_rng(1).normal(size=(len(j), len(j)))
    inverse = np.linalg.inv(np.eye(len(j)) + root @ root.T)
    terms = features.expected_terms(belief)
    S = np.zeros((len(j), z.shape[1]))
    for i in range(len(j)):
        S[i, j[i]] = terms[m[i]]
    psi = features.expected(ACTIONS, belief)
    np.testing.assert_allclose(z @ S.T, psi, rtol=1e-12, atol=1e-14)
    for k in range(len(ACTIONS)):
        assert psi[k] @ inverse @ psi[k] == pytest.approx(z[k] @ (S.T @ inverse @ S) @ z[k], rel=1e-10)


@each_separable
def test_sampled_terms_are_the_mean_of_the_terms_of_the_draws(features: Separable) -> None:
    members = Ensemble(CONTEXTS)
    draws = members.sample(9, np.random.default_rng(2))
    got = features.sampled_terms(members, 9, np.random.default_rng(2))
    np.testing.assert_allclose(got, sum(features.context_terms(c) for c in draws) / 9, rtol=1e-13, atol=1e-15)
    stack = Catalogue([members, PointMass(CONTEXTS[0])]).pick(np.array([0, 1]))
    together = features.sampled_terms(stack, 9, [np.random.default_rng(2), np.random.default_rng(3)])
    np.testing.assert_allclose(together, [got, features.context_terms(CONTEXTS[0])], rtol=1e-13, atol=1e-15)


@each_separable
def test_terms_take_leading_axes(features: Separable) -> None:
    stack = np.random.default_rng(3).normal(size=(2, 4, 3))
    np.testing.assert_array_equal(features.action_terms(stack), [features.action_terms(x) for x in stack])
    np.testing.assert_array_equal(features.context_terms(stack), [features.context_terms(c) for c in stack])


def test_configurations_compare_by_value() -> None:
    assert Polynomial(2) == Polynomial(2)
    assert Polynomial(2) != Polynomial(3)
    assert Disjoint(2) == Disjoint(2)
    assert Quadratic() == Quadratic()


def _scalar(x: Array, c: Array) -> Array:
    return np.zeros((len(x), len(c)))


def _nan(x: Array, c: Array) -> Array:
    return np.full((len(x), len(c), 2), np.nan)


MAPS: list[FeatureMap] = [Quadratic(), Bilinear(), Linear(), Polynomial(2), Disjoint(3), Function(_waves, 4)]
BAD_ARRAYS: list[tuple[Any, type[Exception]]] = [
    ([1.0, 2.0, 3.0], ValueError),
    (np.zeros((2, 3, 1)), ValueError),
    (np.zeros((0, 3)), ValueError),
    ([[1.0, np.nan, 0.0]], ValueError),
    ([[1.0, np.inf, 0.0]], ValueError),
    ([[1.0, 2.0, 3.0], [1.0]], ValueError),
    ([["a", "b", "c"]], TypeError),
    (None, TypeError),
]


@pytest.mark.parametrize("features", MAPS, ids=lambda features: type(features).__name__)
@pytest.mark.parametrize(("bad", "kind"), BAD_ARRAYS)
def test_bad_arrays(features: FeatureMap, bad: Any, kind: type[Exception]) -> None:
    name = type(features).__name__
    with refused(kind, name, "actions"):
        features(bad, np.zeros((2, 3)))
    with refused(kind, name, "contexts"):
        features(np.eye(3), bad)
    with refused(kind, name, "actions"):
        features.expected(bad, PointMass([1.0, 2.0, 3.0]))
    with refused(kind, name, "actions"):
        features.sampled(bad, PointMass([1.0, 2.0, 3.0]), 2, np.random.default_rng(0))


@pytest.mark.parametrize("features", MAPS, ids=lambda features: type(features).__name__)
def test_the_belief_must_be_a_belief(features: FeatureMap) -> None:
    with refused(TypeError, type(features).__name__, "belief", "as_belief"):
        features.expected(np.eye(3), [1.0, 2.0, 3.0])  # type: ignore[arg-type]


@pytest.mark.parametrize(("samples", "kind"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("t", TypeError)])
def test_bad_samples(samples: Any, kind: type[Exception]) -> None:
    with refused(kind, "Bilinear", "samples"):
        Bilinear().sampled(ACTIONS, PointMass([1.0]), samples, np.random.default_rng(0))


def test_quadratic_needs_one_dimension() -> None:
    with refused(ValueError, "Quadratic", "3 and 2"):
        Quadratic()(ACTIONS, CONTEXTS[:, :2])
    with refused(ValueError, "Quadratic", "3 and 2"):
        Quadratic().expected(ACTIONS, PointMass([1.0, 2.0]))


def test_disjoint_needs_unit_vectors() -> None:
    with refused(ValueError, "Disjoint", "3", "4"):
        Disjoint(3)(np.eye(4), CONTEXTS)
    for actions in (2 * np.eye(3), np.ones((1, 3)), np.zeros((1, 3)), np.full((1, 3), 1 / 3), [[-1.0, 1.0, 1.0]]):
        with refused(ValueError, "Disjoint", "unit vectors"):
            Disjoint(3)(actions, CONTEXTS)


@pytest.mark.parametrize(("value", "kind"), [(0, ValueError), (1.0, TypeError), (True, TypeError), ("2", TypeError)])
def test_bad_sizes(value: Any, kind: type[Exception]) -> None:
    with refused(kind, "Polynomial", "degree"):
        Polynomial(value)
    with refused(kind, "Disjoint", "k"):
        Disjoint(value)
    with refused(kind, "Function", "dim"):
        Function(_waves, value)


def test_bad_functions() -> None:
    with refused(TypeError, "Function", "fn"):
        Function(np.eye(3), 2)  # type: ignore[arg-type]
    with refused(ValueError, "Function", "(4, 5, 2)", "(4, 5)"):
        Function(_scalar, 2)(ACTIONS, CONTEXTS)
    with refused(ValueError, "Function", "finite"):
        Function(_nan, 2)(ACTIONS, CONTEXTS)
    with refused(ValueError, "Function", "(4, 1, 2)"):
        Function(_scalar, 2).expected(ACTIONS, PointMass([1.0, 2.0, 3.0]))
