"""The theorems against simulation: theta stays in the confidence set, regret stays below its bound.

All runs meet the paper's assumptions: features and theta in the unit ball (or the norm stated), Gaussian noise of the
stated scale, ridge 1, c_t ~ mu_t, and an adversary that picks mu_t after watching the learner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

import overcast as oc
from overcast._check import Array
from overcast.confidence import Confidence, Expected, Observed, Sampled
from overcast.environments import Adversarial, CoinFlip, VectorEnvironment
from overcast.models import Progress
from overcast.policies import Outlook, Policy
from overcast.round import Samples
from overcast.simulation import Setting

DELTA = 0.1
TRIALS = 500


class Case(NamedTuple):
    env: VectorEnvironment
    confidence: Confidence
    setting: Setting
    samples: Samples = None
    steps: int = 200


# In dimension 1 rewards are -1 or 1: the widest spread that a range of 2 allows.
WIDEST = Adversarial(dim=1, members=2)
COIN_NORM = math.sqrt(2.0)

THEOREM_1_EXPECTED = [
    Case(Adversarial(), Expected(DELTA, 0.1), "hidden"),
    Case(Adversarial(noise=1.0), Expected(DELTA, 1.0), "hidden"),
    Case(Adversarial(), Expected(DELTA, 0.1, reward_range=2.0), "hidden"),
    Case(WIDEST, Expected(DELTA, 0.1, reward_range=2.0), "hidden"),
    Case(CoinFlip(), Expected(DELTA, 0.1, COIN_NORM, 1.0), "hidden"),
]
THEOREM_1_SAMPLED = [
    Case(Adversarial(), Sampled(DELTA, 0.1), "hidden", "t", 100),
    Case(Adversarial(), Sampled(DELTA, 0.1, reward_range=2.0), "hidden", "t", 100),
]
THEOREM_2 = [
    Case(Adversarial(), Observed(DELTA, 0.1), "observed"),
    Case(Adversarial(noise=1.0), Observed(DELTA, 1.0), "observed"),
    Case(WIDEST, Observed(DELTA, 0.1, reward_range=2.0), "observed"),
    Case(CoinFlip(), Observed(DELTA, 0.1, COIN_NORM, 1.0), "observed"),
]


@cache
def simulated(case: Case) -> oc.Runs:
    env, confidence, setting, samples, steps = case
    model = oc.LinearModel(env.features, ridge=1.0)
    policy = oc.UCB(confidence)
    return oc.simulate(env, model, policy, samples, steps, TRIALS, setting, seed=1)


def covered(case: Case) -> np.ndarray[Any, np.dtype[np.bool_]]:
    out = simulated(case).covered
    assert out is not None
    assert len(out) == TRIALS
    return out


@pytest.mark.parametrize("case", THEOREM_1_EXPECTED, ids=repr)
def test_theta_is_covered_in_theorem_1(case: Case) -> None:
    """The theorem spends delta / 2 on the confidence set. Were that its exact failure rate, 500 runs would fall below
    1 - delta with probability P(Bin(500, 0.95) < 450) = 1.6e-6."""
    assert covered(case).mean() >= 1 - DELTA


@pytest.mark.parametrize("case", THEOREM_1_SAMPLED, ids=repr)
def test_theta_is_covered_in_theorem_1_sampled(case: Case) -> None:
    """beta~ spends all of delta. Were that its exact failure rate, P(Bin(500, 0.9) < 450) = 0.46 of seeds would fail
    here; at a rate of delta / 2 it is 1.6e-6. The printed beta~ is so wide that no failure was ever seen."""
    assert covered(case).mean() >= 1 - DELTA


@pytest.mark.parametrize("case", THEOREM_2, ids=repr)
def test_theta_is_covered_in_theorem_2(case: Case) -> None:
    """The theorem spends delta / 3 on the confidence set: P(Bin(500, 1 - 0.1 / 3) < 450) = 3.3e-12."""
    assert covered(case).mean() >= 1 - DELTA


@pytest.mark.parametrize("case", THEOREM_1_EXPECTED + THEOREM_1_SAMPLED + THEOREM_2, ids=repr)
def test_regret_stays_below_the_bound(case: Case) -> None:
    """In 1 - delta of the runs at T, as the theorems say; at every step of a run, and together with coverage, which
    is more than they say.

    At a failure rate of exactly delta, 0.46 of seeds would fail (P(Bin(500, 0.9) < 450)); at delta / 2 it is 1.6e-6.
    The bounds are at least 8 times the regret at every step of every run, so that chance has little say here.
    """
    runs = simulated(case)
    below = runs.regret <= runs.bound
    assert below[:, -1].mean() >= 1 - DELTA
    assert below.all(axis=1).mean() >= 1 - DELTA
    assert (below.all(axis=1) & covered(case)).mean() >= 1 - DELTA


# Widths that claim too little, each in a way of its own.
TOO_SMALL = [
    # Theorem 2's width where the context stays hidden: the context's own noise is left out
    Case(Adversarial(noise=0.01), Observed(DELTA, 0.01), "hidden"),
    # a reward range ten times too small
    Case(Adversarial(dim=2, noise=0.01), Expected(DELTA, 0.01, reward_range=0.2), "hidden"),
    # noise that is understated
    Case(Adversarial(noise=0.5), Observed(DELTA, 0.1), "observed"),
    Case(Adversarial(noise=4.0), Expected(DELTA, 0.1), "hidden"),
    Case(Adversarial(noise=20.0), Sampled(DELTA, 0.1), "hidden", "t", 100),
]


@pytest.mark.parametrize("case", TOO_SMALL, ids=repr)
def test_a_width_that_is_too_small_is_caught(case: Case) -> None:
    """So few runs are covered that a coverage of 1 - delta would give them with probability below 1e-9."""
    assert stats.binom.cdf(int(covered(case).sum()), TRIALS, 1 - DELTA) < 1e-9


@dataclass(frozen=True)
class Shrunk(Expected):
    """Theorem 1's beta_t times a factor."""

    factor: float = 1.0

    def beta(self, progress: Progress) -> Array:
        return np.asarray(self.factor * super().beta(progress))


def test_coverage_falls_as_the_width_shrinks() -> None:
    """The factors bracket 1 - delta: at 0.15 fewer runs are covered than it would give with probability 1e-9, at 1
    all are. The sets of one run are not nested, as other widths take other actions, hence no more than the order."""
    rates = [covered(Case(Adversarial(), Shrunk(DELTA, 0.1, factor=f), "hidden")).mean() for f in (0.15, 0.2, 1.0)]
    assert rates == sorted(rates)
    assert stats.binom.cdf(int(rates[0] * TRIALS), TRIALS, 1 - DELTA) < 1e-9
    assert rates[-1] == 1.0


@dataclass(frozen=True)
class First(Policy):
    """Always takes action 0."""

    lockstep = True

    def scores(self, outlook: Outlook, progress: Progress, rng: object) -> Array:
        return np.where(np.arange(outlook.mean.shape[-1]) == 0, 1.0, np.zeros(outlook.mean.shape))


@pytest.mark.parametrize(
    ("confidence", "setting"),
    [
        (Expected(DELTA, 0.1), "hidden"),
        (Expected(DELTA, 0.1, reward_range=2.0), "hidden"),
        (Observed(DELTA, 0.1), "observed"),
    ],
    ids=repr,
)
def test_a_long_run_makes_the_bound_say_something(confidence: Confidence, setting: Setting) -> None:
    """At T = 10,000 in one dimension the bound is below T, what a bad policy loses: UCB stays below it, and a policy
    that never learns does not.

    A trial lets that policy off where no belief opposes action 0, (3 / 4)^20 = 0.3 %, or no action reaches 0.9 on the
    other side, 0.95^99 = 0.6 %. More than 2 of 20 such trials have probability below 1e-3.
    """
    env = Adversarial(k=100, dim=1, members=2, choices=20)
    model, T = oc.LinearModel(env.features, ridge=1.0), 10_000
    runs = oc.simulate(env, model, oc.UCB(confidence), steps=T, trials=20, setting=setting, seed=1)
    assert (runs.bound[:, -1] < 0.9 * T).all()
    assert (runs.regret <= runs.bound).all(axis=1).mean() >= 1 - DELTA
    stubborn = oc.simulate(env, model, First(), steps=T, trials=20, setting=setting, seed=1)
    progress = Progress(np.arange(1, T + 1), stubborn.log_det, 1.0, env.k)
    its_bound = confidence.regret_bound(progress, confidence.beta(progress))
    assert (stubborn.regret[:, -1] > its_bound[:, -1]).mean() >= 0.9
    assert (stubborn.regret[:, -1] > runs.bound[:, -1]).mean() >= 0.9
