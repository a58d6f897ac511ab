"""What every feature map promises: exact expectations against quadrature rules and draws, and what it refuses."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from feature_support import ACTIONS, BELIEFS, MAPS, Rule
from overcast._check import Array
from overcast.beliefs import Belief, Mixture, NoClosedForm, PointMass, Sampler
from overcast.features import (
    Bilinear,
    Disjoint,
    FeatureMap,
    Fourier,
    Function,
    Linear,
    Nystrom,
    Polynomial,
    Quadratic,
    QuadratureFourier,
)
from overcast.features.base import check_hashable, check_map
from overcast.kernels import RBF, Product
from support import refused

CLOSED = [
    pytest.param(features, actions, belief, rule, id=f"{of}, {under}")
    for (of, (features, actions)), (under, (belief, rule)) in itertools.product(MAPS.items(), BELIEFS.items())
    if of != "function" or under in ("point", "ensemble", "finite independent")
]

each_map = pytest.mark.parametrize(("features", "actions"), MAPS.values(), ids=MAPS.keys())


@pytest.mark.parametrize(("features", "actions", "belief", "rule"), CLOSED)
def test_expected_features_are_the_average_over_an_exact_rule(
    features: FeatureMap, actions: Array, belief: Belief, rule: Rule
) -> None:
    points, weights = rule
    expected = [
        sum(w * features(x[None], c[None])[0, 0] for c, w in zip(points, weights, strict=True)) for x in actions
    ]
    got = features.expected(actions, belief)
    assert got.shape == (len(actions), features.size(actions.shape[1], 2))
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("features", "actions", "belief", "rule"), CLOSED)
def test_expected_features_are_the_average_over_draws(
    features: FeatureMap, actions: Array, belief: Belief, rule: Rule
) -> None:
    """Five standard errors: 6e-7 per feature, 1.2e-3 over the 2,052 features of all cases."""
    n = 20_000
    phi = features(actions, belief.sample(n, np.random.default_rng(4)))
    error = phi.std(axis=1, ddof=1) / np.sqrt(n)
    difference = np.abs(phi.mean(axis=1) - features.expected(actions, belief))
    assert (difference <= 5 * error + 1e-10).all()


@each_map
def test_without_exact_moments_there_is_no_closed_form(features: FeatureMap, actions: Array) -> None:
    sampler = Sampler(lambda n, rng: rng.normal(size=(n, 2)), dim=2)
    with refused(NoClosedForm, type(features).__name__, "Sampler", "samples="):
        features.expected(actions, sampler)
    with refused(NoClosedForm, type(features).__name__, "Mixture", "samples="):
        features.expected(actions, Mixture([sampler, PointMass([0.0, 1.0])]))


@each_map
def test_sampled_features_are_the_average_over_the_draws(features: FeatureMap, actions: Array) -> None:
    belief = BELIEFS["ensemble"][0]
    draws = belief.sample(7, np.random.default_rng(5))
    expected = [sum(features(x[None], c[None])[0, 0] for c in draws) / 7 for x in actions]
    got = features.sampled(actions, belief, 7, np.random.default_rng(5))
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


@each_map
@pytest.mark.parametrize("under", ["gaussian matrix", "ensemble", "quantiles"])
def test_sampled_features_converge_like_one_over_the_root_of_the_draws(
    features: FeatureMap, actions: Array, under: str
) -> None:
    """The squared error of psi-tilde over 400 repetitions averages to the variance of phi over L.

    Relative to that variance the average has a standard error of at most 0.125 (cubic features, L = 4) and of
    about 0.06 elsewhere. A ratio outside [0.35, 1.8] is five of the larger ones away: below 1e-4 per check with
    room for skewness, below 1e-2 over the 72 checks.
    """
    belief, (points, weights) = BELIEFS[under]
    phi = features(actions, points)
    mean = np.einsum("knd,n->kd", phi, weights)
    variance = float((np.einsum("knd,n->kd", phi**2, weights) - mean**2).sum())
    rng = np.random.default_rng(6)
    for samples in (4, 32, 256):
        repetitions = [features.sampled(actions, belief, samples, rng) for _ in range(400)]
        squares = float(np.mean([((psi - mean) ** 2).sum() for psi in repetitions]))
        assert 0.35 < squares * samples / variance < 1.8


def test_configurations_compare_by_value() -> None:
    assert Polynomial(2) == Polynomial(2)
    assert Polynomial(2) != Polynomial(3)
    assert Disjoint(2) == Disjoint(2)
    assert Quadratic() == Quadratic()


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


@pytest.mark.parametrize("features", [features for features, _ in MAPS.values()], ids=MAPS.keys())
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


@pytest.mark.parametrize("features", [features for features, _ in MAPS.values()], ids=MAPS.keys())
def test_the_belief_must_be_a_belief(features: FeatureMap) -> None:
    with refused(TypeError, type(features).__name__, "belief", "as_belief"):
        features.expected(np.eye(3), [1.0, 2.0, 3.0])  # type: ignore[arg-type]


@pytest.mark.parametrize(("samples", "kind"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("t", TypeError)])
def test_bad_samples(samples: Any, kind: type[Exception]) -> None:
    with refused(kind, "Bilinear", "samples"):
        Bilinear().sampled(ACTIONS, PointMass([1.0]), samples, np.random.default_rng(0))


@each_map
def test_a_design_checks_its_dimensions_once(features: FeatureMap, actions: Array) -> None:
    name, a = type(features).__name__, actions.shape[1]
    with refused(ValueError, name, "a must be >= 1"):
        features.design(0, 2)
    with refused(TypeError, name, "a must be a whole number"):
        features.design(actions, 2)  # type: ignore[arg-type]
    with refused(ValueError, name, "c must be >= 1"):
        features.design(a, 0)
    design, belief = features.design(a, 2), BELIEFS["ensemble"][0]
    psi = design.at(actions).features(design.view(belief).terms)
    np.testing.assert_array_equal(psi, features.expected(actions, belief))


def test_a_design_needs_dimensions_that_fit() -> None:
    with refused(ValueError, "Disjoint", "actions must be unit vectors of 3 entries, got vectors of 2"):
        Disjoint(3).design(2, 2)
    with refused(ValueError, "Quadratic", "got"):
        Quadratic().design(2, 3)


KERNEL = Product(RBF(1.0), RBF(1.0))
NAMES: dict[str, tuple[FeatureMap, list[str]]] = {
    "bilinear": (Bilinear(), ["price rain", "price sun", "size rain", "size sun"]),
    "linear": (Linear(), ["price", "size", "rain", "sun"]),
    "quadratic": (Quadratic(), ["price^2", "size^2", "rain^2", "sun^2", "price rain", "size sun"]),
    "polynomial": (
        Polynomial(2),
        [
            *("1", "rain", "sun", "rain^2", "rain sun", "sun^2"),
            *("price", "price rain", "price sun", "size", "size rain", "size sun"),
            *("price^2", "price size", "size^2"),
        ],
    ),
    "disjoint": (Disjoint(2), ["price rain", "price sun", "size rain", "size sun"]),
    "function": (Function(lambda x, c: np.ones((len(x), len(c), 3)), 3), ["phi1", "phi2", "phi3"]),
    "fourier": (Fourier(KERNEL, 4), ["phi1", "phi2", "phi3", "phi4"]),
    "quadrature": (QuadratureFourier(KERNEL, 1), ["phi1"]),
    "nystrom": (Nystrom(KERNEL, [[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 2.0]]), ["phi1", "phi2"]),
}


@pytest.mark.parametrize(("features", "expected"), NAMES.values(), ids=NAMES.keys())
def test_features_have_names(features: FeatureMap, expected: list[str]) -> None:
    """A design names the coordinates of actions x1, x2, ... and those of contexts c1, c2, ..."""
    assert features.names(["price", "size"], ["rain", "sun"]) == expected
    assert len(expected) == features.size(2, 2)
    assert features.design(2, 2).names == features.names(["x1", "x2"], ["c1", "c2"])


def test_names_say_what_phi_holds() -> None:
    """Each name is a product of powers; its value at numbers for the coordinates is that of the feature."""
    numbers = {"x1": 2.0, "x2": 3.0, "c1": 5.0, "c2": 7.0, "1": 1.0}
    for features in (Bilinear(), Linear(), Quadratic(), Polynomial(3)):
        phi = features([[2.0, 3.0]], [[5.0, 7.0]])[0, 0]
        for name, value in zip(features.design(2, 2).names, phi, strict=True):
            factors = (part.partition("^") for part in name.split())
            assert np.prod([numbers[x] ** int(power or 1) for x, _, power in factors]) == value


@pytest.mark.parametrize("features", [None, "bilinear", Bilinear, np.eye(3)], ids=repr)
def test_something_else_is_no_map(features: Any) -> None:
    with refused(TypeError, "Own", "features must be a feature map such as Bilinear(), got"):
        check_map("Own", features)


def test_a_kernel_must_be_one_and_hashable() -> None:
    check_hashable("Own", KERNEL)
    with refused(TypeError, "Own", "kernel must be"):
        check_hashable("Own", 3)
