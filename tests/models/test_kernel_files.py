"""Kernel bandits that are saved, loaded, copied and merged."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from kernel_support import ACTIONS, COV, KERNELS, MAKERS, RIDGE, C, K, Maker, learner_of, same
from overcast._check import Array
from overcast.beliefs import Ensemble, Gaussian, PointMass
from overcast.confidence import Kernel as KernelConfidence
from overcast.kernels import RBF, JointKernel, Kernel, Product
from overcast.models import KernelModel
from support import refused


def _trained(kernel: JointKernel, make: Maker, samples: Any = None, rounds: int = 15) -> tuple[oc.Bandit, list[str]]:
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
def test_the_same_decisions_after_loading(kernel: JointKernel, make: Maker, samples: Any, tmp_path: Path) -> None:
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
        same(first._estimate, second._estimate, 1e-10)
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
        {"learner.0.weights": None},
        {"learner.0.start": None},
        {"learner.0.spread": np.ones((1, C))},
        {"learner.0.centres": np.ones((3, C))},
        {"learner.0.start": np.arange(3.0)},
        {"learner.0.start": np.arange(12.0)[::-1]},
        {"learner.0.start": np.arange(12.0) + 1},
        {"learner.0.weights": np.ones((12, 2))},
        {"learner.action": np.full(12, K)},
        {"learner.action": np.zeros(3)},
        {"learner.reward": np.zeros(3)},
        {"learner.reward": np.full(12, np.nan)},
        {"open.0.start": np.zeros(3)},
        {"open.0.weights": None},
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
    """A kernel of one's own."""

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
def test_parts_learnt_apart_equal_one_that_saw_all(kernel: JointKernel) -> None:
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
