"""What every belief keeps to: shapes, immutability, draws that match the stated moments, and JSON."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import scipy.stats

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
    belief_from_json,
)
from overcast.beliefs.base import STAND_IN_DRAWS
from support import refused

_POINTS = np.random.default_rng(1).normal(size=(7, 2))
_WEIGHTS = [0.1, 0.3, 0.0, 0.2, 0.15, 0.25, 0.0]

EXACT: dict[str, Belief] = {
    "point": PointMass([1.5, -2.0]),
    "gaussian scalar": Gaussian([1.0, -1.0], 0.5),
    "gaussian variances": Gaussian([1.0, -1.0, 0.0], [0.5, 2.0, 0.0]),
    "gaussian dense": Gaussian([1.0, -1.0], [[2.0, 0.7], [0.7, 1.0]]),
    "gaussian singular": Gaussian([0.0, 1.0], [[1.0, 2.0], [2.0, 4.0]]),
    "ensemble": Ensemble(_POINTS),
    "ensemble weighted": Ensemble(_POINTS, _WEIGHTS),
    "mixture": Mixture([Gaussian([0.0, 1.0], 0.3), PointMass([2.0, 2.0]), Ensemble(_POINTS)], [0.5, 0.2, 0.3]),
    "independent": Independent([Gaussian([1.0], 0.5), Ensemble(_POINTS, _WEIGHTS), PointMass(3.0)]),
    "finite mixture": Mixture([PointMass([2.0, 2.0]), Ensemble(_POINTS, _WEIGHTS)], [0.4, 0.6]),
    "finite product": Independent([PointMass([2.0]), Ensemble(_POINTS, _WEIGHTS), Ensemble([[0.0], [1.0]])]),
    "nested": Mixture([Independent([Gaussian(0.0, 1.0), PointMass(2.0)]), Quantiles([0.5], [[0.0, 1.0]])]),
    "quantiles": Quantiles([0.1, 0.4, 0.9], [[0.0, -3.0], [1.0, -1.0], [4.0, -1.0]]),
    "quantiles full": Quantiles([0.0, 0.5, 1.0], [1.0, 2.0, 5.0]),
    "gamma": Frozen(scipy.stats.gamma(2.5, scale=0.5)),
    "truncated": Frozen(scipy.stats.truncnorm(-np.inf, 1.0, loc=0.5)),
    "binomial": Frozen(scipy.stats.binom(5, 0.3)),
    "student": Frozen(scipy.stats.multivariate_t([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]], df=12)),
    "dirichlet": Frozen(scipy.stats.dirichlet([1.0, 2.0, 3.0])),
}
ESTIMATED: dict[str, Belief] = {
    "sampler": Sampler(lambda n, rng: rng.gamma(2.0, 1.0, size=(n, 2)), dim=2),
    "direction": Frozen(scipy.stats.uniform_direction(3)),
    "mixed": Mixture([Sampler(lambda n, rng: rng.normal(size=n), dim=1), PointMass(0.0)]),
}
ALL = EXACT | ESTIMATED
FINITE = ["point", "ensemble", "ensemble weighted", "finite mixture", "finite product", "binomial"]
NO_JSON = {"dirichlet", *ESTIMATED}

each = pytest.mark.parametrize("belief", ALL.values(), ids=ALL.keys())
each_exact = pytest.mark.parametrize("belief", EXACT.values(), ids=EXACT.keys())


def _powers(dim: int, degree: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    rows = [p for p in itertools.product(range(degree + 1), repeat=dim) if sum(p) <= degree]
    return np.array(rows, dtype=np.int64)


@each
def test_shapes(belief: Belief) -> None:
    assert belief.mean().shape == (belief.dim,)
    assert belief.cov().shape == (belief.dim, belief.dim)
    assert belief.variance().shape == (belief.dim,)
    for n in (0, 1, 2, 5):
        assert belief.sample(n, np.random.default_rng(0)).shape == (n, belief.dim)


@each
def test_variance_is_the_diagonal_of_the_symmetric_covariance(belief: Belief) -> None:
    np.testing.assert_allclose(belief.variance(), np.diag(belief.cov()), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(belief.cov(), belief.cov().T, rtol=1e-12, atol=1e-14)


@each
def test_results_cannot_change_the_belief(belief: Belief) -> None:
    mean, cov = belief.mean().copy(), belief.cov().copy()
    answers = [belief.mean(), belief.cov(), belief.variance(), belief.sample(3, np.random.default_rng(0))]
    for answer in [*answers, *(belief.support() or ())]:
        if answer.flags.writeable:
            answer += 1.0
    np.testing.assert_array_equal(belief.mean(), mean)
    np.testing.assert_array_equal(belief.cov(), cov)


@each
def test_same_seed_gives_the_same_draws(belief: Belief) -> None:
    first, second = (belief.sample(20, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@each_exact
def test_draws_have_the_stated_moments(belief: Belief) -> None:
    # Five standard errors: false alarm below 6e-7 a comparison, some 250 comparisons, so below 2e-4 for all.
    draws = belief.sample(100_000, np.random.default_rng(5))
    powers = _powers(belief.dim, 2)
    terms = np.prod(draws[:, None, :] ** powers, axis=-1)
    error = terms.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(terms.mean(axis=0) - belief.moments(powers)) <= 5 * error + 1e-10).all()


@each_exact
def test_moments_of_degree_two_agree_with_mean_and_covariance(belief: Belief) -> None:
    mean, cov = belief.mean(), belief.cov()
    one = np.eye(belief.dim, dtype=np.int64)
    np.testing.assert_allclose(belief.moments(one), mean, rtol=1e-12, atol=1e-14)
    for i, j in itertools.product(range(belief.dim), repeat=2):
        second = belief.moments((one[i] + one[j])[None, :])[0]
        assert second == pytest.approx(cov[i, j] + mean[i] * mean[j], rel=1e-10, abs=1e-12)


@each_exact
def test_moment_of_degree_zero_is_one(belief: Belief) -> None:
    np.testing.assert_allclose(belief.moments(np.zeros((2, belief.dim), dtype=np.int64)), 1.0, rtol=1e-14)


@pytest.mark.parametrize("name", FINITE)
def test_finite_support_carries_mean_and_covariance(name: str) -> None:
    finite = ALL[name].support()
    assert finite is not None
    points, weights = finite
    mean = ALL[name].mean()
    assert points.shape == (len(weights), ALL[name].dim)
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(weights @ points, mean, rtol=1e-12, atol=1e-14)
    centred = points - mean
    np.testing.assert_allclose(centred.T @ np.diag(weights) @ centred, ALL[name].cov(), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", [name for name in ALL if name not in FINITE])
def test_other_supports_are_not_listed(name: str) -> None:
    assert ALL[name].support() is None


@pytest.mark.parametrize("name", [name for name in ALL if name not in NO_JSON])
def test_json_round_trip_is_exact(name: str) -> None:
    belief = ALL[name]
    text = json.dumps(belief.to_json(), allow_nan=False)
    back = belief_from_json(json.loads(text))
    assert type(back) is type(belief)
    assert back.exact == belief.exact
    np.testing.assert_array_equal(back.mean(), belief.mean())
    np.testing.assert_array_equal(back.cov(), belief.cov())
    np.testing.assert_array_equal(
        back.sample(50, np.random.default_rng(0)), belief.sample(50, np.random.default_rng(0))
    )
    assert json.dumps(back.to_json()) == text


@pytest.mark.parametrize("name", sorted(NO_JSON))
def test_code_has_no_json_form(name: str) -> None:
    with pytest.raises(TypeError, match=r"no JSON form .* use Ensemble\(belief.sample\(n, rng\)\)") as caught:
        ALL[name].to_json()
    assert "\n" not in str(caught.value)


@each
def test_repr_is_one_line_with_the_class_name(belief: Belief) -> None:
    assert repr(belief).startswith(f"{type(belief).__name__}(")
    assert "\n" not in repr(belief)


@each
def test_exact_is_false_where_only_draws_tell(belief: Belief) -> None:
    assert belief.exact == any(belief is known for known in EXACT.values())


#: beliefs of which a coordinate's distribution function is unknown
NO_CDF = {"student", "dirichlet", *ESTIMATED}


@pytest.mark.parametrize("name", [name for name in ALL if name not in NO_CDF])
def test_distribution_function_and_quantiles_against_draws(name: str) -> None:
    """Shares of 100,000 draws, five standard errors: false alarm below 6e-7 a comparison, 2e-4 for some 200 of them."""
    belief = ALL[name]
    draws = belief.sample(100_000, np.random.default_rng(5))
    values = belief.sample(5, np.random.default_rng(6))
    for at in (values, belief.quantile([0.05, 0.5, 0.8])):
        below = belief.cdf(at)
        share = (draws[:, None, :] <= at + 1e-9).mean(axis=0)  # quantiles found by bisection are off by rounding
        assert (np.abs(share - below) <= 5 * np.sqrt(np.clip(below * (1 - below), 0, None) / len(draws)) + 1e-9).all()
    assert (belief.cdf(belief.quantile([0.05, 0.5, 0.8])) >= np.array([[0.05], [0.5], [0.8]]) - 1e-12).all()
    np.testing.assert_array_equal(belief.cdf(values[0]), belief.cdf(values)[0])
    np.testing.assert_array_equal(belief.quantile(0.5), belief.quantile([0.5])[0])
    assert belief.cdf(np.full(belief.dim, np.inf)) == pytest.approx(1.0)
    assert belief.cdf(np.full(belief.dim, -np.inf)) == pytest.approx(0.0)


@pytest.mark.parametrize("name", sorted(NO_CDF))
def test_other_distribution_functions_say_what_to_do(name: str) -> None:
    for ask in (ALL[name].cdf, lambda values: ALL[name].quantile(0.5)):
        with pytest.raises(NoClosedForm, match=r"no closed form; ask Ensemble\(belief.sample\(n, rng\)\)") as caught:
            ask(np.zeros(ALL[name].dim))
        assert "\n" not in str(caught.value)


def test_arguments_of_distribution_functions_and_moves_are_checked() -> None:
    belief = Gaussian([0.0, 1.0], 1.0)
    with refused(ValueError, "Gaussian", "values must be numbers of shape (2,) or (m, 2), got list [1.0]"):
        belief.cdf([1.0])
    with refused(ValueError, "Gaussian", "values must be numbers of shape (2,) or (m, 2)"):
        belief.cdf([1.0, np.nan])
    for p in (1.1, [0.5, -0.1], np.nan, [[0.5]]):
        with refused(ValueError, "Gaussian", "p must be a number in [0, 1] or an (m,) array of them"):
            belief.quantile(p)
    with refused(ValueError, "Gaussian", "scale must be >= 0, got -1.0 at index 1"):
        belief.moved(0.0, [1.0, -1.0])
    with refused(ValueError, "Gaussian", "blur must be >= 0, got -1.0 at index 0"):
        belief.moved(blur=-1.0)
    with refused(ValueError, "Gaussian", "shift must have shape (2,), got (3,)"):
        belief.moved([1.0, 2.0, 3.0])


@each
def test_a_belief_about_the_deviation_from_the_mean(belief: Belief) -> None:
    centred = belief.centred()
    scale = 1.0 + np.abs(belief.mean()).max()
    np.testing.assert_allclose(centred.mean(), np.zeros(belief.dim), atol=1e-9 * scale)
    np.testing.assert_allclose(centred.cov(), belief.cov(), rtol=1e-9, atol=1e-9 * scale)


@each
def test_stand_ins_are_the_support_or_always_the_same_draws(belief: Belief) -> None:
    points, weights = belief.stand_in()
    finite = belief.support()
    expected = belief.sample(STAND_IN_DRAWS, np.random.default_rng(0)) if finite is None else finite[0]
    np.testing.assert_array_equal(points, expected)
    assert weights.sum() == pytest.approx(1.0)


def test_a_large_support_is_drawn_from() -> None:
    belief = Ensemble(np.arange(STAND_IN_DRAWS + 1.0)[:, None])
    points, weights = belief.stand_in()
    np.testing.assert_array_equal(points, belief.sample(STAND_IN_DRAWS, np.random.default_rng(0)))
    np.testing.assert_array_equal(weights, 1 / STAND_IN_DRAWS)


def test_an_error_cannot_be_stated_without_a_variance() -> None:
    with refused(ValueError, "Frozen", "mean and variance must exist", "cauchy"):
        Frozen(scipy.stats.cauchy()).stated_error()


def test_points_take_the_place_of_a_belief() -> None:
    moved = Gaussian([1.0, 2.0], 1.0).moved(1.0, 2.0, points=[[1.0, 2.0], [3.0, 4.0]])
    assert isinstance(moved, Ensemble)
    np.testing.assert_array_equal(moved.points, [[3.0, 5.0], [7.0, 9.0]])
    with pytest.raises(ValueError, match="Gaussian: points must have shape"):
        Gaussian([1.0], 1.0).moved(points=[[1.0, 2.0]])
