from __future__ import annotations

import numpy as np
import pytest

from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, PointMass, Sampler
from overcast.beliefs.stacked import BeliefStack, Catalogue, GaussianStack, PointStack

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
def test_moments_trial_by_trial(stack: BeliefStack, beliefs: list[Belief]) -> None:
    np.testing.assert_allclose(stack.moments(POWERS), [b.moments(POWERS) for b in beliefs], rtol=1e-12, atol=1e-15)


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
