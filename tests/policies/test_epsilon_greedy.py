"""Epsilon-greedy: how often which action is taken."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast import EpsilonGreedy
from overcast.models import Progress
from overcast.policies import Policy
from support import outlook, refused

EXAMPLES: list[Policy] = [
    oc.EpsilonGreedy(),
    oc.EpsilonGreedy(0.5),
    oc.EpsilonGreedy(lambda t: 1.0 / t),
]

K = 5


@pytest.mark.parametrize("available", [None, [0, 2, 3]])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_random_rounds_take_all_available_actions_alike(available: list[int] | None, epsilon: float) -> None:
    """Action 2 is the best: it is taken with 1 - epsilon + epsilon / m, the m - 1 others with epsilon / m each. Counts
    are binomial; within five standard errors, 6e-7 each."""
    bandit = oc.Bandit(np.eye(K), oc.LinearModel(oc.features.Bilinear(), ridge=1.0), EpsilonGreedy(epsilon), seed=3)
    bandit.learn(bandit.decide([1.0], available=[2]), 100.0)  # means so large that no random score is near them
    n, may = 3000, list(range(K)) if available is None else available
    counts = np.bincount([bandit.decide([1.0], available).index for _ in range(n)], minlength=K) / n
    for i in range(K):
        p = (epsilon / len(may) + (1 - epsilon) * (i == 2)) if i in may else 0.0
        assert abs(counts[i] - p) <= 5 * math.sqrt(p * (1 - p) / n)


def test_the_schedules() -> None:
    def at(policy: EpsilonGreedy, t: int) -> float:
        return policy.epsilon_at(Progress(t, 0.0, 1.0, K))

    assert [at(EpsilonGreedy(), t) for t in (1, 8, 1000)] == pytest.approx([1.0, 0.5, 0.1])
    assert [at(EpsilonGreedy(lambda t: 1.0 / t), t) for t in (1, 4)] == [1.0, 0.25]
    assert [at(EpsilonGreedy(0), t) for t in (1, 4)] == [0.0, 0.0]


def test_trials_explore_apart() -> None:
    """By default the first round is random in all trials; 100 trials agree on one of five actions with 5^-99."""
    given = outlook(np.zeros((100, K)), np.ones((100, K)))
    rngs = [np.random.default_rng(i) for i in range(100)]
    choices = EpsilonGreedy().scores(given, Progress(1, np.zeros(100), 1.0, K), rngs).argmax(axis=-1)
    assert len(set(choices.tolist())) > 1


@pytest.mark.parametrize(
    ("epsilon", "kind"), [(-0.1, ValueError), (1.1, ValueError), (math.nan, ValueError), ("x", TypeError)]
)
def test_bad_epsilon(epsilon: Any, kind: type[Exception]) -> None:
    with refused(kind, "EpsilonGreedy", "epsilon must be"):
        EpsilonGreedy(epsilon)
    with refused(kind, "EpsilonGreedy", "epsilon(7) must be"):
        EpsilonGreedy(lambda t: epsilon).epsilon_at(Progress(7, 0.0, 1.0, K))
