"""E_mu[phi(x, c)] of every map under every belief, against quadrature rules of the test's own and against draws."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from overcast._check import Array
from overcast.beliefs import (
    Belief,
    Ensemble,
    Gaussian,
    Independent,
    Mixture,
    NoClosedForm,
    PointMass,
    Quantiles,
    Sampler,
)
from overcast.beliefs.stacked import BeliefStack, Catalogue, CorrelatedStack, GaussianStack, PointStack
from overcast.features import Bilinear, Disjoint, FeatureMap, Function, Linear, Polynomial, Quadratic, Separable
from support import refused

Rule = tuple[Array, Array]  # points (n, c) and weights (n,)

ACTIONS = np.random.default_rng(0).normal(size=(3, 2))
POINTS = np.random.default_rng(1).normal(size=(5, 2))
WEIGHTS = np.array([0.1, 0.35, 0.0, 0.25, 0.3])
COV = np.array([[1.3, -0.6], [-0.6, 0.8]])
LEVELS = np.array([0.1, 0.4, 0.9])
VALUES = np.array([[-1.0, 0.0], [0.5, 0.0], [2.0, 3.0]])


def _normal(mean: Sequence[float], cov: Array) -> Rule:
    """Gauss-Hermite, exact for polynomials up to degree 11 a coordinate."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    root = np.linalg.cholesky(cov)
    grid = np.array(list(itertools.product(nodes, repeat=len(mean))))
    products = np.array([np.prod(w) for w in itertools.product(weights, repeat=len(mean))])
    return np.asarray(mean) + grid @ root.T, products / products.sum()


def _quantiles(column: Array) -> Rule:
    """Gauss-Legendre on each linear piece of the quantile function, and the tails' mass at its ends."""
    nodes, weights = np.polynomial.legendre.leggauss(6)
    points, masses = [column[0], column[-1]], [LEVELS[0], 1 - LEVELS[-1]]
    for a, b, du in zip(column[:-1], column[1:], np.diff(LEVELS), strict=True):
        points += list((a + b) / 2 + (b - a) / 2 * nodes)
        masses += list(du * weights / 2)
    return np.array(points)[:, None], np.array(masses)


def _product(first: Rule, second: Rule) -> Rule:
    pairs = list(itertools.product(range(len(first[1])), range(len(second[1]))))
    points = np.array([[*first[0][i], *second[0][j]] for i, j in pairs])
    return points, np.array([first[1][i] * second[1][j] for i, j in pairs])


def _mix(rules: list[Rule], weights: list[float]) -> Rule:
    points = np.concatenate([points for points, _ in rules])
    return points, np.concatenate([w * inner for w, (_, inner) in zip(weights, rules, strict=True)])


ONE = np.array([[2.0], [-1.0], [0.5]])
BELIEFS: dict[str, tuple[Belief, Rule]] = {
    "point": (PointMass([1.5, -2.0]), (np.array([[1.5, -2.0]]), np.ones(1))),
    "gaussian scalar": (Gaussian([1.0, -0.5], 0.7), _normal([1.0, -0.5], 0.7 * np.eye(2))),
    "gaussian variances": (Gaussian([1.0, -0.5], [0.7, 2.0]), _normal([1.0, -0.5], np.diag([0.7, 2.0]))),
    "gaussian matrix": (Gaussian([1.0, -0.5], COV), _normal([1.0, -0.5], COV)),
    "ensemble": (Ensemble(POINTS, WEIGHTS), (POINTS, WEIGHTS)),
    "mixture": (
        Mixture([Gaussian([0.0, 1.0], COV), PointMass([2.0, 2.0]), Ensemble(POINTS)], [0.5, 0.2, 0.3]),
        _mix(
            [_normal([0.0, 1.0], COV), (np.array([[2.0, 2.0]]), np.ones(1)), (POINTS, np.full(5, 0.2))],
            [0.5, 0.2, 0.3],
        ),
    ),
    "independent": (
        Independent([Gaussian([1.0], 0.5), Ensemble(ONE, [0.2, 0.5, 0.3])]),
        _product(_normal([1.0], np.array([[0.5]])), (ONE, np.array([0.2, 0.5, 0.3]))),
    ),
    "finite independent": (
        Independent([PointMass(3.0), Ensemble(ONE, [0.2, 0.5, 0.3])]),
        _product((np.array([[3.0]]), np.ones(1)), (ONE, np.array([0.2, 0.5, 0.3]))),
    ),
    "quantiles": (Quantiles(LEVELS, VALUES), _product(_quantiles(VALUES[:, 0]), _quantiles(VALUES[:, 1]))),
}


def _cubic(x: Array, c: Array) -> Array:
    """Not polynomial in the action, cubic in the context, so that the quadrature rules stay exact."""
    u = np.tanh(x)[:, None, :] + c[None, :, :]
    return np.stack([u[..., 0] ** 3, u[..., 0] * u[..., 1] ** 2, np.ones(u.shape[:2])], axis=-1)


MAPS: dict[str, tuple[FeatureMap, Array]] = {
    "quadratic": (Quadratic(), ACTIONS),
    "bilinear": (Bilinear(), ACTIONS),
    "linear": (Linear(), ACTIONS),
    "polynomial 1": (Polynomial(1), ACTIONS),
    "polynomial 2": (Polynomial(2), ACTIONS),
    "polynomial 3": (Polynomial(3), ACTIONS),
    "disjoint": (Disjoint(3), np.eye(3)),
    "function": (Function(_cubic, 3), ACTIONS),
}
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
    """Five standard errors: 6e-7 a feature, 1.2e-3 over the 2,052 features of all cases."""
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


@pytest.mark.parametrize("under", ["gaussian scalar", "gaussian matrix", "mixture", "independent", "quantiles"])
def test_functions_need_a_finite_support(under: str) -> None:
    belief, _ = BELIEFS[under]
    with refused(NoClosedForm, "Function", type(belief).__name__, "samples="):
        Function(_cubic, 3).expected(ACTIONS, belief)


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
    about 0.06 elsewhere. A ratio outside [0.35, 1.8] is five of the larger ones away: below 1e-4 a check with
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


STACKS: dict[str, tuple[BeliefStack, list[Belief]]] = {
    "gaussian": (GaussianStack(POINTS, 0.7), [Gaussian(m, 0.7) for m in POINTS]),
    "variances": (GaussianStack(POINTS, POINTS**2), [Gaussian(m, m**2) for m in POINTS]),
    "points": (PointStack(POINTS), [PointMass(c) for c in POINTS]),
    "catalogue": (
        Catalogue([belief for belief, _ in BELIEFS.values()]).pick(np.array([3, 0, 3, 8, 5])),
        [[belief for belief, _ in BELIEFS.values()][i] for i in (3, 0, 3, 8, 5)],
    ),
}


@pytest.mark.parametrize(("stack", "beliefs"), STACKS.values(), ids=STACKS.keys())
@pytest.mark.parametrize(
    "features", [features for features, _ in MAPS.values() if isinstance(features, Separable)], ids=repr
)
def test_stacks_give_the_terms_of_every_trial(features: Separable, stack: BeliefStack, beliefs: list[Belief]) -> None:
    expected = [features.expected_terms(belief) for belief in beliefs]
    np.testing.assert_allclose(features.expected_terms(stack), expected, rtol=1e-12, atol=1e-14)


def test_a_stack_with_a_sampler_has_no_closed_form() -> None:
    beliefs: list[Belief] = [PointMass([0.0, 1.0]), Sampler(lambda n, rng: rng.normal(size=(n, 2)), dim=2)]
    with refused(NoClosedForm, "Quadratic", "CatalogueStack", "samples="):
        Quadratic().expected_terms(Catalogue(beliefs).pick(np.array([0, 0])))


SEPARABLE = [features for features, _ in MAPS.values() if isinstance(features, Separable)]


@pytest.mark.parametrize(("belief", "rule"), BELIEFS.values(), ids=BELIEFS.keys())
@pytest.mark.parametrize("features", SEPARABLE, ids=repr)
def test_covariances_of_terms_over_an_exact_rule(features: Separable, belief: Belief, rule: Rule) -> None:
    """Terms up to degree three, so products up to six: the rules are exact for all of them."""
    points, weights = rule
    terms = features.context_terms(points)
    centred = terms - weights @ terms
    got = features.term_covariance(belief)
    np.testing.assert_allclose(got, np.einsum("n,ni,nj->ij", weights, centred, centred), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(got, got.T, rtol=0, atol=1e-14)


def test_the_terms_of_a_point_do_not_vary_at_all() -> None:
    for features in SEPARABLE:
        for belief in (PointMass([1e5 / 3, 0.1]), PointStack(POINTS * 1e5 / 3)):
            assert not features.term_covariance(belief).any()


def test_quadratic_terms_of_a_narrow_gaussian_far_from_zero_keep_their_digits() -> None:
    """Cov(c^2, c^2) = 2 v (v + 2 m^2), where E[c^4] - E[c^2]^2 would be lost in rounding."""
    got = Quadratic().term_covariance(Gaussian([1e6], 1e-8))
    np.testing.assert_allclose(got, [[0.0, 0.0, 0.0], [0.0, 4e4, 2e-2], [0.0, 2e-2, 1e-8]], rtol=1e-12)


@pytest.mark.parametrize("features", [Quadratic(), Polynomial(2)], ids=repr)
def test_covariances_without_a_closed_form_come_from_draws_that_are_the_same_each_time(features: Separable) -> None:
    """Within six standard errors, which more draws of the products of deviations show: 2e-9 an entry."""
    sampler = Sampler(lambda n, rng: rng.normal([1.0, -0.5], [0.8, 1.4], size=(n, 2)), dim=2)
    got = features.term_covariance(sampler)
    np.testing.assert_array_equal(got, features.term_covariance(sampler))
    exact = features.term_covariance(Gaussian([1.0, -0.5], [0.64, 1.96]))
    terms = features.context_terms(sampler.sample(4000, np.random.default_rng(7)))
    centred = terms - terms.mean(axis=0)
    error = (centred[:, :, None] * centred[:, None, :]).std(axis=0) / np.sqrt(256)
    assert (np.abs(got - exact) <= 6 * error).all()
    mixed = Catalogue([sampler, PointMass([0.0, 1.0])]).pick(np.array([1, 0]))
    np.testing.assert_array_equal(features.term_covariance(mixed), [np.zeros_like(got), got])


ROOTS = np.random.default_rng(8).normal(size=(5, 2, 2))


@pytest.mark.parametrize(("stack", "beliefs"), STACKS.values(), ids=STACKS.keys())
@pytest.mark.parametrize("features", SEPARABLE, ids=repr)
def test_stacks_give_the_covariances_of_every_trial(
    features: Separable, stack: BeliefStack, beliefs: list[Belief]
) -> None:
    expected = [features.term_covariance(belief) for belief in beliefs]
    np.testing.assert_allclose(features.term_covariance(stack), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("features", SEPARABLE, ids=repr)
def test_correlated_stacks_give_the_covariances_of_every_trial(features: Separable) -> None:
    expected = [features.term_covariance(Gaussian(mean, A @ A.T)) for mean, A in zip(POINTS, ROOTS, strict=True)]
    got = features.term_covariance(CorrelatedStack(POINTS, ROOTS))
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
