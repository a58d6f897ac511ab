"""The kernel learner where numbers run out, and when it is saved, loaded, copied and merged."""

from __future__ import annotations

import copy
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from kernel_support import ACTIONS, COV, KERNELS, MAKERS, RIDGE, A, C, K, Maker, estimate_of, learner_of, same
from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, PointMass
from overcast.confidence import Kernel as KernelConfidence
from overcast.kernels import RBF, AnyKernel, Constant, Kernel, Linear, Polynomial, Product, Scaled
from overcast.models import KernelModel
from support import refused

# Near-duplicates and small ridges.


@pytest.mark.parametrize("ridge", [1e-4, 1e-6, 1e-10, 1e-14, 1e-30])
@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-4, 1.0])
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
def test_small_ridges_never_break(kernel: AnyKernel, gap: float, ridge: float) -> None:
    """Two hundred contexts, equal up to the gap, across the borders of the factor's tiles."""
    rng = np.random.default_rng(11)
    bandit = oc.Bandit(ACTIONS, KernelModel(kernel, ridge), oc.UCB(1.0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(200):
            decision = bandit.decide(np.array([0.4, -1.1]) + gap * rng.normal(size=C))
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
    """Few of them are taken, so L is solved for these, and their columns nearly cancel."""
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


def test_many_rounds_of_near_duplicates() -> None:
    """Contexts equal up to 1e-9 give the estimate of equal contexts, with the values of two actions as unknowns.

    With r the action kernel between them, f at the two is N(0, s [[1, r], [r, 1]]) beforehand, and n_i rewards of each
    act as one with the noise lambda / n_i. The condition number n / lambda is 1e8, as after 10,000 rounds with the
    ridge 1e-4, and half of the digits are left.
    """
    ridge, steps, centre, variance = 1.2e-5, 1200, np.array([0.4, -1.1]), 0.05
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
    np.testing.assert_allclose(estimate.mean, gain @ (total / count), rtol=0, atol=1e-8)
    np.testing.assert_allclose(ridge * estimate.width**2, left, rtol=1e-6)
    log_det = np.linalg.slogdet(np.eye(2) + prior @ np.diag(count) / ridge)[1]
    assert learner_of(bandit).log_det == pytest.approx(log_det, rel=1e-7)
    assert learner_of(bandit).jitter == 0.0
    assert count.sum() == steps
    assert count.min() >= steps // 3


# Functions that are no kernels.


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
    bandit = oc.Bandit(ACTIONS, KernelModel(Product(Linear(), Scaled(Linear(), 1e60)), ridge=1e60), oc.UCB(1.0))
    decision = bandit.decide([1.0, 1.0])
    with (
        np.errstate(over="ignore"),
        refused(ValueError, "KernelModel", "must give finite numbers", "scale the contexts"),
    ):
        bandit.learn(decision, 1.0, context=[1e140, 0.0])
    bandit.learn(decision, 1.0)
    with np.errstate(over="ignore"), refused(ValueError, "KernelModel", "must give finite numbers"):
        bandit.decide([1e140, 0.0])
    for missing in (-1.79e308, 1e200):
        with refused(ValueError, "KernelModel", "embedded contexts must be of size 1e+150 at most", "missing"):
            bandit.decide([missing, 0.0])
    assert np.isfinite(bandit.estimate([1.0, 1.0]).mean).all()


@dataclass(frozen=True)
class Odd(Kernel):
    """Returns one number too many, or NaN."""

    fault: str

    def _evaluate(self, left: Array, right: Array) -> Array:
        if self.fault == "shape":
            return np.ones((len(left), len(right) + 1))
        return np.where(left != right.T, np.nan, 1.0)


def test_faulty_kernels_of_ones_own_are_reported() -> None:
    bandit = oc.Bandit([[0.0], [0.5]], oc.KernelModel(Product(RBF(1.0), Odd("shape")), ridge=1.0), oc.UCB(1.0))
    with refused(ValueError, "Odd", "_evaluate must give shape (n, m), got (1, 2)"):
        bandit.decide([1.0])
    bandit = oc.Bandit([[0.0], [0.5]], oc.KernelModel(Product(RBF(1.0), Odd("nan")), ridge=1.0), oc.UCB(1.0))
    bandit.learn(bandit.decide([1.0]), 1.0)
    with refused(ValueError, "KernelModel", "kernel must be positive semi-definite", "nan"):
        bandit.decide([2.0])


# Files, copies and merges.


def _trained(kernel: AnyKernel, make: Maker, samples: Any = None, rounds: int = 15) -> tuple[oc.Bandit, list[str]]:
    """Return a bandit and the ids of decisions that still wait."""
    rng = np.random.default_rng(8)
    bandit = oc.Bandit(ACTIONS, KernelModel(kernel, RIDGE), oc.UCB(KernelConfidence(0.1)), samples=samples)
    waiting = []
    for t in range(rounds):
        decision = bandit.decide(make(rng))
        if t % 4 == 3:
            waiting.append(decision.id)
        else:
            bandit.learn(decision, float(rng.normal()), context=rng.normal(size=C) if t % 3 == 0 else None)
    return bandit, waiting


@pytest.mark.parametrize("samples", [None, 3])
@pytest.mark.parametrize("make", [MAKERS["ensembles"], MAKERS["all of them"]], ids=["ensembles", "all of them"])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_the_same_decisions_after_loading(kernel: AnyKernel, make: Maker, samples: Any, tmp_path: Path) -> None:
    bandit, waiting = _trained(kernel, make, samples)
    bandit.save(tmp_path / "bandit")
    again = oc.Bandit.load(tmp_path / "bandit")
    assert again.model == bandit.model
    rng = np.random.default_rng(9)
    for ticket in reversed(waiting):
        for one in (bandit, again):
            one.learn(ticket, reward=1.5)
    for _ in range(10):
        belief, reward = make(rng), float(rng.normal())
        first, second = bandit.decide(belief), again.decide(belief)
        assert first.index == second.index
        assert first.score == pytest.approx(second.score, rel=1e-10)
        same(estimate_of(first), estimate_of(second), 1e-10)
        bandit.learn(first, reward)
        again.learn(second, reward)


@pytest.mark.parametrize(("rounds", "learnt"), [(0, 0), (1, 0), (1, 1), (3, 3), (3, 1)])
def test_files_of_little(rounds: int, learnt: int, tmp_path: Path) -> None:
    """Before the first decision, before the first reward, and with no decision open."""
    bandit = oc.Bandit(ACTIONS, KernelModel(KERNELS["sum"], RIDGE), oc.UCB(1.0))
    decisions = [bandit.decide(Gaussian([float(t), 0.0], COV)) for t in range(rounds)]
    for decision in decisions[:learnt]:
        bandit.learn(decision, 1.0)
    bandit.save(tmp_path / "bandit")
    again = oc.Bandit.load(tmp_path / "bandit")
    same(again.estimate(PointMass([0.5, 0.5])), bandit.estimate(PointMass([0.5, 0.5])), 1e-12)
    for decision in decisions[learnt:]:
        again.learn(decision.id, 2.0)


def test_saving_a_loaded_bandit_writes_the_same_rounds(tmp_path: Path) -> None:
    bandit, _ = _trained(KERNELS["sum"], MAKERS["all of them"])
    bandit.save(tmp_path / "one")
    oc.Bandit.load(tmp_path / "one").save(tmp_path / "two")
    with np.load(tmp_path / "one") as one, np.load(tmp_path / "two") as two:
        assert one.files == two.files
        for name in one.files:
            if name != "header":
                np.testing.assert_array_equal(one[name], two[name])


def _rewrite(path: Path, header: Callable[[dict[str, Any]], None], **changes: Any) -> None:
    """Write the file again with another header and other arrays; None drops one."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files} | changes
    data = json.loads(arrays["header"].tobytes())
    header(data)
    arrays["header"] = np.frombuffer(json.dumps(data).encode(), dtype=np.uint8)
    with open(path, "wb") as raw:
        np.savez(raw, allow_pickle=False, **{name: value for name, value in arrays.items() if value is not None})


@pytest.mark.parametrize(
    "changes",
    [
        {"learner.view.clouds.0.weights": None},
        {"learner.view.squares.0": None},
        {"learner.view.clouds.0.cov": np.ones((1, C))},
        {"learner.view.clouds.0.centres": np.ones((3, C))},
        {"learner.view.clouds.1.weights": np.ones((12, 1))},
        {"learner.view.clouds.0.weights": np.ones((12, 2))},
        {"learner.action": np.full(12, K)},
        {"learner.action": np.zeros(3)},
        {"learner.reward": np.zeros(3)},
        {"learner.reward": np.full(12, np.nan)},
        {"open.evidence.view.clouds.0.centres": np.zeros((3, 1, C + 1))},
        {"open.evidence.view.clouds.0.weights": None},
        {"open.action": np.full(3, K)},
    ],
    ids=repr,
)
def test_arrays_that_do_not_fit(changes: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    bandit, _ = _trained(KERNELS["product"], MAKERS["diagonal"])
    bandit.save(path)
    _rewrite(path, lambda header: None)
    assert len(learner_of(oc.Bandit.load(path))) == 12
    _rewrite(path, lambda header: None, **changes)
    with refused(ValueError, "Bandit", str(path), "damaged"):
        oc.Bandit.load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["model"]["kernel"].update(type="kernels.Oracle"),
        lambda header: header["model"]["kernel"].update(type="features.Bilinear"),
        lambda header: header["model"]["kernel"]["action_kernel"].update(lengthscale=-1.0),
        lambda header: header["model"]["kernel"]["context_kernel"].update(lengthscale=[1.0] * 3),
        lambda header: header["model"].update(kernel=None),
        lambda header: header["model"].update(ridge=0.0),
        lambda header: header.update(dim=3),
    ],
)
def test_headers_that_do_not_fit(change: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    _trained(KERNELS["product"], MAKERS["diagonal"])[0].save(path)
    _rewrite(path, change)
    with refused(ValueError, "Bandit", str(path), "damaged"):
        oc.Bandit.load(path)


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9, 0.999])
def test_truncated_files(cut: float, tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    _trained(KERNELS["sum"], MAKERS["all of them"])[0].save(path)
    path.write_bytes(path.read_bytes()[: int(cut * path.stat().st_size)])
    with refused(ValueError, "Bandit", str(path), "damaged"):
        oc.Bandit.load(path)


class Cosine(Kernel):
    """A kernel from outside the package."""

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(np.cos(left[:, None] - right[None]).sum(axis=-1))


def test_a_kernel_of_ones_own_is_given_to_load_again(tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    bandit, waiting = _trained(Product(RBF(0.8), Cosine()), MAKERS["ensembles"])
    bandit.save(path)
    with refused(ValueError, "Bandit", "pass it again as model="):
        oc.Bandit.load(path)
    again = oc.Bandit.load(path, model=bandit.model)
    again.learn(waiting[0], 1.0)
    bandit.learn(waiting[0], 1.0)
    probe = Ensemble([[0.0, 1.0], [2.0, 3.0]])
    same(again.estimate(probe), bandit.estimate(probe), 1e-10)


def test_another_kernel_than_the_saved_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bandit"
    _trained(KERNELS["product"], MAKERS["diagonal"])[0].save(path)
    with refused(ValueError, "Bandit", "model must be the one that was saved"):
        oc.Bandit.load(path, model=KernelModel(Product(RBF(0.8), RBF(0.7)), RIDGE))


def test_copies_go_separate_ways() -> None:
    bandit, waiting = _trained(KERNELS["sum"], MAKERS["all of them"])
    twin, probe = copy.deepcopy(bandit), PointMass([0.1, 0.2])
    before = bandit.estimate(probe)
    twin.learn(waiting[0], 5.0)
    same(bandit.estimate(probe), before, 0.0)
    bandit.learn(waiting[0], 5.0)
    same(bandit.estimate(probe), twin.estimate(probe), 1e-12)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_parts_learnt_apart_equal_one_that_saw_all(kernel: AnyKernel) -> None:
    rng = np.random.default_rng(10)
    make = MAKERS["all of them"]
    one, two, whole = (oc.Bandit(ACTIONS, KernelModel(kernel, RIDGE), oc.UCB(1.0)) for _ in range(3))
    for t in range(16):
        belief, reward, part = make(rng), float(rng.normal()), (one, two)[t % 2]
        decision = part.decide(belief)
        part.learn(decision, reward)
        whole.learn(whole.decide(belief, available=[decision.index]), reward)
    waiting = one.decide(make(rng))
    fresh = oc.Bandit(ACTIONS, KernelModel(kernel, RIDGE), oc.UCB(1.0))
    fresh.merge(one)
    one.merge(two)
    fresh.merge(two)
    probe = make(rng)
    for merged in (one, fresh):
        same(merged.estimate(probe), whole.estimate(probe), 1e-9)
        assert learner_of(merged).log_det == pytest.approx(learner_of(whole).log_det, abs=1e-9)
    one.learn(waiting, 1.0)
    assert len(learner_of(two)) == 8
    with refused(ValueError, "Bandit", "merge needs the same model"):
        one.merge(oc.Bandit(ACTIONS, KernelModel(kernel, 2 * RIDGE), oc.UCB(1.0)))
