"""Beliefs as weighted points and normal distributions, and their characteristic functions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from scipy.integrate import quad

from overcast._check import Array
from overcast.beliefs import (
    Belief,
    Ensemble,
    Frozen,
    Gaussian,
    Independent,
    Mixture,
    NoClosedForm,
    PointMass,
    Quantiles,
    Sampler,
)
from overcast.beliefs.cloud import Cloud, kind_of, mixture, of_kind, product
from support import refused

POINTS = np.random.default_rng(0).normal(size=(5, 2))
WEIGHTS = np.array([0.1, 0.35, 0.0, 0.25, 0.3])
COV = np.array([[1.3, -0.6], [-0.6, 0.8]])
LEVELS = [0.1, 0.4, 0.9]

# The kind of `cov` that each should have: 0 for points, 1 for variances, 2 for covariances.
CLOUDS: dict[str, tuple[Belief, int]] = {
    "point": (PointMass([0.5, -0.3]), 0),
    "gaussian scalar": (Gaussian([1.0, -0.5], 0.7), 1),
    "gaussian variances": (Gaussian([0.2, 0.4], [0.0, 2.0]), 1),
    "gaussian matrix": (Gaussian([-0.4, 0.1], COV), 2),
    "gaussian singular": (Gaussian([0.3, 0.8], [[1.0, 2.0], [2.0, 4.0]]), 2),
    "ensemble": (Ensemble(POINTS, WEIGHTS), 0),
    "mixture of points": (Mixture([PointMass([0.0, 1.0]), Ensemble(POINTS)], [0.4, 0.6]), 0),
    "mixture": (Mixture([Gaussian([0.0, 1.0], 0.3), PointMass([1.0, 1.0]), Ensemble(POINTS)], [0.5, 0.2, 0.3]), 1),
    "mixture with a matrix": (Mixture([Gaussian([0.0, 1.0], 0.3), Gaussian([1.0, 0.0], COV)]), 2),
    "independent": (Independent([Gaussian(0.3, 0.4), Ensemble([[0.0], [1.5]], [0.7, 0.3])]), 1),
    "independent points": (Independent([PointMass(0.3), Ensemble([[0.0], [1.5]], [0.7, 0.3])]), 0),
    "independent with a matrix": (
        Independent([Ensemble([[0.0], [1.5]]), Gaussian([1.0, 2.0], COV), Gaussian([0.5], 0.2)]),
        2,
    ),
    "nested": (Independent([Mixture([Gaussian(-1.0, 0.1), PointMass(1.0)]), Mixture([Gaussian(0.0, 2.0)] * 2)]), 1),
    "scipy": (Frozen(scipy.stats.binom(3, 0.4)), 0),
}
# Without a cloud, but with a characteristic function.
OTHERS: dict[str, Belief] = {
    "quantiles": Quantiles(LEVELS, [[-1.0, 0.0], [0.5, 0.0], [2.0, 3.0]]),
    "one level": Quantiles([0.5], [[1.0, 2.0]]),
    "beside quantiles": Independent([Quantiles(LEVELS, [-1.0, 0.5, 2.0]), Gaussian([0.0, 1.0], COV)]),
    "mixed with quantiles": Mixture([Quantiles(LEVELS, [-1.0, 0.5, 2.0]), Gaussian(0.0, 1.0)], [0.3, 0.7]),
}
each = pytest.mark.parametrize(("belief", "kind"), CLOUDS.values(), ids=CLOUDS.keys())


def _cloud(belief: Belief) -> Cloud:
    cloud = belief.cloud()
    assert cloud is not None
    return cloud


def _moments(cloud: Cloud) -> tuple[Array, Array]:
    """The mean and the covariance, component by component."""
    mean = sum(w * m for w, m in zip(cloud.weights, cloud.centres, strict=True))
    second = np.zeros((len(mean), len(mean)))
    for i, (w, m) in enumerate(zip(cloud.weights, cloud.centres, strict=True)):
        cov = np.zeros(len(m)) if cloud.cov is None else cloud.cov[i]
        second += w * ((np.diag(cov) if cov.ndim == 1 else cov) + np.outer(m, m))
    return mean, second - np.outer(mean, mean)


@each
def test_a_cloud_has_the_moments_of_its_belief(belief: Belief, kind: int) -> None:
    cloud = _cloud(belief)
    n = len(cloud.weights)
    assert cloud.centres.shape == (n, belief.dim)
    assert kind_of(cloud.cov) == kind
    if cloud.cov is not None:
        assert cloud.cov.shape == (n, *(belief.dim,) * kind)
    assert cloud.weights.sum() == pytest.approx(1.0, abs=1e-14)
    mean, cov = _moments(cloud)
    np.testing.assert_allclose(mean, belief.mean(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(cov, belief.cov(), rtol=1e-12, atol=1e-14)


@each
def test_a_cloud_of_points_is_the_support(belief: Belief, kind: int) -> None:
    finite = belief.support()
    assert (finite is not None) == (kind == 0)
    if finite is not None:
        order, other = np.lexsort(finite[0].T), np.lexsort(_cloud(belief).centres.T)
        np.testing.assert_allclose(_cloud(belief).centres[other], finite[0][order], rtol=1e-14)
        np.testing.assert_allclose(_cloud(belief).weights[other], finite[1][order], rtol=1e-14)


def test_beliefs_that_are_no_clouds() -> None:
    sampler = Sampler(lambda n, rng: rng.normal(size=(n, 1)), 1)
    for belief in (*OTHERS.values(), sampler, Mixture([PointMass(0.0), sampler]), Frozen(scipy.stats.gamma(2.0))):
        assert belief.cloud() is None


def test_a_product_with_too_many_components_is_no_cloud() -> None:
    """Its characteristic function is still the product of those of its parts."""
    coin = Mixture([Gaussian(0.0, 1.0), PointMass(1.0)])
    few, many = Independent([coin] * 10), Independent([coin] * 17)
    assert len(_cloud(few).weights) == 1024
    assert many.cloud() is None
    w = np.full((1, 17), 0.3)
    assert many.characteristic(w)[0] == pytest.approx(coin.characteristic(w[:, :1])[0] ** 17, rel=1e-12)


FIRST = Cloud(np.array([0.3, 0.7]), POINTS[:2])
SECOND = Cloud(np.ones(1), POINTS[2:3], np.array([[0.5, 0.2]]))
THIRD = Cloud(np.array([0.6, 0.4]), POINTS[3:], np.stack([COV, 2 * COV]))


@pytest.mark.parametrize("parts", list(itertools.permutations([FIRST, SECOND, THIRD])))
def test_mixtures_of_all_kinds(parts: tuple[Cloud, ...]) -> None:
    weights = np.array([0.2, 0.5, 0.3])
    cloud = mixture(parts, weights)
    each = [_moments(part) for part in parts]
    mean = sum(w * m for w, (m, _) in zip(weights, each, strict=True))
    second = sum(w * (c + np.outer(m, m)) for w, (m, c) in zip(weights, each, strict=True))
    np.testing.assert_allclose(_moments(cloud)[0], mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(_moments(cloud)[1], second - np.outer(mean, mean), rtol=1e-12, atol=1e-14)
    w = np.random.default_rng(1).normal(size=(6, 2))
    expected = sum(p * part.characteristic(w) for p, part in zip(weights, parts, strict=True))
    np.testing.assert_allclose(cloud.characteristic(w), expected, rtol=1e-12)


@pytest.mark.parametrize("parts", list(itertools.permutations([FIRST, SECOND, THIRD])))
def test_products_of_all_kinds(parts: tuple[Cloud, ...]) -> None:
    cloud = product(parts)
    assert len(cloud.weights) == 4
    mean, cov = _moments(cloud)
    np.testing.assert_allclose(mean, np.concatenate([_moments(part)[0] for part in parts]), rtol=1e-12)
    for i, j in itertools.product(range(3), repeat=2):
        corner = cov[2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
        np.testing.assert_allclose(corner, _moments(parts[i])[1] if i == j else 0.0, rtol=1e-12, atol=1e-14)
    w = np.random.default_rng(2).normal(size=(6, 6))
    expected = np.prod([part.characteristic(w[:, 2 * i : 2 * i + 2]) for i, part in enumerate(parts)], axis=0)
    np.testing.assert_allclose(cloud.characteristic(w), expected, rtol=1e-12)


def test_changes_of_kind() -> None:
    variances = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert of_kind(None, 0, (2, 2)) is None
    np.testing.assert_array_equal(of_kind(None, 1, (2, 2)), np.zeros((2, 2)))
    np.testing.assert_array_equal(of_kind(None, 2, (2, 2)), np.zeros((2, 2, 2)))
    np.testing.assert_array_equal(of_kind(variances, 1, (2, 2)), variances)
    np.testing.assert_array_equal(of_kind(variances, 2, (2, 2)), [np.diag([1.0, 2.0]), np.diag([3.0, 4.0])])


def test_rows_keep_their_weights() -> None:
    part = THIRD.rows(slice(1, 2))
    assert part.weights.tolist() == [0.4]
    np.testing.assert_array_equal(part.centres, POINTS[4:])
    np.testing.assert_array_equal(part.cov, [2 * COV])
    assert FIRST.rows(slice(0, 1)).cov is None


@pytest.mark.parametrize("belief", [*(b for b, _ in CLOUDS.values()), *OTHERS.values()], ids=[*CLOUDS, *OTHERS])
def test_characteristic_functions_against_draws(belief: Belief) -> None:
    """Six standard errors for real and imaginary part at eight frequencies: 2e-9 each, 6e-7 over all of them."""
    n = 20_000
    w = np.random.default_rng(3).normal(size=(8, belief.dim)) * np.linspace(0.1, 3.0, 8)[:, None]
    waves = np.exp(1j * belief.sample(n, np.random.default_rng(4)) @ w.T)
    got = belief.characteristic(w)
    assert got.shape == (8,)
    for value, draws in ((got.real, waves.real), (got.imag, waves.imag)):
        assert (np.abs(value - draws.mean(axis=0)) <= 6 * draws.std(axis=0) / math.sqrt(n) + 1e-12).all()


@pytest.mark.parametrize("belief", [*(b for b, _ in CLOUDS.values()), *OTHERS.values()], ids=[*CLOUDS, *OTHERS])
def test_characteristic_functions_at_zero_and_minus_w(belief: Belief) -> None:
    w = np.random.default_rng(5).normal(size=(4, belief.dim))
    np.testing.assert_allclose(belief.characteristic(np.zeros((1, belief.dim))), [1.0], rtol=1e-14)
    np.testing.assert_allclose(belief.characteristic(-w), belief.characteristic(w).conj(), rtol=1e-13)
    assert (np.abs(belief.characteristic(50 * w)) <= 1 + 1e-13).all()


@pytest.mark.parametrize("w", [0.01, 0.7, 5.0, -3.0])
def test_one_dimension_against_quadrature(w: float) -> None:
    def normal(x: float) -> float:
        return math.exp(-((x - 0.4) ** 2) / (2 * 0.6)) / math.sqrt(2 * math.pi * 0.6)

    parts = [quad(lambda x, f=f: f(w * x) * normal(x), -8.0, 9.0, epsabs=1e-12)[0] for f in (math.cos, math.sin)]
    np.testing.assert_allclose(Gaussian(0.4, 0.6).characteristic(np.array([[w]])), [complex(*parts)], atol=1e-10)

    values = [-1.0, 0.5, 2.0]
    levels = sorted([0.0, *LEVELS, 1.0])
    parts = [
        sum(
            quad(lambda u, f=f: f(w * np.interp(u, LEVELS, values)), low, high, epsabs=1e-12)[0]
            for low, high in itertools.pairwise(levels)
        )
        for f in (math.cos, math.sin)
    ]
    np.testing.assert_allclose(
        Quantiles(LEVELS, values, "none").characteristic(np.array([[w]])), [complex(*parts)], atol=1e-10
    )


def test_equal_values_of_quantiles_are_a_point_mass() -> None:
    w = np.array([[0.0], [1.0], [-20.0]])
    flat = Quantiles([0.2, 0.5, 0.7], [3.0, 3.0, 3.0])
    np.testing.assert_allclose(flat.characteristic(w), PointMass(3.0).characteristic(w), rtol=1e-14)


def test_the_rest_asks_for_samples() -> None:
    sampler = Sampler(lambda n, rng: rng.normal(size=(n, 1)), 1)
    for belief in (sampler, Mixture([PointMass(0.0), sampler]), Independent([PointMass(0.0), sampler])):
        with refused(NoClosedForm, "Sampler", "characteristic function", "samples="):
            belief.characteristic(np.ones((1, belief.dim)))
