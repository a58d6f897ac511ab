from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from overcast._check import Array
from overcast.adapters import as_belief
from overcast.beliefs import Belief, Frozen, NoClosedForm, belief_from_json
from overcast.beliefs.scipy_stats import Law, RandomVariable, Univariate, is_scipy, law
from support import refused

EXAMPLES: list[Belief] = [
    Frozen(scipy.stats.gamma(2.5, scale=0.5)),
    Frozen(scipy.stats.cauchy()),
    Frozen(scipy.stats.dirichlet([1.0, 2.0, 3.0])),
    Frozen(scipy.stats.binom(5, 0.3)),
]


def test_moments_of_the_exponential_distribution() -> None:
    # E[c^p] = p! scale^p
    belief = Frozen(scipy.stats.expon(scale=2.0))
    np.testing.assert_allclose(belief.moments(np.arange(5)[:, None]), [1, 2, 8, 48, 384], rtol=1e-9)


def test_moments_against_quadrature() -> None:
    frozen = scipy.stats.beta(2.0, 3.5, loc=-1.0, scale=3.0)
    belief = Frozen(frozen)
    for p in range(6):
        expected, _ = scipy.integrate.quad(lambda x, p=p: x**p * frozen.pdf(x), -1.0, 2.0, epsabs=1e-12)
        assert belief.moments(np.array([[p]]))[0] == pytest.approx(expected, rel=1e-6)


def test_discrete_moments_by_summation() -> None:
    frozen = scipy.stats.binom(6, 0.3)
    x = np.arange(7)
    expected = [float(np.sum(frozen.pmf(x) * x**p)) for p in range(5)]
    np.testing.assert_allclose(Frozen(frozen).moments(np.arange(5)[:, None]), expected, rtol=1e-9)


def test_student_mean_and_covariance() -> None:
    shape = np.array([[2.0, 0.5], [0.5, 1.0]])
    belief = Frozen(scipy.stats.multivariate_t([1.0, 2.0], shape, df=5))
    assert belief.exact
    np.testing.assert_array_equal(belief.mean(), [1.0, 2.0])
    np.testing.assert_allclose(belief.cov(), shape * 5 / 3)


def test_dirichlet_mean_and_covariance() -> None:
    alpha = np.array([1.0, 2.0, 3.0])
    p = alpha / 6
    belief = Frozen(scipy.stats.dirichlet(alpha))
    np.testing.assert_allclose(belief.mean(), p)
    np.testing.assert_allclose(belief.cov(), (np.diag(p) - np.outer(p, p)) / 7)


def test_estimates_where_scipy_is_silent() -> None:
    belief = Frozen(scipy.stats.uniform_direction(3))
    assert not belief.exact
    # On the sphere the covariance is I / 3. Five standard errors of 10,000 draws: false alarm below 6e-7 each.
    assert (np.abs(belief.mean()) <= 5 * np.sqrt(1 / 3 / 10_000)).all()
    with pytest.raises(NoClosedForm, match="moments of uniform_direction have no closed form"):
        belief.moments(np.eye(3, dtype=np.int64))


@pytest.mark.parametrize(
    ("frozen", "what"),
    [
        (scipy.stats.cauchy(), "mean"),
        (scipy.stats.t(2.0), "covariance"),
        (scipy.stats.multivariate_t([0.0, 0.0], df=1), "mean"),
        (scipy.stats.multivariate_t([0.0, 0.0], df=2), "covariance"),
    ],
)
def test_moments_that_do_not_exist(frozen: object, what: str) -> None:
    belief = Frozen(frozen)
    with pytest.raises(NoClosedForm, match=f"Frozen: the {what} of .* is not finite") as caught:
        belief.mean() if what == "mean" else belief.cov()
    assert "\n" not in str(caught.value)
    with pytest.raises(NoClosedForm, match="is not finite"):
        belief.moments(2 * np.eye(belief.dim, dtype=np.int64))
    assert np.isfinite(belief.sample(10, np.random.default_rng(0))).all()


@pytest.mark.parametrize("frozen", [scipy.stats.t(5.0), scipy.stats.pareto(3.5), scipy.stats.lognorm(1.0)])
def test_moments_that_scipy_cannot_integrate_are_refused(frozen: object) -> None:
    # scipy returns -625 for E[t_5^6], which is infinite, and a value 3% off for the lognormal, with a warning only.
    with pytest.raises(NoClosedForm, match=r"the moment of degree 6 of .* is unknown") as caught:
        Frozen(frozen).moments(np.array([[6]]))
    assert "\n" not in str(caught.value)


def test_moments_beyond_degree_two_of_vectors_are_refused() -> None:
    belief = Frozen(scipy.stats.multivariate_t([0.0, 0.0], df=9))
    with pytest.raises(NoClosedForm, match="the moment of degree 3 of multivariate_t is unknown"):
        belief.moments(np.array([[2, 1]]))


def test_random_variables_of_newer_scipy() -> None:
    if not hasattr(scipy.stats, "make_distribution"):
        pytest.skip("this SciPy has no random variables")
    belief = Frozen(scipy.stats.make_distribution(scipy.stats.gamma)(a=2.0))
    np.testing.assert_allclose(belief.moments(np.arange(4)[:, None]), [1.0, 2.0, 6.0, 24.0], rtol=1e-6)
    draws = belief.sample(20_000, np.random.default_rng(0))
    # Variance two; five standard errors, false alarm below 6e-7.
    assert abs(float(draws.mean()) - 2.0) <= 5 * np.sqrt(2.0 / 20_000)
    with pytest.raises(TypeError, match="Frozen: no JSON form"):
        belief.to_json()


def test_distributions_of_ones_own_have_no_json_form() -> None:
    class Ramp(scipy.stats.rv_continuous):
        def _pdf(self, x: Array) -> Array:  # type: ignore[override]
            return 2 * x

    belief = Frozen(Ramp(a=0.0, b=1.0, name="ramp")())
    assert belief.mean()[0] == pytest.approx(2 / 3)
    with pytest.raises(TypeError, match="Frozen: no JSON form"):
        belief.to_json()


@pytest.mark.parametrize(
    ("distribution", "kind", "message"),
    [
        (3.0, TypeError, "Frozen: distribution must be a frozen scipy.stats one, got float 3.0"),
        (scipy.stats.gamma, TypeError, "Frozen: distribution must be frozen, such as norm(0, 1), got gamma_gen"),
        (scipy.stats.multivariate_t, TypeError, "must be frozen, such as norm(0, 1), got multivariate_t_gen"),
        (scipy.stats.gamma(-1.0), ValueError, "must have parameters in its domain, got others for gamma"),
        (
            scipy.stats.gamma([1.0, 2.0]),
            ValueError,
            "must be of one dimension, got gamma with parameters of shape (2,)",
        ),
        (scipy.stats.wishart(3, np.eye(2)), ValueError, "must draw vectors, got draws of shape (2, 2) from wishart"),
    ],
)
def test_refuses(distribution: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        Frozen(distribution)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, 'Frozen: JSON must have the keys "distribution", got none named "distribution"'),
        ({"distribution": "nothing"}, "Frozen: distribution must be the name of one in scipy.stats, got str 'nothing'"),
        ({"distribution": "describe"}, "Frozen: distribution must be the name of one in scipy.stats"),
        ({"distribution": ["gamma"]}, "Frozen: distribution must be the name of one in scipy.stats"),
        ({"distribution": "gamma"}, "Frozen: args and kwds must be parameters of gamma"),
        ({"distribution": "gamma", "args": ["x"]}, "Frozen: args and kwds must be parameters of gamma"),
        ({"distribution": "gamma", "args": 2.0}, "Frozen: args must be a list and kwds an object"),
        ({"distribution": "gamma", "args": [-1.0]}, "parameters in its domain"),
        ({"distribution": "norm", "kwds": {"speed": 1.0}}, "Frozen: args and kwds must be parameters of norm"),
        ({"distribution": "norm", "scale": 1.0}, "got str 'scale'"),
    ],
)
def test_refuses_json(data: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        belief_from_json({"type": "Frozen", **data})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "frozen",
    [scipy.stats.gamma(2.5, scale=0.5), scipy.stats.cauchy(), scipy.stats.binom(5, 0.3), scipy.stats.poisson(4)],
)
def test_distribution_function_and_quantiles_are_those_of_scipy(frozen: Any) -> None:
    belief = Frozen(frozen)
    assert belief.distribution is frozen
    values, levels = np.linspace(-1.0, 7.0, 17), np.array([0.01, 0.3, 0.5, 0.99, 1.0])
    np.testing.assert_array_equal(belief.cdf(values[:, None])[:, 0], frozen.cdf(values))
    np.testing.assert_array_equal(belief.quantile(levels)[:, 0], frozen.ppf(levels))
    assert belief.quantile(0.0)[0] == frozen.support()[0], "ppf(0) of a discrete one lies one below"


def test_random_variables_of_newer_scipy_have_quantiles() -> None:
    if not hasattr(scipy.stats, "make_distribution"):
        pytest.skip("this SciPy has no random variables")
    belief, same = Frozen(scipy.stats.make_distribution(scipy.stats.gamma)(a=2.0)), scipy.stats.gamma(2.0)
    np.testing.assert_allclose(belief.cdf([[0.5], [3.0]])[:, 0], same.cdf([0.5, 3.0]))
    np.testing.assert_allclose(belief.quantile([0.1, 0.9])[:, 0], same.ppf([0.1, 0.9]))


def test_vectors_have_no_distribution_function_of_coordinates() -> None:
    with pytest.raises(NoClosedForm, match="Frozen: the distribution function has no closed form; ask Ensemble"):
        Frozen(scipy.stats.dirichlet([1.0, 2.0])).cdf([0.5, 0.5])


def test_a_mean_is_told_where_no_variance_exists() -> None:
    assert Frozen(scipy.stats.t(2.0, loc=3.0)).moments(np.array([[0], [1]])).tolist() == [1.0, 3.0]


def test_each_kind_has_its_law() -> None:
    assert isinstance(law(scipy.stats.gamma(2.0)), Univariate)
    assert type(law(scipy.stats.dirichlet([1.0, 2.0]))) is Law
    if hasattr(scipy.stats, "make_distribution"):
        assert isinstance(law(scipy.stats.make_distribution(scipy.stats.gamma)(a=2.0)), RandomVariable)
    assert is_scipy(scipy.stats.norm())
    assert not is_scipy(3.0)


@pytest.mark.parametrize(
    ("frozen", "expected"),
    [
        (scipy.stats.gamma(2.0, scale=3.0), ([2.0], {"scale": 3.0})),
        (scipy.stats.dirichlet([1.0, 2.0]), None),
    ],
)
def test_parameters_are_those_given_if_scipy_knows_the_name(frozen: Any, expected: Any) -> None:
    assert law(frozen).parameters() == expected


def test_finite_supports_are_listed() -> None:
    finite = law(scipy.stats.binom(3, 0.5)).support()
    assert finite is not None
    np.testing.assert_array_equal(finite[0][:, 0], [0, 1, 2, 3])
    np.testing.assert_allclose(finite[1], [0.125, 0.375, 0.375, 0.125])
    assert law(scipy.stats.poisson(3.0)).support() is None
    assert law(scipy.stats.gamma(3.0)).support() is None


def test_vectors_tell_neither_higher_moments_nor_coordinates() -> None:
    found = law(scipy.stats.multivariate_t([0.0, 1.0], df=2))
    assert found.mean is not None
    assert found.cov is not None
    np.testing.assert_array_equal(found.mean, [0.0, 1.0])
    assert np.isnan(found.cov).any()
    assert math.isnan(found.raw_moment(3))
    assert found.cdf(np.zeros((1, 2))) is None
    assert found.quantile(np.array([0.5])) is None


def test_numbers_too_large_for_a_float_are_refused() -> None:
    for args, kwds in (([10**400], {}), ([], {"loc": 10**400})):
        with refused(ValueError, "Frozen", "args and kwds must be parameters of gamma"):
            belief_from_json({"type": "Frozen", "distribution": "gamma", "args": args or [2.0], "kwds": kwds})


@pytest.mark.parametrize("frozen", [scipy.stats.norm(10**400, 1), scipy.stats.gamma(2, loc=-(10**400))], ids=["n", "g"])
def test_distributions_with_numbers_too_large_for_a_float_are_refused(frozen: Any) -> None:
    with pytest.raises(ValueError, match=r"^(as_belief|Frozen): [a-z]+ must have parameters in its domain"):
        as_belief(frozen)


def test_moments_that_are_not_finite_are_refused() -> None:
    large = Frozen(scipy.stats.uniform(1e200, 1.0))
    np.testing.assert_allclose(large.moments(np.array([[1]])), 1e200)
    with refused(NoClosedForm, "Frozen", "the moment of degree 2 of uniform"):
        large.moments(np.array([[2]]))
