"""The kernel model against explicit inverses, the linear model, and textbook Gaussian processes."""

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
from overcast import features
from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, Independent, Mixture, NoClosedForm, PointMass, Quantiles
from overcast.confidence import Expected
from overcast.confidence import Kernel as KernelConfidence
from overcast.environments import Adversarial, CoinFlip, VectorEnvironment
from overcast.features import FeatureMap, Function
from overcast.kernels import RBF, Constant, JointKernel, Kernel, Linear, Matern, Polynomial, Product, Scaled, Sum
from overcast.models import Estimate, KernelModel, LinearModel
from overcast.models.kernel import KernelLearner
from overcast.simulation.runner import Setting
from support import refused

K, A, C = 4, 2, 2
ACTIONS = np.random.default_rng(0).normal(size=(K, A))
COV = np.array([[0.5, -0.3], [-0.3, 0.4]])
RIDGE = 0.3
Maker = Callable[[np.random.Generator], Belief]


def _mixture(rng: np.random.Generator) -> Mixture:
    parts = [Gaussian(rng.normal(size=C), 0.2), PointMass(rng.normal(size=C)), Gaussian(rng.normal(size=C), COV)]
    return Mixture(parts, rng.dirichlet(np.ones(3)))


MAKERS: dict[str, Maker] = {
    "points": lambda rng: PointMass(rng.normal(size=C)),
    "diagonal": lambda rng: Gaussian(rng.normal(size=C), rng.random(C)),
    "full": lambda rng: Gaussian(rng.normal(size=C), COV * rng.uniform(0.1, 2.0)),
    "ensembles": lambda rng: Ensemble(rng.normal(size=(5, C)), rng.dirichlet(np.ones(5))),
    "mixtures": _mixture,
}
MAKERS["all of them"] = lambda rng: list(MAKERS.values())[int(rng.integers(5))](rng)


def _product(kernel: JointKernel, x: Array, mu: Belief, y: Array, nu: Belief) -> float:
    """<k_{x,mu}, k_{y,nu}>, from the definitions."""
    if isinstance(kernel, Product):
        return float(kernel.action_kernel(x[None], y[None])[0, 0] * kernel.context_kernel.expected([mu], [nu])[0, 0])
    if isinstance(kernel, Sum):
        return sum(_product(part, x, mu, y, nu) for part in kernel.kernels)
    if isinstance(kernel, Scaled):
        return kernel.scale * _product(kernel.kernel, x, mu, y, nu)
    assert isinstance(kernel, Kernel)
    both = Independent([PointMass(x), mu]), Independent([PointMass(y), nu])
    return float(kernel.expected([both[0]], [both[1]])[0, 0])


class Naive:
    """Algorithm 3 with an explicit inverse of the whole matrix every time."""

    def __init__(self, kernel: JointKernel, ridge: float, actions: Array) -> None:
        self.kernel, self.ridge, self.actions = kernel, ridge, actions
        self.rounds: list[tuple[Array, Belief]] = []
        self.rewards: list[float] = []
        self.gram = np.empty((0, 0))

    def _past(self, x: Array, belief: Belief) -> Array:
        return np.array([_product(self.kernel, y, nu, x, belief) for y, nu in self.rounds])

    def add(self, index: int, belief: Belief, reward: float) -> None:
        x, t = self.actions[index], len(self.rounds)
        gram = np.zeros((t + 1, t + 1))
        gram[:t, :t] = self.gram
        gram[t, :t] = gram[:t, t] = self._past(x, belief)
        gram[t, t] = _product(self.kernel, x, belief, x, belief)
        self.gram = gram
        self.rounds.append((x, belief))
        self.rewards.append(reward)

    def estimate(self, belief: Belief) -> Estimate:
        inverse = np.linalg.inv(self.gram + self.ridge * np.eye(len(self.gram)))
        mean, width = [], []
        for x in self.actions:
            cross, own = self._past(x, belief), _product(self.kernel, x, belief, x, belief)
            mean.append(float(cross @ inverse @ self.rewards))
            width.append(math.sqrt((own - float(cross @ inverse @ cross)) / self.ridge))
        return Estimate(np.array(mean), np.array(width))

    @property
    def log_det(self) -> float:
        return float(np.linalg.slogdet(np.eye(len(self.gram)) + self.gram / self.ridge)[1])


def _same(got: Estimate, expected: Estimate, tolerance: float = 1e-8) -> None:
    np.testing.assert_allclose(got.mean, expected.mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(got.width, expected.width, rtol=0, atol=tolerance)


def _learner(bandit: oc.Bandit) -> KernelLearner:
    assert isinstance(bandit._learner, KernelLearner)
    return bandit._learner


# Kernels that are linear in features.


def _quadratic(x: Array, c: Array) -> Array:
    """The features of (u^T v + 1)^2 for u = (x, c): a constant, sqrt(2) u, the squares and sqrt(2) times the rest."""
    k, n = len(x), len(c)
    u = np.concatenate([np.repeat(x[:, None], n, axis=1), np.repeat(c[None], k, axis=0)], axis=-1)
    i, j = np.triu_indices(u.shape[-1])
    squares = u[..., i] * u[..., j] * np.where(i == j, 1.0, math.sqrt(2))
    return np.concatenate([np.ones((k, n, 1)), math.sqrt(2) * u, squares], axis=-1)


LINEAR: dict[str, tuple[JointKernel, FeatureMap, Maker]] = {
    "bilinear": (Product(Linear(), Linear()), features.Bilinear(), MAKERS["all of them"]),
    "linear": (Linear(), features.Linear(), MAKERS["all of them"]),
    "linear with a constant": (Linear() + Constant(), features.Polynomial(1), MAKERS["all of them"]),
    "quadratic": (Polynomial(2), Function(_quadratic, 15), MAKERS["ensembles"]),
}


@pytest.mark.parametrize("mode", ["hidden", "observed", "mixed"])
@pytest.mark.parametrize(("kernel", "phi", "make"), LINEAR.values(), ids=LINEAR.keys())
def test_linear_kernels_are_the_linear_model(kernel: JointKernel, phi: FeatureMap, make: Maker, mode: str) -> None:
    rng = np.random.default_rng(1)
    one = oc.Bandit(ACTIONS, KernelModel(kernel, RIDGE), oc.UCB(KernelConfidence(0.05, 0.1)))
    two = oc.Bandit(ACTIONS, LinearModel(phi, RIDGE), oc.UCB(Expected(0.1, 0.1)))
    for t in range(50):
        belief = make(rng)
        first, second = one.decide(belief), two.decide(belief)
        assert first.index == second.index
        assert first.score == pytest.approx(second.score, abs=1e-8)  # and with it beta_t
        _same(first._estimate, second._estimate)
        reward = float(rng.normal())
        context = rng.normal(size=C) if mode == "observed" or (mode == "mixed" and t % 2) else None
        one.learn(first, reward, context)
        two.learn(second, reward, context)
        assert two._learner is not None
        assert _learner(one).log_det == pytest.approx(float(np.asarray(two._learner.log_det)), abs=1e-8)


@pytest.mark.parametrize("context_kernel", [RBF(0.7), Matern(2.5, (0.5, 1.5))], ids=repr)
def test_with_points_it_is_textbook_gp_ucb(context_kernel: Kernel) -> None:
    """Posterior mean and standard deviation of a Gaussian process with noise of variance `ridge`."""
    rng = np.random.default_rng(2)
    beta = 1.7
    bandit = oc.Bandit(ACTIONS, KernelModel(Product(RBF(1.2), context_kernel), RIDGE), oc.UCB(beta))
    X, contexts, y = np.empty((0, A)), np.empty((0, C)), np.empty(0)
    for _ in range(40):
        c = rng.normal(size=C)
        decision = bandit.decide(c)
        here = np.repeat(c[None], K, axis=0)
        gram = RBF(1.2)(X, X) * context_kernel(contexts, contexts) if len(y) else np.empty((0, 0))
        cross = RBF(1.2)(X, ACTIONS) * context_kernel(contexts, here) if len(y) else np.empty((0, K))
        inverse = np.linalg.inv(gram + RIDGE * np.eye(len(y)))
        mean = cross.T @ inverse @ y
        deviation = np.sqrt(1.0 - np.einsum("tk,ts,sk->k", cross, inverse, cross))
        np.testing.assert_allclose(decision._estimate.mean, mean, atol=1e-10)
        np.testing.assert_allclose(math.sqrt(RIDGE) * decision._estimate.width, deviation, atol=1e-10)
        scores = mean + beta / math.sqrt(RIDGE) * deviation
        assert scores[decision.index] == pytest.approx(scores.max(), abs=1e-10)
        reward = float(rng.normal())
        bandit.learn(decision, reward)
        X, contexts, y = np.vstack([X, ACTIONS[decision.index]]), np.vstack([contexts, c]), np.append(y, reward)


KERNELS: dict[str, JointKernel] = {
    "product": Product(RBF(0.8), RBF((0.7, 1.4))),
    "of both": RBF((0.8, 0.9, 0.7, 1.4)),
    "polynomial": 0.1 * Polynomial(2),
    "sum": Product(Matern(1.5), RBF(0.7)) + 0.5 * Product(Linear(), Linear()) + Product(Constant(), Polynomial(2, 0.3)),
    "product of sums": Product(RBF(0.8) + Constant(), 2.0 * RBF(0.7) + 0.3 * Linear()),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_estimates_are_the_explicit_formulas(kernel: JointKernel, make: Maker) -> None:
    """Hidden and revealed rounds, partial ones, and rewards that come late, out of order or never."""
    rng = np.random.default_rng(3)
    bandit, naive = oc.Bandit(ACTIONS, KernelModel(kernel, RIDGE), oc.UCB(1.0)), Naive(kernel, RIDGE, ACTIONS)
    waiting: list[tuple[oc.Decision, Belief]] = []
    for t in range(14):
        belief = make(rng)
        _same(bandit.estimate(belief), naive.estimate(belief))
        decision = bandit.decide(belief, available=[int(rng.integers(K))] if t % 2 else None)
        waiting.append((decision, belief))
        if t % 3 == 2:
            rng.shuffle(waiting)
            for decision, seen in waiting[:2]:
                reward, way = float(rng.normal()), int(rng.integers(3))
                context: Any = [None, rng.normal(size=C), Gaussian(rng.normal(size=C), 0.1)][way]
                bandit.learn(decision, reward, context)
                naive.add(decision.index, [seen, PointMass(context if way == 1 else 0.0), context][way], reward)
            waiting = waiting[2:]
    assert len(_learner(bandit)) == len(naive.rounds) == 8
    assert _learner(bandit).log_det == pytest.approx(naive.log_det, abs=1e-8)
    assert _learner(bandit).jitter == 0.0


@pytest.mark.parametrize("samples", [1, 6, "t"])
@pytest.mark.parametrize("name", ["diagonal", "mixtures", "quantiles"])
def test_samples_are_the_empirical_distribution_of_the_bandits_own_draws(samples: Any, name: str) -> None:
    kernel = Product(RBF(0.8), RBF(0.7)) + Product(Linear(), Polynomial(2, 0.2))
    rng, own = np.random.default_rng(4), np.random.default_rng(9)
    bandit = oc.Bandit(ACTIONS, KernelModel(kernel, RIDGE), oc.UCB(1.0), samples=samples, seed=9)
    naive = Naive(kernel, RIDGE, ACTIONS)
    for t in range(1, 10):
        belief = Quantiles([0.2, 0.8], [[-1.0, 0.0], [1.0, 2.0]]) if name == "quantiles" else MAKERS[name](rng)
        drawn = Ensemble(belief.sample(t if samples == "t" else samples, own))
        _same(bandit.estimate(belief), naive.estimate(drawn))
        decision, reward = bandit.decide(belief), float(rng.normal())
        context = rng.normal(size=C) if t % 4 == 0 else None
        bandit.learn(decision, reward, context)
        naive.add(decision.index, drawn if context is None else PointMass(context), reward)


@pytest.mark.parametrize("name", ["points", "all of them"])
@pytest.mark.parametrize("k", [2, 3, 40])
@pytest.mark.parametrize("kernel", [KERNELS["product"], KERNELS["sum"]], ids=["one term", "three"])
def test_many_actions_few_taken_and_few_actions_all_taken(kernel: JointKernel, k: int, name: str) -> None:
    """What is solved for are the actions, or the distinct ones taken so far where these are fewer."""
    rng = np.random.default_rng(5)
    actions = rng.normal(size=(k, A))
    bandit, naive = oc.Bandit(actions, KernelModel(kernel, RIDGE), oc.UCB(1.0)), Naive(kernel, RIDGE, actions)
    few = []
    for t in range(12):
        belief, reward = MAKERS[name](rng), float(rng.normal())
        decision = bandit.decide(belief, available=[t % min(k, 5)])
        bandit.learn(decision, reward)
        naive.add(decision.index, belief, reward)
        terms = len(kernel.terms(A))
        few.append(len(_learner(bandit)._taken) * terms < k)
    assert any(few) == (k == 40 or (k, terms) in {(2, 1), (3, 1)})
    belief = MAKERS[name](rng)
    _same(bandit.estimate(belief), naive.estimate(belief))


def test_learning_from_what_was_just_decided_or_much_later_is_the_same() -> None:
    """The solve of a decision is used again when its reward comes at once."""
    rng = np.random.default_rng(6)
    model = KernelModel(KERNELS["sum"], 0.01)
    beliefs, rewards = [MAKERS["all of them"](rng) for _ in range(30)], rng.normal(size=30)
    at_once, later = (oc.Bandit(ACTIONS, model, oc.UCB(1.0)) for _ in range(2))
    taken = []
    for belief, reward in zip(beliefs, rewards, strict=True):
        decision = at_once.decide(belief)
        if rng.random() < 0.3:
            at_once.estimate(PointMass(rng.normal(size=C)))
        at_once.learn(decision, reward)
        taken.append(decision.index)
    tickets = [later.decide(belief, available=[i]) for belief, i in zip(beliefs, taken, strict=True)]
    for ticket, reward in zip(tickets, rewards, strict=True):
        later.learn(ticket, reward)
    _same(later.estimate(beliefs[0]), at_once.estimate(beliefs[0]), 1e-9)
    assert _learner(later).log_det == pytest.approx(_learner(at_once).log_det, abs=1e-9)


def test_many_rounds_of_large_ensembles_through_the_grid() -> None:
    """Above 50,000 pairs of members the products come from characteristic functions, with nothing to notice."""
    rng = np.random.default_rng(7)
    kernel = Product(RBF(0.8), RBF(0.7))
    bandit, naive = oc.Bandit(ACTIONS, KernelModel(kernel, 1e-3), oc.UCB(1.0)), Naive(kernel, 1e-3, ACTIONS)
    for t in range(12):
        belief: Belief = Ensemble(rng.normal(size=(100, C))) if t % 3 else Gaussian(rng.normal(size=C), COV)
        decision, reward = bandit.decide(belief), float(rng.normal())
        bandit.learn(decision, reward)
        naive.add(decision.index, belief, reward)
    belief = Ensemble(rng.normal(size=(100, C)))
    _same(bandit.estimate(belief), naive.estimate(belief), 1e-6)
    assert _learner(bandit).memories[0]._grid is not None


# Files.


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
        _same(first._estimate, second._estimate, 1e-10)
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
    _same(again.estimate(PointMass([0.5, 0.5])), bandit.estimate(PointMass([0.5, 0.5])), 1e-12)
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
    assert len(_learner(oc.Bandit.load(path))) == 12
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
    _same(again.estimate(probe), bandit.estimate(probe), 1e-10)


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
    _same(bandit.estimate(probe), before, 0.0)
    bandit.learn(waiting[0], 5.0)
    _same(bandit.estimate(probe), twin.estimate(probe), 1e-12)


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
        _same(merged.estimate(probe), whole.estimate(probe), 1e-9)
        assert _learner(merged).log_det == pytest.approx(_learner(whole).log_det, abs=1e-9)
    one.learn(waiting, 1.0)
    assert len(_learner(two)) == 8
    with refused(ValueError, "Bandit", "merge needs the same model"):
        one.merge(oc.Bandit(ACTIONS, KernelModel(kernel, 2 * RIDGE), oc.UCB(1.0)))


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
    learner = _learner(bandit)
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
    assert _learner(bandit).log_det == pytest.approx(math.log1p(n / ridge), abs=rounding)
    assert _learner(bandit).jitter == 0.0


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
    assert _learner(bandit).log_det == pytest.approx(log_det, rel=1e-6)
    assert _learner(bandit).jitter == 0.0
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
    _same(bandit.estimate(good), before, 0.0)
    assert len(_learner(bandit)) == 1
    bandit.learn(decision, 1.0)
    assert len(_learner(bandit)) == 2


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


# Simulations.


def _generator(seed: int, trial: int, stream: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(trial, stream)))


@pytest.mark.parametrize("samples", [None, 4, "t"])
@pytest.mark.parametrize("setting", ["exact", "observed", "hidden"])
@pytest.mark.parametrize("env", [CoinFlip(), Adversarial(k=5, dim=2)], ids=repr)
def test_lock_step_equals_bandits_driven_by_hand(env: VectorEnvironment, setting: Setting, samples: Any) -> None:
    trials, steps, seed = 3, 25, 11
    model, policy = KernelModel(Product(RBF(1.0), RBF(0.8)) + Linear(), 0.7), oc.UCB(KernelConfidence(0.1))
    runs = oc.simulate(env, model, policy, samples, steps, trials, setting, seed)
    for i in range(trials):
        trial = env.start(_generator(seed, i, 0))
        bandit = oc.Bandit(trial.actions, model, policy, samples=None if setting == "exact" else samples)
        bandit._rng = _generator(seed, i, 1)
        choices: list[int] = []
        for t in range(steps):
            now = trial.step(np.array(choices, dtype=np.intp))
            decision = bandit.decide(PointMass(now.context) if setting == "exact" else now.belief)
            reward = float(now.rewards[decision.index]) + now.noise
            bandit.learn(decision, reward, context=now.context if setting == "observed" else None)
            choices.append(decision.index)
            assert _learner(bandit).log_det == pytest.approx(runs.log_det[i, t], abs=1e-8)
        assert runs.choices[i].tolist() == choices


def test_results_do_not_depend_on_how_many_trials_follow() -> None:
    """More than the trials of one lock-step."""
    model, env = KernelModel(Product(RBF(1.0), RBF(1.0))), CoinFlip()
    few, many = (oc.simulate(env, model, oc.UCB(1.0), steps=10, trials=n) for n in (3, model.block + 2))
    np.testing.assert_array_equal(many.regret[:3], few.regret)
    assert many.regret.shape == (model.block + 2, 10)


# Arguments.


@pytest.mark.parametrize(
    ("ridge", "kind"),
    [(0.0, ValueError), (-1.0, ValueError), (math.nan, ValueError), (math.inf, ValueError), ("1", TypeError)],
)
def test_bad_ridge(ridge: Any, kind: type[Exception]) -> None:
    with refused(kind, "KernelModel", "ridge must"):
        KernelModel(Product(RBF(), RBF()), ridge)


@pytest.mark.parametrize("kernel", [None, "rbf", RBF, 1.0, features.Bilinear()])
def test_bad_kernel(kernel: Any) -> None:
    with refused(TypeError, "KernelModel", "kernel must be a kernel of actions and contexts", "got"):
        KernelModel(kernel)


@pytest.mark.parametrize(
    ("kernel", "kind", "owner", "words"),
    [
        (Product(RBF((1.0, 1.0, 1.0)), RBF()), ValueError, "RBF", "lengthscale must have 2 entries"),
        (Product(Matern(1.5, (1.0,)), RBF()), ValueError, "Matern", "lengthscale must have 2 entries"),
        (Product(RBF(), RBF((1.0, 1.0, 1.0))), ValueError, "RBF", "lengthscale must have 2 entries"),
        (RBF((1.0, 1.0, 1.0)), ValueError, "RBF", "lengthscale must have 2 entries"),
        (RBF((1.0, 1.0)), ValueError, "RBF", "lengthscale must have an entry for each dimension"),
        (Matern(1.5), TypeError, "Matern", "does not split"),
        (Product(RBF(), Matern(1.5)), NoClosedForm, "Matern", "samples="),
    ],
)
def test_kernels_that_do_not_fit_leave_the_bandit_fresh(
    kernel: JointKernel, kind: type[Exception], owner: str, words: str
) -> None:
    bandit = oc.Bandit(ACTIONS, KernelModel(kernel), oc.UCB(1.0))
    with refused(kind, owner, words):
        bandit.decide(Gaussian([0.0, 0.0], 1.0))
    assert bandit._learner is None
    assert bandit._dim is None


def test_contexts_of_another_dimension() -> None:
    bandit = oc.Bandit(ACTIONS, KernelModel(Product(RBF(), RBF())), oc.UCB(1.0))
    decision = bandit.decide([1.0, 2.0])
    with refused(ValueError, "Bandit", "belief must have dimension 2, got 1"):
        bandit.decide([1.0])
    with refused(ValueError, "Bandit", "context must have shape (2,), got (1,)"):
        bandit.learn(decision, 1.0, context=[1.0])
    with refused(ValueError, "Bandit", "belief must have dimension 2, got 1"):
        bandit.learn(decision, 1.0, context=Gaussian([1.0], 1.0))
    bandit.learn(decision, 1.0)


@pytest.mark.parametrize("kernel", [Product(RBF(1.0), RBF((1.0, 2.0))), RBF((1.0, 1.0, 2.0))], ids=repr)
def test_a_context_of_the_wrong_dimension_leaves_the_bandit_fresh(kernel: JointKernel) -> None:
    bandit = oc.Bandit([[0.0], [0.5]], oc.KernelModel(kernel), oc.UCB(1.0))
    with refused(ValueError, "RBF", "lengthscale must have 1 entries, one for each dimension, got 2"):
        bandit.decide([1.0])
    bandit.learn(bandit.decide([1.0, 2.0]), 1.0)


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
