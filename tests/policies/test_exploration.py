"""What all exploring policies have in common: they learn, they are saved, and they take what is available."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast.environments import Adversarial, CoinFlip, VectorEnvironment
from overcast.policies import Policy
from support import refused

POLICIES: list[Policy] = [
    oc.Thompson(0.5),
    oc.PerturbedHistory(0.5),
    oc.EpsilonGreedy(),
    oc.MostlyGreedy(2.0),
    oc.IDS(2.0),
]
STEPS, TRIALS = 1200, 60
each = pytest.mark.parametrize("policy", POLICIES, ids=repr)


@cache
def _curve(env: VectorEnvironment, policy: Policy) -> Any:
    model = oc.LinearModel(env.features, ridge=1.0)
    return oc.simulate(env, model, policy, steps=STEPS, trials=TRIALS, seed=5).expected_regret


@each
@pytest.mark.parametrize("env", [CoinFlip(), Adversarial()], ids=repr)
def test_regret_is_sublinear(env: VectorEnvironment, policy: Policy) -> None:
    """The growth exponent log(R_T / R_{T/4}) / log 4 is below 1 by five standard errors of a ratio of means: under
    linear regret this would pass with probability 3e-7."""
    curve = _curve(env, policy)
    early, late = curve[:, STEPS // 4 - 1], curve[:, -1]
    ratio = late.mean() / early.mean()
    error = (late - ratio * early).std(ddof=1) / math.sqrt(TRIALS) / late.mean() / math.log(4)
    assert math.log(ratio) / math.log(4) + 5 * error < 1.0


@each
def test_with_a_kernel_too(policy: Policy) -> None:
    """Two of eleven hours are right; after 60 days the bandit takes one of them, or a neighbour that pays 0.9."""
    kernel = oc.kernels.Product(oc.kernels.RBF(0.3), oc.kernels.Constant())
    bandit = oc.Bandit([[h / 10] for h in range(11)], oc.KernelModel(kernel, ridge=0.05), policy, seed=1)
    rng, paid = np.random.default_rng(0), []
    for _ in range(60):
        decision = bandit.decide([0.0])
        paid.append(math.exp(-(((decision.index - 6.5) / 3) ** 2)))
        bandit.learn(decision, paid[-1] + 0.1 * rng.normal())
    assert np.median(paid[-20:]) > 0.75 > np.mean(paid[:5])


@each
def test_a_bandit_is_saved_with_its_policy(policy: Policy, tmp_path: Path) -> None:
    bandit = oc.Bandit(np.eye(4), oc.LinearModel(oc.features.Bilinear(), ridge=1.0), policy, seed=2)
    for t in range(12):
        bandit.learn(bandit.decide([1.0, math.cos(t)]), reward=math.sin(t))
    bandit.save(tmp_path / "bandit.npz")
    twin = oc.Bandit.load(tmp_path / "bandit.npz")
    assert twin.policy == policy
    for t in range(12):
        one, two = (b.decide([1.0, math.cos(2 * t)], available=[0, 2, 3]) for b in (bandit, twin))
        assert one.index == two.index
        assert one.index != 1


@pytest.mark.parametrize("kind", [oc.MostlyGreedy, oc.IDS])
@pytest.mark.parametrize(("beta", "error"), [(-1.0, ValueError), ("2", TypeError), (oc.confidence.Expected, TypeError)])
def test_bad_beta_is_refused_by_name(kind: Any, beta: Any, error: type[Exception]) -> None:
    with refused(error, kind.__name__, "beta must be"):
        kind(beta)
