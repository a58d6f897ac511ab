from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.stats

from overcast._check import Array
from overcast.beliefs import Belief, Gaussian, belief_from_json
from support import refused

EXAMPLES: list[Belief] = [
    Gaussian([1.0, -1.0], 0.5),
    Gaussian([1.0, -1.0, 0.0], [0.5, 2.0, 0.0]),
    Gaussian([100.0, -1.0], [[2.0, 0.7], [0.7, 1.0]]),
    Gaussian([1.0, -1.0], sd=[0.5, 0.0]),
]


def _pairings(items: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for at, partner in enumerate(rest):
        for others in _pairings(rest[:at] + rest[at + 1 :]):
            yield [(first, partner), *others]


def _isserlis(mean: Array, cov: Array, power: tuple[int, ...]) -> float:
    """E[prod c_i^p_i] by expanding c = mean + z and summing over all pairings of the z factors."""
    factors = tuple(i for i, exponent in enumerate(power) for _ in range(exponent))
    total = 0.0
    for chosen in itertools.product([False, True], repeat=len(factors)):
        paired = tuple(f for f, z in zip(factors, chosen, strict=True) if z)
        constant = math.prod(float(mean[f]) for f, z in zip(factors, chosen, strict=True) if not z)
        total += constant * math.fsum(math.prod(float(cov[i, j]) for i, j in pairs) for pairs in _pairings(paired))
    return total


def test_known_moments_of_one_dimension() -> None:
    # E[x^2] = s^2, E[x^4] = 3 s^4, E[x^6] = 15 s^6 about zero, and m^3 + 3 m s^2 off it.
    variance = 1.7
    powers = np.array([[1], [2], [3], [4], [6]])
    expected = [0.0, variance, 0.0, 3 * variance**2, 15 * variance**3]
    for cov in (variance, [variance], [[variance]]):
        np.testing.assert_allclose(Gaussian(0.0, cov).moments(powers), expected, rtol=1e-13)
    assert Gaussian(2.0, variance).moments(np.array([[3]]))[0] == pytest.approx(8 + 3 * 2 * variance)


def test_moments_against_the_sum_over_pairings() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    mean, cov = rng.normal(size=3), root @ root.T
    powers = [p for p in itertools.product(range(5), repeat=3) if sum(p) <= 5]
    for given, matrix in ((cov, cov), (np.diag(cov), np.diag(np.diag(cov)))):
        expected = [_isserlis(mean, matrix, p) for p in powers]
        np.testing.assert_allclose(Gaussian(mean, given).moments(np.array(powers)), expected, rtol=1e-9, atol=1e-10)


def test_three_ways_to_give_the_same_covariance() -> None:
    scalar, variances, matrix = (Gaussian([1.0, 2.0], cov) for cov in (4.0, [4.0, 4.0], np.diag([4.0, 4.0])))
    for other in (variances, matrix):
        np.testing.assert_array_equal(scalar.cov(), other.cov())
        np.testing.assert_array_equal(
            scalar.sample(5, np.random.default_rng(0)), other.sample(5, np.random.default_rng(0))
        )


def test_draws_of_a_singular_covariance_stay_on_their_line() -> None:
    direction = np.array([1.0, -2.0, 0.5, 0.0])
    belief = Gaussian([0.0, 1.0, 2.0, 3.0], np.outer(direction, direction))
    centred = belief.sample(1000, np.random.default_rng(0)) - belief.mean()
    np.testing.assert_allclose(centred, np.outer(centred[:, 0], direction), atol=1e-6)
    # Variance of 1000 draws: relative standard error sqrt(2 / 1000); five of them, false alarm below 6e-7.
    assert centred[:, 0].var() == pytest.approx(1.0, rel=5 * math.sqrt(2 / 1000))


def test_singular_covariance_keeps_small_units() -> None:
    # A perfectly correlated pair beside a coordinate whose variance is 1e-24 of theirs.
    cov = np.array([[1e6, 1e6, 0.0], [1e6, 1e6, 0.0], [0.0, 0.0, 1e-18]])
    draws = Gaussian(np.zeros(3), cov).sample(20_000, np.random.default_rng(1))
    # Relative standard error of a variance is sqrt(2 / n); five of them, false alarm below 6e-7 each.
    np.testing.assert_allclose(draws.var(axis=0), np.diag(cov), rtol=5 * math.sqrt(2 / 20_000))
    np.testing.assert_allclose(draws[:, 0], draws[:, 1], rtol=1e-6)


def test_dense_draws_have_the_stated_covariance() -> None:
    cov = np.array([[2.0, -1.2, 0.3], [-1.2, 1.0, 0.0], [0.3, 0.0, 0.5]])
    draws = Gaussian(np.zeros(3), cov).sample(200_000, np.random.default_rng(2))
    products = draws[:, :, None] * draws[:, None, :]
    error = products.std(axis=0) / math.sqrt(len(draws))
    # Five standard errors: false alarm below 6e-7 for each of the six entries.
    assert (np.abs(products.mean(axis=0) - cov) <= 5 * error).all()


def test_zero_matrix_is_a_point() -> None:
    belief = Gaussian([1.0, 2.0], np.zeros((2, 2)))
    np.testing.assert_array_equal(belief.sample(3, np.random.default_rng(0)), [[1.0, 2.0]] * 3)


def test_asymmetry_from_round_off_is_removed() -> None:
    cov = np.array([[1.0, 0.3], [0.3 + 1e-12, 1.0]])
    belief = Gaussian([0.0, 0.0], cov)
    np.testing.assert_array_equal(belief.cov(), belief.cov().T)


def test_sample_covariance_of_few_points_is_accepted() -> None:
    points = np.random.default_rng(3).normal(size=(4, 10))
    belief = Gaussian(points.mean(axis=0), np.cov(points, rowvar=False))
    assert np.linalg.matrix_rank(belief.sample(50, np.random.default_rng(0)) - belief.mean(), tol=1e-5) == 3


def test_arguments_are_copied_and_results_read_only() -> None:
    mean, cov = np.zeros(2), np.eye(2)
    belief = Gaussian(mean, cov)
    mean[0] = cov[0, 0] = 7.0
    np.testing.assert_array_equal(belief.mean(), [0.0, 0.0])
    np.testing.assert_array_equal(belief.cov(), np.eye(2))
    for array in (belief.mean(), belief.cov(), belief.variance()):
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("mean", "cov", "kind", "message"),
    [
        ([0.0, np.nan], 1.0, ValueError, "Gaussian: mean must be finite, got nan at index 1"),
        ([], 1.0, ValueError, "Gaussian: mean must have shape (c,), got (0,)"),
        ([[0.0]], 1.0, ValueError, "Gaussian: mean must have shape (c,), got (1, 1)"),
        ("a", 1.0, TypeError, "Gaussian: mean must be real numbers, got str 'a'"),
        ([0.0], -1.0, ValueError, "Gaussian: cov must be >= 0, got -1.0"),
        ([0.0], np.inf, ValueError, "Gaussian: cov must be finite, got inf"),
        ([0.0], None, ValueError, "Gaussian: cov or sd must be given, and not both, got neither"),
        ([0.0], "wide", TypeError, "Gaussian: cov must be real numbers, got str 'wide'"),
        ([0.0, 0.0], [1.0, -2.0], ValueError, "Gaussian: cov must be >= 0, got -2.0 at index 1"),
        ([0.0, 0.0], [1.0], ValueError, "Gaussian: cov must have shape (2,), got (1,)"),
        ([0.0, 0.0], np.eye(3), ValueError, "Gaussian: cov must have shape (2, 2), got (3, 3)"),
        ([0.0], np.ones((1, 1, 1)), ValueError, "Gaussian: cov must have shape (1, 1), got (1, 1, 1)"),
        ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], ValueError, "positive semi-definite, got smallest eigenvalue -1"),
        ([0.0, 0.0], [[0.0, 1.0], [1.0, 5.0]], ValueError, "positive semi-definite, got smallest eigenvalue -0.193"),
        ([0.0, 0.0], [[1.0, 0.0], [0.0, -1e-3]], ValueError, "variances >= 0 on its diagonal, got -0.001 at (1, 1)"),
        ([0.0], [[-1e-9]], ValueError, "variances >= 0 on its diagonal, got -1e-09 at (0, 0)"),
        (
            [0.0, 0.0],
            [[1.0, 0.1], [0.5, 1.0]],
            ValueError,
            "cov must be symmetric, got 0.1 at (0, 1) and 0.5 at (1, 0)",
        ),
        ([0.0, 0.0], [[1.0, np.nan], [0.0, 1.0]], ValueError, "Gaussian: cov must be finite, got nan at index (0, 1)"),
        ([0.0, 0.0], [[1.0], [0.0, 1.0]], ValueError, "Gaussian: cov must be a rectangular array"),
    ],
)
def test_refuses(mean: object, cov: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        Gaussian(mean, cov)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("n", [1, 2, 10])
def test_moments_of_n_draws_have_the_distribution_of_those_of_draws(n: int) -> None:
    """Two-sample Kolmogorov-Smirnov tests of mean, mean square and their sum and difference: false alarm 1e-5 each."""
    belief = Gaussian([0.7, -1.0], [2.0, 0.3])
    rng = np.random.default_rng(0)
    at_once = np.array([belief.sample_moments(n, rng) for _ in range(20_000)])
    draws = belief.sample(20_000 * n, rng).reshape(20_000, n, 2)
    one_by_one = np.stack([draws.mean(axis=1), (draws**2).mean(axis=1)], axis=1)
    for i in range(2):
        for weights in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]):
            assert scipy.stats.ks_2samp(at_once[:, :, i] @ weights, one_by_one[:, :, i] @ weights).pvalue > 1e-5


def test_mean_of_n_draws_has_the_covariance_over_n() -> None:
    """Empirical covariance of 40,000 means, within 5 standard errors: false alarm below 1e-5."""
    cov = np.array([[2.0, 0.6], [0.6, 0.5]])
    rng = np.random.default_rng(1)
    belief = Gaussian([1.0, 2.0], cov)
    means = np.array([belief.sample_mean(7, rng) for _ in range(40_000)]) - [1.0, 2.0]
    products = means[:, :, None] * means[:, None, :]
    assert (np.abs(products.mean(axis=0) - cov / 7) < 5 * products.std(axis=0) / 200).all()


def test_standard_deviations_are_the_roots_of_variances() -> None:
    for sd in (2.0, [2.0, 0.5]):
        belief, same = Gaussian([1.0, 2.0], sd=sd), Gaussian([1.0, 2.0], np.square(sd))
        assert belief.to_json() == same.to_json()
        np.testing.assert_array_equal(
            belief.sample(5, np.random.default_rng(0)), same.sample(5, np.random.default_rng(0))
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cov": 1.0, "sd": 1.0}, "Gaussian: cov or sd must be given, and not both, got both"),
        ({"sd": [1.0, -2.0]}, "Gaussian: sd must be >= 0, got -2.0 at index 1"),
        ({"sd": np.eye(2)}, "Gaussian: sd must have shape (2,), got (2, 2)"),
    ],
)
def test_refuses_standard_deviations(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        Gaussian([0.0, 0.0], **options)
    assert "\n" not in str(caught.value)


def test_distribution_function_and_quantiles_are_those_of_scipy() -> None:
    belief = Gaussian([1.0, -2.0, 3.0], np.diag([4.0, 0.25, 0.0]) + np.array([[0, 0.3, 0], [0.3, 0, 0], [0, 0, 0]]))
    laws = [scipy.stats.norm(1.0, 2.0), scipy.stats.norm(-2.0, 0.5)]
    values, levels = np.linspace(-6.0, 8.0, 9), np.array([0.0, 1e-6, 0.3, 0.5, 0.99, 1.0])
    below, found = belief.cdf(np.tile(values[:, None], 3)), belief.quantile(levels)
    for i, law in enumerate(laws):
        np.testing.assert_allclose(below[:, i], law.cdf(values), rtol=1e-12)
        np.testing.assert_allclose(found[:, i], law.ppf(levels), rtol=1e-12)
    np.testing.assert_array_equal(below[:, 2], values >= 3.0)
    np.testing.assert_array_equal(found[:, 2], 3.0)
    assert belief.quantile(0.5).shape == (3,)


def test_repr_is_short_in_many_dimensions() -> None:
    assert repr(Gaussian([1.0], 4.0)) == "Gaussian(mean=[1.0], cov=[4.0])"
    assert len(repr(Gaussian(np.zeros(500), np.eye(500)))) < 100


@pytest.mark.parametrize("sd", [1e155, 1e200, [1.0, 1e300]])
def test_a_standard_deviation_without_a_finite_square(sd: Any) -> None:
    with refused(ValueError, "Gaussian", "sd must have a finite square", "scale the contexts"):
        Gaussian([0.0, 1.0], sd=sd)


@pytest.mark.parametrize("excess", [1e-9, 1e-10])
def test_a_covariance_that_is_indefinite_by_a_hair_is_that_of_its_draws(excess: float) -> None:
    given = np.array([[1.0, 1.0 + excess], [1.0 + excess, 1.0]])
    assert np.linalg.eigvalsh(given)[0] < -0.9 * excess
    belief = Gaussian([0.0, 0.0], given)
    assert np.linalg.eigvalsh(belief.cov())[0] >= -1e-15
    np.testing.assert_allclose(belief.cov(), given, atol=2 * excess)
    again = belief_from_json(belief.to_json())
    np.testing.assert_array_equal(again.cov(), belief.cov())
    exact = np.array([[4.0, 2.0], [2.0, 1.0]])  # singular, and nothing to correct
    np.testing.assert_array_equal(Gaussian([0.0, 0.0], exact).cov(), exact)
