"""The kernel lemma and Theorem 3 against simulation, with reward functions of known norm in the kernel's space.

All runs meet the assumptions: ||f|| = 1, kernel functions of norm 1, Gaussian noise of the stated scale, ridge 1, and
c_t ~ mu_t.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

import overcast as oc
from overcast._check import Array
from overcast.confidence import Confidence, Kernel, Observed, information_gain
from overcast.environments import RKHS
from overcast.kernels import RBF, Product
from overcast.models import Progress
from overcast.simulation import Setting
from support import refused

DELTA = 0.1
TRIALS = 300


class Case(NamedTuple):
    env: RKHS
    confidence: Confidence
    setting: Setting = "hidden"
    steps: int = 50


SMALL = RKHS(k=10)
CASES = [
    Case(SMALL, Kernel(DELTA, 0.1)),
    Case(RKHS(k=10, noise=1.0), Kernel(DELTA, 1.0, reward_range=2.0)),
    Case(RKHS(Product(RBF(0.5), RBF(0.3)), k=10, action_dim=2, context_dim=2), Kernel(DELTA, 0.1, reward_range=2.0)),
    Case(SMALL, Observed(DELTA, 0.1), "observed"),
]


@cache
def simulated(case: Case) -> oc.Runs:
    model = oc.KernelModel(case.env.kernel, ridge=1.0)
    policy = oc.UCB(case.confidence)
    return oc.simulate(case.env, model, policy, None, case.steps, TRIALS, case.setting, seed=1)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_expected_rewards_stay_in_their_bands(case: Case) -> None:
    """For all actions and rounds of a run at once. Were delta the exact failure rate, P(Bin(300, 0.9) < 270) = 0.46 of
    seeds would fail; at delta / 2 it is 4e-5. The bands are so wide that no failure was ever seen."""
    covered = simulated(case).covered
    assert covered is not None
    assert len(covered) == TRIALS
    assert covered.mean() >= 1 - DELTA


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_regret_stays_below_the_bound(case: Case) -> None:
    """False alarms as above; the bounds are more than ten times the regret."""
    runs = simulated(case)
    assert (runs.regret <= runs.bound).all(axis=1).mean() >= 1 - DELTA


@dataclass(frozen=True)
class Shrunk(Kernel):
    """The lemma's beta_t times a factor."""

    factor: float = 1.0

    def beta(self, progress: Progress) -> Array:
        return np.asarray(self.factor * super().beta(progress))


@pytest.mark.parametrize(
    "case",
    [
        Case(SMALL, Shrunk(DELTA, 0.1, factor=0.05)),
        Case(RKHS(k=10, noise=5.0), Kernel(DELTA, 0.1)),  # noise that is understated
        Case(RKHS(k=10, noise=0.01), Observed(DELTA, 0.01, norm=0.01)),  # a norm a hundred times too small, hidden
    ],
    ids=repr,
)
def test_a_width_that_is_too_small_is_caught(case: Case) -> None:
    """So few runs are covered that a coverage of 1 - delta would give them with probability below 1e-9."""
    covered = simulated(case).covered
    assert covered is not None
    assert stats.binom.cdf(int(covered.sum()), TRIALS, 1 - DELTA) < 1e-9


def test_information_gain_is_half_the_log_determinant() -> None:
    runs = simulated(CASES[0])
    np.testing.assert_array_equal(runs.information_gain, runs.log_det / 2)
    assert (np.diff(runs.information_gain, axis=1) > 0).all()


def test_information_gain_of_a_gram_matrix_is_that_of_the_rounds_behind_it() -> None:
    env, actions = RKHS(k=5), np.random.default_rng(0).random((5, 1))
    bandit = oc.Bandit(actions, oc.KernelModel(env.kernel, ridge=0.3), oc.UCB(1.0))
    beliefs, taken = [oc.Gaussian([0.1 * t], 0.01) for t in range(12)], []
    for belief in beliefs:
        decision = bandit.decide(belief)
        bandit.learn(decision, reward=1.0)
        taken.append(decision.index)
    gram = RBF(0.2)(actions[taken], actions[taken]) * RBF(0.1).expected(beliefs, beliefs)
    assert bandit.state.learner is not None
    assert information_gain(gram, 0.3) == pytest.approx(float(bandit.state.learner.log_det) / 2)


def test_information_gain_refuses_what_is_no_gram_matrix() -> None:
    for gram in (1.0, [1.0, 2.0], [[1.0, 2.0]], [[0.0, 1.0], [0.0, 0.0]], [[np.nan]], [[-3.0]]):
        with refused(ValueError, "information_gain", "gram must"):
            information_gain(gram, 1.0)
    with refused(ValueError, "information_gain", "ridge must be > 0"):
        information_gain([[1.0]], 0.0)


def test_the_bound_is_that_of_theorem_3() -> None:
    runs = simulated(CASES[0])
    T = np.arange(1, runs.regret.shape[1] + 1)
    rho = np.sqrt(4 + 0.01)
    beta = rho * np.sqrt(2 * np.log(np.exp(runs.log_det) ** 0.5 / DELTA)) + 1
    expected = beta * np.sqrt(8 * T * runs.log_det) + 4 * np.sqrt(2 * T * np.log(2 / DELTA))
    np.testing.assert_allclose(runs.bound, expected)


def test_no_bound_for_another_kernel_or_a_norm_too_small() -> None:
    other = oc.KernelModel(Product(RBF(1.0), RBF(1.0)), ridge=1.0)
    runs = oc.simulate(SMALL, other, oc.UCB(Kernel()), steps=3, trials=2)
    assert runs.covered is None
    with refused(ValueError, "Runs", "bound needs rewards in the span"):
        _ = runs.bound
    runs = oc.simulate(SMALL, oc.KernelModel(SMALL.kernel, ridge=1.0), oc.UCB(Kernel(norm=0.5)), steps=3, trials=2)
    with refused(ValueError, "Runs", "bound needs norm >= 1"):
        _ = runs.bound
