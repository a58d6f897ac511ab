from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, PointMass, Sampler
from overcast.beliefs._moments import exponents
from overcast.beliefs.stacked import BeliefStack, Catalogue, CorrelatedStack, GaussianStack, PointStack

R, C = 4, 3
MEAN = np.random.default_rng(0).normal(size=(R, C))
POWERS = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 1], [0, 4, 0], [1, 1, 1], [3, 2, 1]])


def _rngs() -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in range(R)]


def _cases() -> dict[str, tuple[BeliefStack, list[Belief]]]:
    """Each stack beside the same beliefs one by one."""
    by_trial = np.random.default_rng(1).random((R, C))
    by_coordinate = np.array([0.5, 0.0, 2.0])
    distinct: list[Belief] = [Gaussian(MEAN[0], by_coordinate), PointMass(MEAN[1]), Ensemble(MEAN)]
    index = np.array([2, 0, 2, 1])
    return {
        "scalar": (GaussianStack(MEAN, 0.7), [Gaussian(m, 0.7) for m in MEAN]),
        "by coordinate": (GaussianStack(MEAN, by_coordinate), [Gaussian(m, by_coordinate) for m in MEAN]),
        "by trial": (GaussianStack(MEAN, by_trial), [Gaussian(m, v) for m, v in zip(MEAN, by_trial, strict=True)]),
        "points": (PointStack(MEAN), [PointMass(m) for m in MEAN]),
        "catalogue": (Catalogue(distinct).pick(index), [distinct[i] for i in index]),
    }


each = pytest.mark.parametrize(("stack", "beliefs"), _cases().values(), ids=_cases().keys())


@each
def test_sizes(stack: BeliefStack, beliefs: list[Belief]) -> None:
    assert (len(stack), stack.dim, stack.exact) == (R, C, True)
    assert len(beliefs) == R


@each
def test_mean_and_variance_trial_by_trial(stack: BeliefStack, beliefs: list[Belief]) -> None:
    np.testing.assert_array_equal(stack.mean(), [b.mean() for b in beliefs])
    variance = np.broadcast_to(stack.variance(), stack.mean().shape)
    np.testing.assert_array_equal(variance, [b.variance() for b in beliefs])


@each
def test_covariances_trial_by_trial(stack: BeliefStack, beliefs: list[Belief]) -> None:
    np.testing.assert_array_equal(stack.cov(), [b.cov() for b in beliefs])


def test_covariances_of_a_correlated_stack() -> None:
    root = np.random.default_rng(5).normal(size=(R, C, 2))
    stack = CorrelatedStack(MEAN, root)
    np.testing.assert_allclose(stack.cov(), [A @ A.T for A in root], rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(stack.cov(), [stack[trial].cov() for trial in range(R)], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(stack.variance(), np.diagonal(stack.cov(), axis1=1, axis2=2), rtol=1e-12)


@each
def test_moments_trial_by_trial(stack: BeliefStack, beliefs: list[Belief]) -> None:
    np.testing.assert_allclose(stack.moments(POWERS), [b.moments(POWERS) for b in beliefs], rtol=1e-12, atol=1e-15)


@each
def test_beliefs_about_the_deviation_from_the_mean(stack: BeliefStack, beliefs: list[Belief]) -> None:
    powers, centred = exponents(stack.dim, 3), stack.centred()
    np.testing.assert_allclose(centred.mean(), np.zeros((len(stack), stack.dim)), atol=1e-12)
    np.testing.assert_allclose(centred.cov(), stack.cov(), rtol=1e-9, atol=1e-12)
    expected = [belief.centred().moments(powers) for belief in beliefs]
    np.testing.assert_allclose(centred.moments(powers), expected, rtol=1e-9, atol=1e-12)


@each
def test_draws_are_those_of_the_beliefs_to_the_last_bit(stack: BeliefStack, beliefs: list[Belief]) -> None:
    expected = [b.sample(5, rng) for b, rng in zip(beliefs, _rngs(), strict=True)]
    np.testing.assert_array_equal(stack.sample(5, _rngs()), expected)


def test_tables_are_computed_once_for_each_belief() -> None:
    calls: list[Belief] = []

    def total(belief: Belief) -> Array:
        calls.append(belief)
        return np.atleast_1d(belief.mean().sum())

    beliefs = [PointMass([1.0, 2.0]), PointMass([3.0, 4.0])]
    catalogue = Catalogue(beliefs)
    for _ in range(3):
        table = catalogue.table("total", total)
    np.testing.assert_array_equal(table, [[3.0], [7.0]])
    assert calls == beliefs
    assert not table.flags.writeable
    np.testing.assert_array_equal(catalogue.pick(np.array([1, 0, 1])).gather("total", total), [[7.0], [3.0], [7.0]])
    assert len(calls) == 2


def test_moment_tables_are_kept_apart_by_their_powers() -> None:
    stack = Catalogue([PointMass([2.0, 3.0])]).pick(np.array([0]))
    assert stack.moments(np.array([[1, 2]]))[0, 0] == 18.0
    assert stack.moments(np.array([[2, 1]]))[0, 0] == 12.0
    np.testing.assert_array_equal(stack.moments(np.array([[1, 0], [0, 1]])), [[2.0, 3.0]])


def test_picked_beliefs_are_found_by_index() -> None:
    beliefs = (PointMass([1.0]), PointMass([2.0]))
    stack = Catalogue(beliefs).pick(np.array([1, 0, 1]))
    assert [stack.beliefs[i].mean()[0] for i in stack.index] == [2.0, 1.0, 2.0]


def test_a_catalogue_with_a_sampler_is_not_exact() -> None:
    catalogue = Catalogue([PointMass([1.0]), Sampler(lambda n, rng: rng.normal(size=n), 1)])
    assert not catalogue.pick(np.array([0])).exact


@each
def test_trials_can_be_taken_out_one_by_one(stack: BeliefStack, beliefs: list[Belief]) -> None:
    for trial, belief in enumerate(beliefs):
        assert type(stack[trial]) is type(belief)
        np.testing.assert_array_equal(stack[trial].mean(), belief.mean())
        np.testing.assert_array_equal(stack[trial].cov(), belief.cov())


def test_a_gaussian_stack_draws_what_its_beliefs_draw() -> None:
    stack = GaussianStack(np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([0.5, 4.0]))

    def generators() -> list[np.random.Generator]:
        return [np.random.default_rng(i) for i in range(2)]

    alone = [stack[i].sample(5, rng) for i, rng in enumerate(generators())]
    np.testing.assert_allclose(stack.sample(5, generators()), alone, rtol=1e-14)
    means = [stack[i].sample_mean(5, rng) for i, rng in enumerate(generators())]
    np.testing.assert_allclose(stack.sample_mean(5, generators()), means, rtol=1e-14)
    moments = [stack[i].sample_moments(5, rng) for i, rng in enumerate(generators())]
    got = stack.sample_moments(5, generators())
    np.testing.assert_allclose(np.stack(got, axis=1), moments, rtol=1e-14)


def _roots() -> dict[str, Array]:
    """Factors (R, C, e) of covariances: square, wide, tall, and with directions that are certain."""
    draws = np.random.default_rng(2).normal(size=(R, C, 5))
    wide = draws.copy()
    singular = draws[..., :C].copy()
    singular[:, 1] = 2.0 * singular[:, 0]  # the second coordinate follows from the first
    singular[2] = 0.0  # and one trial knows its context
    return {
        "cholesky": np.asarray(np.linalg.cholesky(wide @ wide.swapaxes(-1, -2)), dtype=np.float64),
        "square": draws[..., :C],
        "wide": wide,
        "tall": draws[..., :2],
        "one column": draws[..., :1],
        "singular": singular,
        "zero": np.zeros((R, C, 2)),
    }


ROOTS = _roots()
each_root = pytest.mark.parametrize("root", ROOTS.values(), ids=ROOTS.keys())


def naive_cov(root: Array) -> Array:
    """A A^T, one product at a time."""
    c, e = root.shape
    out = np.zeros((c, c))
    for i, j, m in itertools.product(range(c), range(c), range(e)):
        out[i, j] += root[i, m] * root[j, m]
    return out


@each_root
def test_a_correlated_stack_holds_the_moments_of_its_gaussians(root: Array) -> None:
    stack = CorrelatedStack(MEAN, root)
    assert (len(stack), stack.dim, stack.exact) == (R, C, True)
    np.testing.assert_array_equal(stack.mean(), MEAN)
    for i in range(R):
        alone = Gaussian(MEAN[i], naive_cov(root[i]))
        assert isinstance(stack[i], Gaussian)
        np.testing.assert_array_equal(stack[i].mean(), MEAN[i])
        np.testing.assert_allclose(stack[i].cov(), alone.cov(), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(stack.variance()[i], alone.variance(), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(stack.moments(POWERS)[i], alone.moments(POWERS), rtol=1e-11, atol=1e-12)


def test_a_correlated_stack_with_diagonal_factors_is_one_of_independent_coordinates() -> None:
    deviations = np.random.default_rng(3).random((R, C))
    correlated = CorrelatedStack(MEAN, deviations[..., None] * np.eye(C))
    independent = GaussianStack(MEAN, deviations**2)
    np.testing.assert_allclose(correlated.variance(), independent.variance(), rtol=1e-14)
    np.testing.assert_allclose(correlated.moments(POWERS), independent.moments(POWERS), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(correlated.sample(6, _rngs()), independent.sample(6, _rngs()), rtol=1e-13, atol=1e-13)
    means = correlated.sample_mean(6, _rngs())
    np.testing.assert_allclose(means, independent.sample_mean(6, _rngs()), rtol=1e-13, atol=1e-13)


def test_a_correlated_stack_with_cholesky_factors_draws_what_its_gaussians_draw() -> None:
    stack = CorrelatedStack(MEAN, ROOTS["cholesky"])
    alone = [stack[i].sample(5, rng) for i, rng in enumerate(_rngs())]
    np.testing.assert_allclose(stack.sample(5, _rngs()), alone, rtol=1e-12, atol=1e-12)
    means = [stack[i].sample_mean(5, rng) for i, rng in enumerate(_rngs())]
    np.testing.assert_allclose(stack.sample_mean(5, _rngs()), means, rtol=1e-12, atol=1e-12)
    moments = [stack[i].sample_moments(5, rng) for i, rng in enumerate(_rngs())]
    got = np.stack(stack.sample_moments(5, _rngs()), axis=1)
    np.testing.assert_allclose(got, moments, rtol=1e-12, atol=1e-12)


@each_root
def test_draws_of_a_correlated_trial_come_from_its_own_generator(root: Array) -> None:
    together = CorrelatedStack(MEAN, root)
    for i in range(R):
        alone = CorrelatedStack(MEAN[i : i + 1], root[i : i + 1])
        for n in (0, 1, 5):
            draws = together.sample(n, _rngs())
            assert draws.shape == (R, n, C)
            np.testing.assert_allclose(draws[i], alone.sample(n, _rngs()[i : i + 1])[0], rtol=0, atol=1e-14)
        means = alone.sample_mean(5, _rngs()[i : i + 1])
        np.testing.assert_allclose(together.sample_mean(5, _rngs())[i], means[0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(together.sample_mean(1, _rngs()), together.sample(1, _rngs())[:, 0], rtol=0, atol=1e-14)


def assert_standard_normal(z: Array) -> None:
    """Exact tests of mean and variance, and Kolmogorov-Smirnov, at 1e-6 each; pairs of columns (n, m) at 1e-6 a pair.

    sum z_i z'_i has variance n; for the sizes used here its tails are normal at this level up to a factor of two.
    """
    flat, n = z.ravel(), z.size
    assert 2 * stats.norm.sf(abs(flat.sum()) / math.sqrt(n)) > 1e-6
    square = float(flat @ flat)
    assert 2 * min(stats.chi2.cdf(square, n), stats.chi2.sf(square, n)) > 1e-6
    assert stats.kstest(flat, "norm").pvalue > 1e-6
    off = np.abs((z.T @ z)[np.triu_indices(z.shape[1], 1)]) / math.sqrt(len(z))
    assert 2 * stats.norm.sf(off.max(initial=0.0)) > 1e-6


@each_root
@pytest.mark.parametrize("averaged", [False, True], ids=["sample", "sample_mean"])
def test_draws_of_a_correlated_stack_have_its_law(root: Array, averaged: bool) -> None:
    """U^T (c - mean), scaled to unit variance by the eigenvalues of A A^T, is standard normal; null directions vanish.

    Seven factors of four trials, each drawn and averaged: at most 3 tests and 3 pairs (the pairs up to twice 1e-6) for
    each of 56, so that the false alarm is below 6e-4. An average of n has the variance of one draw divided by n.
    """
    stack, n = CorrelatedStack(MEAN, root), 7
    if averaged:
        rngs = _rngs()
        draws = np.stack([stack.sample_mean(n, rngs) for _ in range(1000)], axis=1)
        scaled = math.sqrt(n) * (draws - MEAN[:, None])
    else:
        scaled = stack.sample(1000, _rngs()) - MEAN[:, None]
    assert scaled.shape == (R, 1000, C)
    for i in range(R):
        variances, directions = np.linalg.eigh(naive_cov(root[i]))
        certain = variances <= 1e-12 * max(1.0, variances.max())
        z = scaled[i] @ directions
        np.testing.assert_allclose(z[:, certain], 0.0, rtol=0, atol=1e-6)
        if not certain.all():
            assert_standard_normal(z[:, ~certain] / np.sqrt(variances[~certain]))


@each_root
def test_sampled_moments_of_a_correlated_stack_are_those_of_its_draws(root: Array) -> None:
    stack = CorrelatedStack(MEAN, root)
    draws = stack.sample(6, _rngs())
    mean, square = stack.sample_moments(6, _rngs())
    np.testing.assert_allclose(mean, draws.mean(axis=1), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(square, (draws**2).mean(axis=1), rtol=1e-12, atol=1e-14)
