"""UCB scores with every kind of beta."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast import UCB, confidence
from overcast._check import Array
from overcast.models import Progress
from overcast.policies import Policy
from support import outlook

EXAMPLES: list[Policy] = [
    oc.UCB(2.0),
    oc.UCB(),
    oc.UCB(lambda t: float(np.sqrt(t))),
    oc.UCB(confidence.Expected()),
    oc.UCB(confidence.Sampled(0.1)),
    oc.UCB(confidence.Observed(reward_range=1.0)),
    oc.UCB(confidence.Kernel(0.1)),
    oc.UCB(confidence.Kernel(norm=2.0)),
]

OUTLOOK = outlook([0.5, -1.0, 2.0], [1.0, 0.25, 0.0])
RNG = np.random.default_rng(0)


def _progress(t: int = 1, log_det: float | Array = 0.0) -> Progress:
    return Progress(t, log_det, ridge=4.0, actions=3)


def test_a_number() -> None:
    np.testing.assert_allclose(UCB(2.0).scores(OUTLOOK, _progress(), RNG), [2.5, -0.5, 2.0], rtol=1e-15)
    np.testing.assert_array_equal(UCB(0).scores(OUTLOOK, _progress(), RNG), OUTLOOK.mean)
    single: Any = np.float32(2)
    assert UCB(2) == UCB(2.0) == UCB(single)
    assert type(UCB(single).beta) is float


def test_a_function_of_the_round() -> None:
    seen: list[int] = []

    def beta(t: int) -> float:
        seen.append(t)
        return math.sqrt(t)

    policy = UCB(beta)
    for t in (1, 4, 9):
        expected = OUTLOOK.mean + math.sqrt(t) * OUTLOOK.width
        np.testing.assert_allclose(policy.scores(OUTLOOK, _progress(t), RNG), expected, rtol=1e-15)
    assert seen == [1, 4, 9]
    assert all(type(t) is int for t in seen)


def test_the_papers_beta() -> None:
    """beta_t = rho sqrt(2 log(det(V)^1/2 / (delta' det(V_0)^1/2))) + sqrt(lambda) norm, rho and delta' by theorem."""
    delta, noise, norm, log_det = 0.1, 0.3, 1.5, 2.7
    ratio = math.exp(log_det / 2)
    last = math.sqrt(4.0) * norm
    expected = {
        confidence.Expected: math.sqrt(4 * norm**2 + noise**2) * math.sqrt(2 * math.log(ratio / (delta / 2))) + last,
        confidence.Observed: noise * math.sqrt(2 * math.log(ratio / (delta / 3))) + last,
    }
    for kind, beta in expected.items():
        scores = UCB(kind(delta, noise, norm)).scores(OUTLOOK, _progress(5, log_det), RNG)
        np.testing.assert_allclose(scores, OUTLOOK.mean + beta * OUTLOOK.width, rtol=1e-12)


@pytest.mark.parametrize("kind", [confidence.Expected, confidence.Sampled, confidence.Observed])
def test_lock_step_widens_every_trial_by_its_own_beta(kind: type[confidence.Confidence]) -> None:
    rng = np.random.default_rng(1)
    outlooks = outlook(rng.normal(size=(4, 3)), rng.random((4, 3)))
    log_det = rng.random(4)
    policy = UCB(kind())
    together = policy.scores(outlooks, _progress(7, log_det), RNG)
    for r in range(4):
        alone = policy.scores(outlook(outlooks.mean[r], outlooks.width[r]), _progress(7, float(log_det[r])), RNG)
        np.testing.assert_allclose(together[r], alone, rtol=1e-13)
    for beta in (UCB(1.5), UCB(lambda t: 1.5)):
        scores = beta.scores(outlooks, _progress(7, log_det), RNG)
        np.testing.assert_allclose(scores, outlooks.mean + 1.5 * outlooks.width, rtol=1e-14)


def test_scores_leave_the_estimate_and_the_generator_alone() -> None:
    given = outlook([1.0, 2.0], [3.0, 4.0])
    rng = np.random.default_rng(3)
    before = rng.bit_generator.state
    scores = UCB(1.0).scores(given, _progress(), rng)
    assert rng.bit_generator.state == before
    scores += 1.0
    np.testing.assert_array_equal(given.mean, [1.0, 2.0])


@pytest.mark.parametrize(
    ("beta", "kind"),
    [
        (-1.0, ValueError),
        (math.nan, ValueError),
        (math.inf, ValueError),
        ("2", TypeError),
        (True, TypeError),
        (np.eye(3), TypeError),
        ([1.0, 2.0], TypeError),
        (2j, TypeError),
        (10**400, TypeError),
    ],
)
def test_bad_beta(beta: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"^UCB: beta must be ") as caught:
        UCB(beta)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "kind"), [(math.nan, ValueError), (-0.5, ValueError), (math.inf, ValueError), ("x", TypeError)]
)
def test_a_function_that_returns_a_bad_beta(value: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"^UCB: beta\(3\) must be ") as caught:
        UCB(lambda t: value).scores(OUTLOOK, _progress(3), RNG)
    assert "\n" not in str(caught.value)
