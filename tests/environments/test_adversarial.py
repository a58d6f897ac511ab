from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from overcast import Belief, Ensemble
from overcast._check import Array
from overcast.beliefs.stacked import CatalogueStack
from overcast.environments import Adversarial, Environment, Rounds

EXAMPLES: list[Environment] = [Adversarial(k=4, dim=2, choices=3, members=2)]


def rngs(n: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, i]) for i in range(n)]


def points_of(belief: Belief) -> Array:
    support = belief.support()
    assert support is not None
    points, weights = support
    np.testing.assert_allclose(weights, 1 / len(points), rtol=1e-15)
    return points


def played(k: int, steps: int, n: int, seed: int = 5) -> NDArray[np.intp]:
    """Return choices (n, steps) with a favourite that changes now and then."""
    rng = np.random.default_rng(seed)
    habits = rng.integers(k, size=(n, -(-steps // 20))).repeat(20, axis=1)[:, :steps]
    return np.where(rng.random((n, steps)) < 0.7, habits, rng.integers(k, size=(n, steps)))


def naive_value(x: Array, theta: Array, c: Array) -> float:
    """x^T Theta c, term by term."""
    d = len(x)
    return sum(float(x[i]) * float(theta[i * d + j]) * float(c[j]) for i in range(d) for j in range(d))


def test_assumptions_of_the_theorems_hold() -> None:
    env, n = Adversarial(), 5
    trials = env.start_all(rngs(n))
    assert trials.theta is not None
    np.testing.assert_allclose(np.linalg.norm(trials.theta, axis=1), 1.0, rtol=1e-14)
    past = played(env.k, 50, n)
    for t in range(50):
        now = trials.step(past[:, :t])
        for i in range(n):
            phi = env.features(trials.actions[i], points_of(now.belief[i]))
            assert (np.linalg.norm(phi, axis=-1) <= 1.0 + 1e-12).all()
            assert (np.abs(now.rewards[i]) <= 1.0 + 1e-12).all()


def test_rewards_expectation_and_theta_agree() -> None:
    env, n = Adversarial(k=4, dim=2, choices=3, members=5), 3
    trials = env.start_all(rngs(n))
    theta = trials.theta
    assert theta is not None
    past = played(env.k, 40, n)
    for t in range(40):
        now = trials.step(past[:, :t])
        for i in range(n):
            members = points_of(now.belief[i])
            assert any(np.array_equal(now.context[i], point) for point in members)
            for j, x in enumerate(trials.actions[i]):
                assert now.rewards[i, j] == pytest.approx(naive_value(x, theta[i], now.context[i]), abs=1e-14)
                expected = sum(naive_value(x, theta[i], point) for point in members) / len(members)
                assert now.expected[i, j] == pytest.approx(expected, abs=1e-14)
            phi = env.features(trials.actions[i], now.context[i : i + 1])[:, 0]
            np.testing.assert_allclose(phi @ theta[i], now.rewards[i], rtol=0, atol=1e-14)
            psi = env.features.expected(trials.actions[i], now.belief[i])
            np.testing.assert_allclose(psi @ theta[i], now.expected[i], rtol=0, atol=1e-14)


def test_the_belief_is_the_worst_for_the_favourite_action() -> None:
    env, n, steps = Adversarial(k=6, dim=2, choices=4, members=3), 4, 120
    trials = env.start_all(rngs(n))
    theta = trials.theta
    assert theta is not None
    naive: dict[tuple[int, int], list[float]] = {}  # E f of all actions, by trial and belief
    past = played(env.k, steps, n)
    seen: list[set[int]] = [set() for _ in range(n)]
    for t in range(steps):
        now = trials.step(past[:, :t])
        assert isinstance(now.belief, CatalogueStack)
        for i in range(n):
            counts = [int((past[i, :t] == j).sum()) for j in range(env.k)]
            favourite = counts.index(max(counts))  # ties by the lowest index
            losses = []
            menu = now.belief.beliefs[i * env.choices : (i + 1) * env.choices]
            for b, belief in enumerate(menu):
                if (i, b) not in naive:
                    members = points_of(belief)
                    naive[i, b] = [
                        sum(naive_value(x, theta[i], c) for c in members) / len(members) for x in trials.actions[i]
                    ]
                losses.append(max(naive[i, b]) - naive[i, b][favourite])
            worst = losses.index(max(losses))
            assert now.belief[i] is menu[worst]
            seen[i].add(worst)
    assert sum(len(choices) > 1 for choices in seen) >= 2  # the favourite changed, and the belief with it


def test_beliefs_depend_on_the_past_actions_and_the_luck_does_not() -> None:
    env, n, steps = Adversarial(), 6, 60
    beliefs: list[list[Array]] = []
    epsilons: list[list[Array]] = []
    members: list[list[int]] = []
    for action in (0, 1, 2):
        trials = env.start_all(rngs(n))
        past = np.full((n, steps), action, dtype=np.intp)
        rounds: list[Rounds] = [trials.step(past[:, :t]) for t in range(steps)]
        beliefs.append([now.belief.mean() for now in rounds[1:]])
        epsilons.append([now.epsilon for now in rounds])
        members.append(
            [int((points_of(now.belief[i]) == now.context[i]).all(axis=1).argmax()) for now in rounds for i in range(n)]
        )
    assert not np.array_equal(beliefs[0], beliefs[1])
    assert not np.array_equal(beliefs[1], beliefs[2])
    for other in (1, 2):
        np.testing.assert_array_equal(epsilons[0], epsilons[other])
        assert members[0] == members[other]


def test_laws_of_context_and_noise() -> None:
    """c_t is uniform over the members (chi-square) and epsilon_t is normal (three tests): false alarm 4e-6."""
    env, n, steps = Adversarial(noise=0.3, members=4), 20, 300
    trials = env.start_all(rngs(n))
    past = played(env.k, steps, n)
    counts, epsilons = np.zeros(4), []
    for t in range(steps):
        now = trials.step(past[:, :t])
        epsilons.append(now.epsilon)
        for i in range(n):
            counts += (points_of(now.belief[i]) == now.context[i]).all(axis=1)
    assert counts.sum() == n * steps
    assert stats.chisquare(counts).pvalue > 1e-6
    z = np.concatenate(epsilons) / 0.3
    assert 2 * stats.norm.sf(abs(z.sum()) / math.sqrt(len(z))) > 1e-6
    assert 2 * min(stats.chi2.cdf(z @ z, len(z)), stats.chi2.sf(z @ z, len(z))) > 1e-6
    assert stats.kstest(z, "norm").pvalue > 1e-6


def test_the_smallest_adversary() -> None:
    trials = Adversarial(k=1, dim=1, choices=1, members=1, noise=0.0).start_all(rngs(2))
    now = trials.step(np.empty((2, 0), dtype=np.intp))
    assert isinstance(now.belief[0], Ensemble)
    np.testing.assert_allclose(np.abs(now.rewards), np.abs(trials.actions[:, :, 0]), rtol=1e-15)
    assert not now.epsilon.any()


@pytest.mark.parametrize("name", ["k", "dim", "choices", "members"])
def test_bad_counts(name: str) -> None:
    zero: dict[str, Any] = {name: 0}
    with pytest.raises(ValueError, match=f"^Adversarial: {name} must be >= 1, got 0$"):
        Adversarial(**zero)
    half: dict[str, Any] = {name: 1.5}
    with pytest.raises(TypeError, match=f"^Adversarial: {name} must be a whole number, got float 1.5$"):
        Adversarial(**half)


def test_bad_noise() -> None:
    with pytest.raises(ValueError, match=r"^Adversarial: noise must be >= 0, got -0.5$"):
        Adversarial(noise=-0.5)
