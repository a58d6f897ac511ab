from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from overcast.environments import CoinFlip, Environment, Rounds, Trials

EXAMPLES: list[Environment] = [CoinFlip(), CoinFlip(p=0.25, noise=0.0)]


def rngs(n: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, i]) for i in range(n)]


def play(trials: Trials, steps: int, n: int) -> list[Rounds]:
    past = np.zeros((n, steps), dtype=np.intp)
    return [trials.step(past[:, :t]) for t in range(steps)]


def test_rewards_of_section_2() -> None:
    """f(0, c) = c, f(1, c) = 1 - c, and their expectations p and 1 - p."""
    for now in play(CoinFlip(p=0.3).start_all(rngs(4)), 20, 4):
        for i in range(4):
            assert sorted(now.context[i]) == [0.0, 1.0]
            c = int(now.context[i].argmax())  # unit vector c stands for the outcome c
            assert now.rewards[i].tolist() == [c, 1 - c]
            assert now.expected[i].tolist() == [0.3, 0.7]
            support = now.belief[i].support()
            assert support is not None
            points, weights = support
            assert points.tolist() == [[1.0, 0.0], [0.0, 1.0]]
            np.testing.assert_allclose(weights, [0.7, 0.3], rtol=1e-15)


def test_theta_reproduces_the_rewards() -> None:
    env = CoinFlip()
    trials = env.start_all(rngs(3))
    assert trials.theta is not None
    assert np.linalg.norm(trials.theta) == pytest.approx(math.sqrt(2.0), rel=1e-15)
    for now in play(trials, 10, 3):
        for i in range(3):
            phi = env.features(trials.actions, now.context[i : i + 1])[:, 0]
            np.testing.assert_array_equal(np.linalg.norm(phi, axis=1), 1.0)
            np.testing.assert_array_equal(phi @ trials.theta, now.rewards[i])
            psi = env.features.expected(trials.actions, now.belief[i])
            np.testing.assert_allclose(psi @ trials.theta, now.expected[i], rtol=0, atol=1e-15)


def test_laws_of_coin_and_noise() -> None:
    """Four exact tests at 1e-6 (the p-value of Kolmogorov-Smirnov is exact too): false alarm 4e-6."""
    rounds = play(CoinFlip(p=0.6, noise=0.2).start_all(rngs(20)), 500, 20)
    heads = int(sum(now.context[:, 1].sum() for now in rounds))
    assert stats.binomtest(heads, 20 * 500, 0.6).pvalue > 1e-6
    z = np.concatenate([now.epsilon for now in rounds]) / 0.2
    assert 2 * stats.norm.sf(abs(z.sum()) / math.sqrt(len(z))) > 1e-6
    assert 2 * min(stats.chi2.cdf(z @ z, len(z)), stats.chi2.sf(z @ z, len(z))) > 1e-6
    assert stats.kstest(z, "norm").pvalue > 1e-6


def test_the_coin_does_not_care_what_was_played() -> None:
    ones = np.ones((2, 30), dtype=np.intp)
    left, right = CoinFlip().start_all(rngs(2)), CoinFlip().start_all(rngs(2))
    for t in range(30):
        a, b = left.step(0 * ones[:, :t]), right.step(ones[:, :t])
        np.testing.assert_array_equal(a.context, b.context)
        np.testing.assert_array_equal(a.epsilon, b.epsilon)


def test_printed_probability() -> None:
    assert CoinFlip().p == 0.6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": 0.0}, "CoinFlip: p must be > 0, got 0.0"),
        ({"p": 1.0}, "CoinFlip: p must be < 1, got 1.0"),
        ({"noise": -1.0}, "CoinFlip: noise must be >= 0, got -1.0"),
    ],
)
def test_bad_values(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        CoinFlip(**arguments)


def test_bad_type() -> None:
    with pytest.raises(TypeError, match=r"^CoinFlip: p must be a number, got 'half'$"):
        CoinFlip(p="half")  # type: ignore[arg-type]
