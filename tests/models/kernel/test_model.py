"""The kernel model against explicit inverses, the linear model, and textbook Gaussian processes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import overcast as oc
from kernel_support import ACTIONS, COV, KERNELS, MAKERS, RIDGE, A, C, K, Maker, Naive, estimate_of, learner_of, same
from overcast import features
from overcast._check import Array
from overcast._random import Stream
from overcast.beliefs import Belief, Ensemble, Gaussian, NoClosedForm, PointMass, Quantiles
from overcast.confidence import Expected
from overcast.confidence import Kernel as KernelConfidence
from overcast.environments import Adversarial, CoinFlip, VectorEnvironment
from overcast.features import FeatureMap, Function
from overcast.kernels import RBF, AnyKernel, Constant, Kernel, Linear, Matern, Polynomial, Product
from overcast.models import KernelModel, LinearModel, Model
from overcast.simulation import Setting
from support import refused

POINTS = np.random.default_rng(0).normal(size=(6, 2))
EXAMPLES: list[tuple[Model, Array]] = [
    (KernelModel(Product(RBF(0.8), RBF(1.2)), ridge=0.1), POINTS[:3]),
    (KernelModel(Product(RBF(0.8), Matern(1.5) + Linear()), ridge=1.0), POINTS[:3]),
    (KernelModel(Product(RBF(0.8), RBF(1.2))), POINTS[:3]),
    (KernelModel(Product(RBF(0.8), Matern(1.5) + Linear())), POINTS[:3]),
    (KernelModel(), POINTS[:3]),
]

# Kernels that are linear in features.


def _quadratic(x: Array, c: Array) -> Array:
    """The features of (u^T v + 1)^2 for u = (x, c): a constant, sqrt(2) u, the squares and sqrt(2) times the rest."""
    k, n = len(x), len(c)
    u = np.concatenate([np.repeat(x[:, None], n, axis=1), np.repeat(c[None], k, axis=0)], axis=-1)
    i, j = np.triu_indices(u.shape[-1])
    squares = u[..., i] * u[..., j] * np.where(i == j, 1.0, math.sqrt(2))
    return np.concatenate([np.ones((k, n, 1)), math.sqrt(2) * u, squares], axis=-1)


LINEAR: dict[str, tuple[AnyKernel, FeatureMap, Maker]] = {
    "bilinear": (Product(Linear(), Linear()), features.Bilinear(), MAKERS["all of them"]),
    "linear": (Linear(), features.Linear(), MAKERS["all of them"]),
    "linear with a constant": (Linear() + Constant(), features.Polynomial(1), MAKERS["all of them"]),
    "quadratic": (Polynomial(2), Function(_quadratic, 15), MAKERS["ensembles"]),
}


@pytest.mark.parametrize("mode", ["hidden", "observed", "mixed"])
@pytest.mark.parametrize(("kernel", "phi", "make"), LINEAR.values(), ids=LINEAR.keys())
def test_linear_kernels_are_the_linear_model(kernel: AnyKernel, phi: FeatureMap, make: Maker, mode: str) -> None:
    rng = np.random.default_rng(1)
    one = oc.Bandit(ACTIONS, KernelModel(kernel, RIDGE), oc.UCB(KernelConfidence(0.05, 0.1)))
    two = oc.Bandit(ACTIONS, LinearModel(phi, RIDGE), oc.UCB(Expected(0.1, 0.1)))
    for t in range(50):
        belief = make(rng)
        first, second = one.decide(belief), two.decide(belief)
        assert first.index == second.index
        assert first.score == pytest.approx(second.score, abs=1e-8)  # and with it beta_t
        same(estimate_of(first), estimate_of(second))
        reward = float(rng.normal())
        context = rng.normal(size=C) if mode == "observed" or (mode == "mixed" and t % 2) else None
        one.learn(first, reward, context)
        two.learn(second, reward, context)
        assert two.state.learner is not None
        assert learner_of(one).log_det == pytest.approx(float(np.asarray(two.state.learner.log_det)), abs=1e-8)


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
        np.testing.assert_allclose(estimate_of(decision).mean, mean, atol=1e-10)
        np.testing.assert_allclose(math.sqrt(RIDGE) * estimate_of(decision).width, deviation, atol=1e-10)
        scores = mean + beta / math.sqrt(RIDGE) * deviation
        assert scores[decision.index] == pytest.approx(scores.max(), abs=1e-10)
        reward = float(rng.normal())
        bandit.learn(decision, reward)
        X, contexts, y = np.vstack([X, ACTIONS[decision.index]]), np.vstack([contexts, c]), np.append(y, reward)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_estimates_are_the_explicit_formulas(kernel: AnyKernel, make: Maker) -> None:
    """Hidden and revealed rounds, partial ones, and rewards that come late, out of order or never."""
    rng = np.random.default_rng(3)
    bandit, naive = oc.Bandit(ACTIONS, KernelModel(kernel, RIDGE), oc.UCB(1.0)), Naive(kernel, RIDGE, ACTIONS)
    waiting: list[tuple[oc.Decision, Belief]] = []
    for t in range(14):
        belief = make(rng)
        same(bandit.estimate(belief), naive.estimate(belief))
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
    assert len(learner_of(bandit)) == len(naive.rounds) == 8
    assert learner_of(bandit).log_det == pytest.approx(naive.log_det, abs=1e-8)
    assert learner_of(bandit).jitter == 0.0


@pytest.mark.parametrize("samples", [1, 6, "t"])
@pytest.mark.parametrize("name", ["diagonal", "mixtures", "quantiles"])
def test_samples_are_the_empirical_distribution_of_the_bandits_own_draws(samples: Any, name: str) -> None:
    kernel = Product(RBF(0.8), RBF(0.7)) + Product(Linear(), Polynomial(2, 0.2))
    rng, stream = np.random.default_rng(4), Stream(9)
    bandit = oc.Bandit(ACTIONS, KernelModel(kernel, RIDGE), oc.UCB(1.0), samples=samples, seed=9)
    naive = Naive(kernel, RIDGE, ACTIONS)
    for t in range(1, 10):
        belief = Quantiles([0.2, 0.8], [[-1.0, 0.0], [1.0, 2.0]]) if name == "quantiles" else MAKERS[name](rng)
        drawn = Ensemble(belief.sample(t if samples == "t" else samples, stream.at(t)))
        same(bandit.estimate(belief), naive.estimate(drawn))
        decision, reward = bandit.decide(belief), float(rng.normal())
        context = rng.normal(size=C) if t % 4 == 0 else None
        bandit.learn(decision, reward, context)
        naive.add(decision.index, drawn if context is None else PointMass(context), reward)


@pytest.mark.parametrize("name", ["points", "all of them"])
@pytest.mark.parametrize("k", [2, 3, 40])
@pytest.mark.parametrize("kernel", [KERNELS["product"], KERNELS["sum"]], ids=["one term", "three"])
def test_many_actions_few_taken_and_few_actions_all_taken(kernel: AnyKernel, k: int, name: str) -> None:
    """L is solved for all actions, or for the distinct ones taken so far if these are fewer."""
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
        few.append(len(learner_of(bandit)._taken) * terms < k)
    assert any(few) == (k == 40 or (k, terms) in {(2, 1), (3, 1)})
    belief = MAKERS[name](rng)
    same(bandit.estimate(belief), naive.estimate(belief))


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
    same(later.estimate(beliefs[0]), at_once.estimate(beliefs[0]), 1e-9)
    assert learner_of(later).log_det == pytest.approx(learner_of(at_once).log_det, abs=1e-9)


def test_many_rounds_of_large_ensembles_through_the_grid() -> None:
    """Above 50,000 pairs of members the products come from characteristic functions, and estimates stay the same."""
    rng = np.random.default_rng(7)
    kernel = Product(RBF(0.8), RBF(0.7))
    bandit, naive = oc.Bandit(ACTIONS, KernelModel(kernel, 1e-3), oc.UCB(1.0)), Naive(kernel, 1e-3, ACTIONS)
    for t in range(12):
        belief: Belief = Ensemble(rng.normal(size=(100, C))) if t % 3 else Gaussian(rng.normal(size=C), COV)
        decision, reward = bandit.decide(belief), float(rng.normal())
        bandit.learn(decision, reward)
        naive.add(decision.index, belief, reward)
    belief = Ensemble(rng.normal(size=(100, C)))
    same(bandit.estimate(belief), naive.estimate(belief), 1e-6)
    assert learner_of(bandit).past[0]._grid is not None


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
        own = np.random.SeedSequence(seed, spawn_key=(i, 1))
        bandit = oc.Bandit(trial.actions, model, policy, None if setting == "exact" else samples, seed=own)
        choices: list[int] = []
        for t in range(steps):
            now = trial.step(np.array(choices, dtype=np.intp))
            decision = bandit.decide(PointMass(now.context) if setting == "exact" else now.belief)
            reward = now.reward(decision.index)
            bandit.learn(decision, reward, context=now.context if setting == "observed" else None)
            choices.append(decision.index)
            assert learner_of(bandit).log_det == pytest.approx(runs.log_det[i, t], abs=1e-8)
        assert runs.choices[i].tolist() == choices


def test_results_do_not_depend_on_how_many_trials_follow() -> None:
    """There are more trials than fit one lock-step."""
    model, env = KernelModel(Product(RBF(1.0), RBF(1.0)), ridge=1.0), CoinFlip()
    few, many = (oc.simulate(env, model, oc.UCB(1.0), steps=10, trials=n) for n in (3, model.batch + 2))
    np.testing.assert_array_equal(many.regret[:3], few.regret)
    assert many.regret.shape == (model.batch + 2, 10)


# Arguments.


@pytest.mark.parametrize(
    ("ridge", "kind"),
    [(0.0, ValueError), (-1.0, ValueError), (math.nan, ValueError), (math.inf, ValueError), ("1", TypeError)],
)
def test_bad_ridge(ridge: Any, kind: type[Exception]) -> None:
    with refused(kind, "KernelModel", "ridge must"):
        KernelModel(Product(RBF(), RBF()), ridge)


@pytest.mark.parametrize("kernel", ["rbf", RBF, 1.0, features.Bilinear()])
def test_bad_kernel(kernel: Any) -> None:
    with refused(TypeError, "KernelModel", "kernel must be a kernel of actions and contexts", "got"):
        KernelModel(kernel)


def test_a_ridge_needs_a_kernel() -> None:
    with refused(ValueError, "KernelModel", "kernel must be given with a ridge", "got ridge=0.5 alone"):
        KernelModel(ridge=0.5)


def test_repr_says_what_was_given() -> None:
    assert repr(KernelModel()) == "KernelModel()"
    assert repr(KernelModel(RBF(2.0))) == "KernelModel(kernel=RBF(lengthscale=2.0))"
    assert repr(KernelModel(RBF(2.0), 0.5)) == "KernelModel(kernel=RBF(lengthscale=2.0), ridge=0.5)"


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
    kernel: AnyKernel, kind: type[Exception], owner: str, words: str
) -> None:
    bandit = oc.Bandit(ACTIONS, KernelModel(kernel), oc.UCB(1.0))
    with refused(kind, owner, words):
        bandit.decide(Gaussian([0.0, 0.0], 1.0))
    assert bandit.state.learner is None
    assert bandit.state.dim is None


def test_contexts_of_another_dimension() -> None:
    bandit = oc.Bandit(ACTIONS, KernelModel(Product(RBF(), RBF())), oc.UCB(1.0))
    decision = bandit.decide([1.0, 2.0])
    with refused(ValueError, "Bandit", "belief must have dimension 2, got 1"):
        bandit.decide([1.0])
    with refused(ValueError, "Bandit", "context must have shape (2,), got (1,)"):
        bandit.learn(decision, 1.0, context=[1.0])
    with refused(ValueError, "Bandit", "context must have dimension 2, got 1"):
        bandit.learn(decision, 1.0, context=Gaussian([1.0], 1.0))
    bandit.learn(decision, 1.0)


@pytest.mark.parametrize("kernel", [Product(RBF(1.0), RBF((1.0, 2.0))), RBF((1.0, 1.0, 2.0))], ids=repr)
def test_a_context_of_the_wrong_dimension_leaves_the_bandit_fresh(kernel: AnyKernel) -> None:
    bandit = oc.Bandit([[0.0], [0.5]], oc.KernelModel(kernel), oc.UCB(1.0))
    with refused(ValueError, "RBF", "lengthscale must have 1 entries, one for each dimension, got 2"):
        bandit.decide([1.0])
    bandit.learn(bandit.decide([1.0, 2.0]), 1.0)
