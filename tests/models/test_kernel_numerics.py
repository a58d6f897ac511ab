"""Where numbers run out: near-duplicates, small ridges, and kernels that are none."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import overcast as oc
from kernel_support import ACTIONS, A, C, learner_of, same
from overcast._check import Array
from overcast.beliefs import Belief, Gaussian, PointMass
from overcast.kernels import RBF, Constant, JointKernel, Kernel, Linear, Polynomial, Product
from overcast.models import KernelModel
from support import refused

# Near-duplicates and small ridges.


@pytest.mark.parametrize("ridge", [1e-4, 1e-6, 1e-10, 1e-14, 1e-30])
@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-4, 1.0])
@pytest.mark.parametrize(
    "kernel",
    [
        Product(Constant(), RBF(1.0)),
        Product(RBF(1.0), RBF(1.0)),
        Product(Linear(), Linear()),
        Product(Polynomial(3), Polynomial(2)) + Product(RBF(0.5), RBF(0.5)),
    ],
    ids=["constant", "rbf", "linear", "sum"],
)
def test_small_ridges_never_break(kernel: JointKernel, noise: float, ridge: float) -> None:
    """Two hundred contexts, equal up to noise, across the borders of the factor's blocks."""
    rng = np.random.default_rng(11)
    bandit = oc.Bandit(ACTIONS, KernelModel(kernel, ridge), oc.UCB(1.0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(200):
            decision = bandit.decide(np.array([0.4, -1.1]) + noise * rng.normal(size=C))
            assert math.isfinite(decision.score)
            assert decision.width >= 0.0
            bandit.learn(decision, float(rng.normal()))
    learner = learner_of(bandit)
    assert math.isfinite(learner.log_det)
    assert learner.log_det > 0.0
    lost = ridge < 1e-14 * (learner._trace + ridge)
    assert (learner.jitter > 0.0) == lost
    assert learner.jitter <= 1e-14 * (learner._trace + ridge)
    assert len(caught) == (1 if lost else 0)
    if lost:
        assert caught[0].category is RuntimeWarning
        assert caught[0].filename == __file__
        message = str(caught[0].message)
        assert message.startswith(f"KernelModel: ridge={ridge:g} is lost in rounding")
        assert "\n" not in message


def test_many_actions_that_are_nearly_the_same() -> None:
    """Fewer are taken than there are: the solve goes by the taken ones, whose columns nearly cancel."""
    rng = np.random.default_rng(12)
    actions = np.array([0.3, 0.4]) + 1e-5 * rng.normal(size=(60, A))
    for ridge in (1e-6, 1e-9, 1e-11):
        bandit = oc.Bandit(actions, KernelModel(Product(RBF(1.0), RBF(1.0)), ridge), oc.UCB(1.0))
        for t in range(120):
            decision = bandit.decide(rng.normal(size=C) * 1e-3, available=[t % 7])
            bandit.learn(decision, 1.0)
        estimate = bandit.estimate(np.zeros(C))
        np.testing.assert_allclose(estimate.mean, 1.0, atol=1e-4)
        assert (math.sqrt(ridge) * estimate.width <= 1e-4).all()


@pytest.mark.parametrize("ridge", [1e-4, 1e-6, 1e-10])
def test_duplicates_have_a_closed_form(ridge: float) -> None:
    """n rewards of one point: mean = sum y / (n + lambda), variance lambda / (n + lambda) of the prior's."""
    rng = np.random.default_rng(13)
    bandit = oc.Bandit(ACTIONS[:1], KernelModel(Product(RBF(1.0), RBF(1.0)), ridge), oc.UCB(1.0))
    rewards = rng.normal(size=150)
    for reward in rewards:
        bandit.learn(bandit.decide([0.7, -0.2]), float(reward))
    estimate = bandit.estimate([0.7, -0.2])
    n = len(rewards)
    rounding = 1e-9 + 1e-15 * n / ridge  # times the condition number of K + lambda I
    assert estimate.mean[0] == pytest.approx(rewards.sum() / (n + ridge), rel=rounding)
    assert ridge * estimate.width[0] ** 2 == pytest.approx(ridge / (n + ridge), rel=10 * rounding)
    assert learner_of(bandit).log_det == pytest.approx(math.log1p(n / ridge), abs=rounding)
    assert learner_of(bandit).jitter == 0.0


def test_ten_thousand_rounds_of_near_duplicates() -> None:
    """Contexts equal up to 1e-9: at the end as if they were equal, where two actions are all there is to know.

    With r the action kernel between them, f at the two is N(0, s [[1, r], [r, 1]]) beforehand, and n_i rewards of each
    act as one with the noise lambda / n_i.
    """
    ridge, steps, centre, variance = 1e-4, 10_000, np.array([0.4, -1.1]), 0.05
    rng = np.random.default_rng(14)
    bandit = oc.Bandit([[0.0], [0.6]], KernelModel(Product(RBF(1.0), RBF(1.0)), ridge), oc.UCB(1.0))
    count, total = np.zeros(2), np.zeros(2)
    for t in range(steps):
        belief = Gaussian(centre + 1e-9 * rng.normal(size=C), variance)
        decision = bandit.decide(belief, available=[t % 2] if t % 3 else None)
        reward = float(rng.normal()) + 0.1 * decision.index
        bandit.learn(decision, reward)
        count[decision.index] += 1
        total[decision.index] += reward
    belief = Gaussian(centre, variance)
    estimate = bandit.estimate(belief)
    r, s = math.exp(-0.18), 1 / (1 + 2 * variance)
    prior = s * np.array([[1.0, r], [r, 1.0]])
    gain = prior @ np.linalg.inv(prior + np.diag(ridge / count))
    left = (prior - gain @ prior).diagonal()
    np.testing.assert_allclose(estimate.mean, gain @ (total / count), rtol=0, atol=1e-6)
    np.testing.assert_allclose(ridge * estimate.width**2, left, rtol=1e-3)
    log_det = np.linalg.slogdet(np.eye(2) + prior @ np.diag(count) / ridge)[1]
    assert learner_of(bandit).log_det == pytest.approx(log_det, rel=1e-6)
    assert learner_of(bandit).jitter == 0.0
    assert count.sum() == steps
    assert count.min() >= steps // 3


# Kernels that are none.


class Tanh(Kernel):
    """The sigmoid kernel, which is not positive semi-definite."""

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(np.tanh(left @ right.T - 1.0))


class Negative(Kernel):
    def _evaluate(self, left: Array, right: Array) -> Array:
        return -RBF(1.0)._evaluate(left, right)


class Distance(Kernel):
    """Positive on the diagonal, and larger off it."""

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(1.0 + np.abs(left[:, None] - right[None]).sum(axis=-1))


class Broken(Kernel):
    """Fails for contexts beyond one."""

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(np.where(np.abs(left @ right.T) > 1.0, np.nan, left @ right.T))


NO_KERNELS: list[tuple[Kernel, Belief, str]] = [
    (Tanh(), PointMass([0.1, 0.1]), "positive semi-definite, got Constant and Tanh with a squared norm of -0.75"),
    (Negative(), PointMass([0.1, 0.1]), "got Constant and Negative with a squared norm of -1"),
    (Distance(), PointMass([5.0, 5.0]), "got Constant and Distance with "),
    (Broken(), PointMass([5.0, 5.0]), "Constant and Broken must give finite numbers"),
]


@pytest.mark.parametrize(("kernel", "bad", "words"), NO_KERNELS, ids=[type(k).__name__ for k, _, _ in NO_KERNELS])
def test_kernels_that_are_none_are_named_when_deciding(kernel: Kernel, bad: Belief, words: str, tmp_path: Path) -> None:
    bandit = oc.Bandit(ACTIONS, KernelModel(Product(Constant(), kernel), 0.1), oc.UCB(1.0))
    good = PointMass([1.2, 0.8]) if isinstance(kernel, Tanh) else PointMass([0.1, 0.0])
    if not isinstance(kernel, Negative):
        bandit.learn(bandit.decide(good), 1.0)
    bandit.save(tmp_path / "before")
    for call in (bandit.decide, bandit.estimate):
        with refused(ValueError, "KernelModel", words):
            call(bad)
    bandit.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
    if not isinstance(kernel, Negative):
        bandit.learn(bandit.decide(good), 2.0)
        assert bandit.estimate(good).mean[0] > 0.0


@pytest.mark.parametrize(
    ("kernel", "bad", "words"),
    [case for case in NO_KERNELS if not isinstance(case[0], Negative)],
    ids=["Tanh", "Distance", "Broken"],
)
def test_kernels_that_are_none_are_named_when_learning(kernel: Kernel, bad: Belief, words: str) -> None:
    bandit = oc.Bandit(ACTIONS, KernelModel(Product(Constant(), kernel), 0.1), oc.UCB(1.0))
    good = PointMass([1.2, 0.8]) if isinstance(kernel, Tanh) else PointMass([0.1, 0.0])
    bandit.learn(bandit.decide(good), 1.0)
    before, decision = bandit.estimate(good), bandit.decide(good)
    for context in (bad.mean(), bad):
        with refused(ValueError, "KernelModel", words):
            bandit.learn(decision, 1.0, context=context)
    same(bandit.estimate(good), before, 0.0)
    assert len(learner_of(bandit)) == 1
    bandit.learn(decision, 1.0)
    assert len(learner_of(bandit)) == 2


def test_numbers_that_overflow_are_refused() -> None:
    bandit = oc.Bandit(ACTIONS, KernelModel(Product(Linear(), Linear())), oc.UCB(1.0))
    decision = bandit.decide([1.0, 1.0])
    with (
        np.errstate(over="ignore"),
        refused(ValueError, "KernelModel", "must give finite numbers", "scale the contexts"),
    ):
        bandit.learn(decision, 1.0, context=[1e200, 0.0])
    bandit.learn(decision, 1.0)
    with np.errstate(over="ignore"), refused(ValueError, "KernelModel", "must give finite numbers"):
        bandit.decide([1e200, 0.0])
    assert np.isfinite(bandit.estimate([1.0, 1.0]).mean).all()


@dataclass(frozen=True)
class Odd(Kernel):
    """Returns one number too many, or one that is none."""

    fault: str

    def _evaluate(self, left: Array, right: Array) -> Array:
        if self.fault == "shape":
            return np.ones((len(left), len(right) + 1))
        return np.where(left != right.T, np.nan, 1.0)


def test_faulty_kernels_of_ones_own_are_reported() -> None:
    bandit = oc.Bandit([[0.0], [0.5]], oc.KernelModel(Product(RBF(1.0), Odd("shape"))), oc.UCB(1.0))
    with refused(ValueError, "Odd", "_evaluate must give shape (n, m), got (1, 2)"):
        bandit.decide([1.0])
    bandit = oc.Bandit([[0.0], [0.5]], oc.KernelModel(Product(RBF(1.0), Odd("nan"))), oc.UCB(1.0))
    bandit.learn(bandit.decide([1.0]), 1.0)
    with refused(ValueError, "KernelModel", "kernel must be positive semi-definite", "nan"):
        bandit.decide([2.0])
