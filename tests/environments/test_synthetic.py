from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from overcast import Gaussian
from overcast._check import Array
from overcast.environments import Environment, Rounds, Synthetic, Trials

EXAMPLES: list[Environment] = [
    Synthetic(k=6, dim=3),
    Synthetic(k=1, dim=1, noise=0.0, variance=0.0),
]


def naive_reward(x: Array, c: Array) -> float:
    return sum((float(x[i]) - float(c[i])) ** 2 for i in range(len(x)))


def rngs(n: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, i]) for i in range(n)]


def play(trials: Trials, steps: int, n: int) -> list[Rounds]:
    past = np.zeros((n, steps), dtype=np.intp)
    return [trials.step(past[:, :t]) for t in range(steps)]


def assert_standard_normal(values: Array) -> None:
    """Exact tests of mean and variance, and Kolmogorov-Smirnov, at 1e-6 each."""
    z = values.ravel()
    n = len(z)
    assert 2 * stats.norm.sf(abs(z.sum()) / math.sqrt(n)) > 1e-6
    square = float(z @ z)
    assert 2 * min(stats.chi2.cdf(square, n), stats.chi2.sf(square, n)) > 1e-6
    assert stats.kstest(z, "norm").pvalue > 1e-6


def assert_uncorrelated(columns: Array) -> None:
    """Every pair of columns (n, m) of independent standard normals, at 1e-6 per pair.

    sum z_i z'_i has variance n; for the sizes used here its tails are normal at this level up to a factor of two.
    """
    gram = columns.T @ columns / math.sqrt(len(columns))
    off = np.abs(gram[np.triu_indices(columns.shape[1], 1)])
    assert 2 * stats.norm.sf(off.max()) > 1e-6


@pytest.mark.parametrize("env", [Synthetic(), Synthetic(k=7, dim=2, noise=0.5, variance=0.3), Synthetic(k=1, dim=1)])
def test_rewards_and_their_expectation_by_formula(env: Synthetic) -> None:
    n = 3
    trials = env.start_all(rngs(n))
    assert trials.actions.shape == (n, env.k, env.dim)
    for now in play(trials, 5, n):
        assert now.context.shape == (n, env.dim)
        assert now.rewards.shape == now.expected.shape == (n, env.k)
        assert now.epsilon.shape == (n,)
        for i in range(n):
            mean = now.belief[i].mean()
            for j, x in enumerate(trials.actions[i]):
                assert now.rewards[i, j] == pytest.approx(naive_reward(x, now.context[i]), abs=1e-11)
                # E (x - c)^2 = (x - m)^2 + variance, coordinate by coordinate
                expected = naive_reward(x, mean) + env.dim * env.variance
                assert now.expected[i, j] == pytest.approx(expected, abs=1e-11)


def test_expectation_by_monte_carlo() -> None:
    """12 averages of 50,000 draws within 5 standard errors: false alarm below 12 x 6e-7 = 7e-6."""
    env, n, draws = Synthetic(k=4, dim=3, variance=0.7), 3, 50_000
    trials = env.start_all(rngs(n))
    now = play(trials, 1, n)[0]
    for i in range(n):
        contexts = now.belief[i].sample(draws, np.random.default_rng(i))
        for j, x in enumerate(trials.actions[i]):
            values = ((x - contexts) ** 2).sum(axis=1)
            error = values.std(ddof=1) / math.sqrt(draws)
            assert abs(values.mean() - now.expected[i, j]) <= 5 * error


def test_theta_reproduces_the_rewards() -> None:
    env = Synthetic(k=6, dim=4, variance=0.5)
    trials = env.start_all(rngs(2))
    assert trials.theta is not None
    np.testing.assert_array_equal(trials.theta, [1] * 4 + [1] * 4 + [-2] * 4)
    for now in play(trials, 4, 2):
        for i in range(2):
            phi = env.features(trials.actions[i], now.context[i : i + 1])[:, 0]
            np.testing.assert_allclose(phi @ trials.theta, now.rewards[i], rtol=0, atol=1e-11)
            psi = env.features.expected(trials.actions[i], now.belief[i])
            np.testing.assert_allclose(psi @ trials.theta, now.expected[i], rtol=0, atol=1e-11)


def test_beliefs_are_gaussian_around_the_centre() -> None:
    now = play(Synthetic(variance=0.3).start_all(rngs(2)), 1, 2)[0]
    belief = now.belief[1]
    assert isinstance(belief, Gaussian)
    np.testing.assert_array_equal(belief.cov(), 0.3 * np.eye(5))
    np.testing.assert_array_equal(belief.mean(), now.belief.mean()[1])


def test_laws_of_actions_centres_contexts_and_noise() -> None:
    """Actions, m_t, (c_t - m_t) / sd and epsilon_t / sd are standard normal, and independent.

    False alarm: 4 laws x 3 tests and 55 pairs, 1e-6 each (the pairs twice that): about 1e-4.
    """
    env, n, steps = Synthetic(variance=0.25, noise=0.4), 40, 300
    trials = env.start_all(rngs(n))
    rounds = play(trials, steps, n)
    centres = np.concatenate([now.belief.mean() for now in rounds])
    contexts = np.concatenate([now.context for now in rounds])
    epsilon = np.concatenate([now.epsilon for now in rounds])[:, None]
    columns = np.hstack([centres, (contexts - centres) / 0.5, epsilon / 0.4])
    assert_standard_normal(trials.actions)
    for part in (columns[:, :5], columns[:, 5:10], columns[:, 10:]):
        assert_standard_normal(part)
    assert_uncorrelated(columns)


def test_no_variance_is_a_known_context_and_no_noise_is_none() -> None:
    for now in play(Synthetic(variance=0.0, noise=0.0).start_all(rngs(2)), 3, 2):
        np.testing.assert_array_equal(now.context, now.belief.mean())
        np.testing.assert_allclose(now.rewards, now.expected, rtol=0, atol=1e-12)
        assert not now.epsilon.any()


def test_printed_defaults() -> None:
    assert Synthetic() == Synthetic(k=100, dim=5, noise=0.1, variance=1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "Synthetic: k must be >= 1, got 0"),
        ({"dim": 0}, "Synthetic: dim must be >= 1, got 0"),
        ({"noise": -0.1}, "Synthetic: noise must be >= 0, got -0.1"),
        ({"variance": -1.0}, "Synthetic: variance must be >= 0, got -1.0"),
        ({"variance": math.nan}, "Synthetic: variance must be finite, got nan"),
    ],
)
def test_bad_values(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Synthetic(**arguments)


@pytest.mark.parametrize(("name", "value"), [("k", 2.5), ("k", True), ("dim", "5"), ("noise", None), ("variance", "1")])
def test_bad_types(name: str, value: object) -> None:
    arguments: dict[str, Any] = {name: value}
    with pytest.raises(TypeError, match=rf"^Synthetic: {name} must be a (whole )?number, got .*$"):
        Synthetic(**arguments)
