"""Maps of products: terms, their expectations and covariances, for one belief and for stacks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from feature_support import BELIEFS, POINTS, SEPARABLE, STACKS, Rule
from overcast._check import Array
from overcast._linalg import Indices
from overcast.beliefs import Belief, Ensemble, Gaussian, NoClosedForm, PointMass, Sampler
from overcast.beliefs.base import Beliefs
from overcast.beliefs.stacked import BeliefStack, Catalogue, CorrelatedStack, GaussianStack, PointStack
from overcast.features import Bilinear, Linear, Polynomial, Quadratic, Separable, separable
from overcast.models import LinearModel
from support import refused

RNG = np.random.default_rng(0)
ACTIONS = RNG.normal(size=(4, 3))
CONTEXTS = RNG.normal(size=(5, 3))
each_separable = pytest.mark.parametrize("features", SEPARABLE, ids=repr)


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


@pytest.mark.parametrize(("stack", "beliefs"), STACKS.values(), ids=STACKS.keys())
@each_separable
def test_stacks_give_the_terms_of_every_trial(features: Separable, stack: BeliefStack, beliefs: list[Belief]) -> None:
    expected = [features.expected_terms(belief) for belief in beliefs]
    np.testing.assert_allclose(features.expected_terms(stack), expected, rtol=1e-12, atol=1e-14)


def test_a_stack_with_a_sampler_has_no_closed_form() -> None:
    beliefs: list[Belief] = [PointMass([0.0, 1.0]), Sampler(lambda n, rng: rng.normal(size=(n, 2)), dim=2)]
    with refused(NoClosedForm, "Quadratic", "CatalogueStack", "samples="):
        Quadratic().expected_terms(Catalogue(beliefs).pick(np.array([0, 0])))


@pytest.mark.parametrize(("belief", "rule"), BELIEFS.values(), ids=BELIEFS.keys())
@each_separable
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


@pytest.mark.parametrize("features", [Quadratic(), Polynomial(2)], ids=repr)
def test_covariances_without_a_closed_form_come_from_draws_that_are_the_same_each_time(features: Separable) -> None:
    """Within six standard errors, estimated from more draws: 2e-9 per entry."""
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
@each_separable
def test_stacks_give_the_covariances_of_every_trial(
    features: Separable, stack: BeliefStack, beliefs: list[Belief]
) -> None:
    expected = [features.term_covariance(belief) for belief in beliefs]
    np.testing.assert_allclose(features.term_covariance(stack), expected, rtol=1e-10, atol=1e-12)


@each_separable
def test_correlated_stacks_give_the_covariances_of_every_trial(features: Separable) -> None:
    expected = [features.term_covariance(Gaussian(mean, A @ A.T)) for mean, A in zip(POINTS, ROOTS, strict=True)]
    got = features.term_covariance(CorrelatedStack(POINTS, ROOTS))
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


def test_the_covariance_of_points_that_stand_for_a_belief() -> None:
    points, weights = np.random.default_rng(0).normal(size=(5, 2)), np.array([0.1, 0.2, 0.3, 0.15, 0.25])
    got = Bilinear()._covariance_of_stand_in(Ensemble(points, weights))
    np.testing.assert_allclose(got, np.cov(points.T, aweights=weights, bias=True), rtol=1e-12)


class Waves(Separable):
    """A map as users write it: cosines of the context, with expectations under normal beliefs, and no covariances."""

    def action_terms(self, actions: Array) -> Array:
        return actions

    def context_terms(self, contexts: Array) -> Array:
        return np.cos(contexts)

    def pairs(self, a: int, c: int) -> tuple[Indices, Indices]:
        return np.repeat(np.arange(a), c), np.tile(np.arange(c), a)

    def _expected_terms(self, beliefs: Beliefs) -> Array:
        return np.exp(-beliefs.variance() / 2) * np.cos(beliefs.mean())


def test_a_map_of_ones_own_needs_no_covariances_for_finite_supports() -> None:
    points, weights = np.random.default_rng(0).normal(size=(7, 2)), np.random.default_rng(1).dirichlet(np.ones(7))
    got = Waves().term_covariance(Ensemble(points, weights))
    np.testing.assert_allclose(got, np.cov(np.cos(points).T, aweights=weights, bias=True), rtol=1e-12)


def test_a_map_of_ones_own_takes_covariances_from_draws() -> None:
    """Var(cos c) = (1 + exp(-2 v) cos 2m) / 2 - exp(-v) cos^2 m for c ~ N(m, v). The 256 draws are within six standard
    errors of it, estimated from more draws: 2e-9 per entry."""
    mean, v = np.array([0.3, -1.2]), np.array([0.8, 0.1])
    exact = (1 + np.exp(-2 * v) * np.cos(2 * mean)) / 2 - np.exp(-v) * np.cos(mean) ** 2
    got = Waves().term_covariance(Gaussian(mean, v))
    terms = np.cos(np.random.default_rng(7).normal(mean, np.sqrt(v), size=(4000, 2)))
    centred = terms - terms.mean(axis=0)
    error = (centred[:, :, None] * centred[:, None, :]).std(axis=0) / np.sqrt(256)
    assert (np.abs(got - np.diag(exact)) < 6 * error).all()
    together = Waves().term_covariance(GaussianStack(np.stack([mean, mean + 1.0]), v))
    np.testing.assert_allclose(together, [got, Waves().term_covariance(Gaussian(mean + 1.0, v))], rtol=1e-12)
    with refused(NoClosedForm, "Waves", "Gaussian", "samples="):
        Waves()._term_covariance(Gaussian(mean, v))


def test_a_map_of_ones_own_learns_less_from_vague_forecasts() -> None:
    """With a ridge and the noise given, a round has the precision psi psi^T / (noise^2 + theta^T Cov theta + ...)."""
    learner = LinearModel(Waves(), ridge=1.0, noise=0.1, weights="variance").start(np.eye(2), 2)
    sharp, vague = Gaussian([0.5, 1.0], 0.01), Gaussian([0.5, 1.0], 4.0)
    points = learner.at(np.eye(2))
    for _ in range(5):
        learner.learn(learner.evidence(points, learner.view(sharp), 0), 1.0)
    noise = [learner.noise(points, learner.view(belief))[0] for belief in (PointMass([0.5, 1.0]), sharp, vague)]
    theta, covs = learner.theta[:2], [Waves().term_covariance(belief) for belief in (sharp, vague)]
    assert noise[0] == pytest.approx(0.1)
    inverse = learner.fit.inverse[:2, :2]
    for found, cov in zip(noise[1:], covs, strict=True):
        assert found**2 == pytest.approx(0.01 + theta @ cov @ theta + np.sum(inverse * cov), rel=1e-9)


@each_separable
def test_covariances_of_rows_do_not_depend_on_whether_they_are_tabulated(
    features: Separable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With many actions and features, the products of action terms are computed for each row."""
    belief = Gaussian(CONTEXTS[0], np.cov(CONTEXTS.T))
    design = features.design(3, 3)
    with_table, without = design.at(ACTIONS), design.at(ACTIONS)
    rows = [with_table.row(design.view(belief), i, cov=True) for i in range(len(ACTIONS))]
    monkeypatch.setattr(separable, "MAX_TABLE", 0)
    for i, row in enumerate(rows):
        other = without.row(design.view(belief), i, cov=True)
        assert row.cov is not None
        assert other.cov is not None
        np.testing.assert_allclose(other.cov, row.cov, rtol=1e-12)
        np.testing.assert_array_equal(other.psi, row.psi)
    stack = Catalogue([belief, PointMass(CONTEXTS[1])]).pick(np.array([0, 1]))
    many = without.row(design.view(stack), np.array([2, 3]), cov=True)
    assert many.cov is not None
    assert rows[2].cov is not None
    np.testing.assert_allclose(many.cov[0], rows[2].cov, rtol=1e-12)
    np.testing.assert_array_equal(many.cov[1], 0.0)
    assert getattr(without, "_products") is None  # noqa: B009 - only separable points have it
    assert getattr(with_table, "_products") is not None  # noqa: B009


def test_only_vectors_of_zeros_without_a_constant_are_silent() -> None:
    actions = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert Bilinear().silent(actions).tolist() == [0, 2]
    assert [len(features.silent(actions)) for features in (Linear(), Quadratic(), Polynomial(2))] == [0, 0, 0]
    for features in (Bilinear(), Linear(), Quadratic(), Polynomial(2)):
        zero = ~features(actions, np.random.default_rng(0).normal(size=(5, 2))).any(axis=(1, 2))
        assert np.flatnonzero(zero).tolist() == features.silent(actions).tolist()
