"""Fits of kernels: of known processes, of hopeless starts, and within a bandit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from kernel_support import ARMS, FITTED, SMOOTH, C, Log, belief_of, given, learnt, likelihood_of, log_of, matrix_of
from overcast._check import Array
from overcast.kernels import RBF, AnyKernel, Constant, JointScaled, Kernel, Linear, Matern, Polynomial, Product
from overcast.models import Fitted, fit_hyperparameters
from overcast.models.kernel.learner import KernelLearner
from support import refused


def test_noise_times_width_is_the_posterior_standard_deviation() -> None:
    log, belief = log_of("mixed", 25), oc.Gaussian([0.1, 0.2], 0.1)
    fit = fit_hyperparameters(model := oc.KernelModel(SMOOTH, 0.3), learnt(model, log))
    kernel, ridge = given(fit.model)
    assert isinstance(kernel, Product)
    whole = matrix_of(kernel, [*log, (2, belief, 0.0)])
    prior = fit.noise**2 / ridge * whole
    noise = fit.noise**2 * np.eye(len(log))
    posterior = prior[-1, -1] - prior[-1, :-1] @ np.linalg.solve(prior[:-1, :-1] + noise, prior[:-1, -1])
    learner = learnt(fit.model, log)
    width = learner.estimate(learner.at(ARMS), learner.view(belief)).width[2]
    assert math.isclose(fit.noise * width, math.sqrt(posterior), rel_tol=1e-8)


@pytest.mark.parametrize(("seed", "factor"), [(0, 0.1), (1, 10.0), (2, 1.0)])
def test_parameters_of_a_known_process_are_found(seed: int, factor: float) -> None:
    """Within a factor of two, from a start that is off by `factor`; of twenty seeds, nineteen are."""
    rng = np.random.default_rng(seed)
    true, noise, t = Product(RBF(0.8), RBF((0.3, 0.6))), 0.3, 90
    log: Log = [(int(rng.integers(len(ARMS))), belief_of("variances", rng), 0.0) for _ in range(t)]
    rewards = np.linalg.cholesky(4.0 * matrix_of(true, log) + noise**2 * np.eye(t)) @ rng.standard_normal(t)
    log = [(index, belief, float(reward)) for (index, belief, _), reward in zip(log, rewards, strict=True)]
    start = oc.KernelModel(true.with_parameters([factor * value for value in true.parameters()]), ridge=1.0)
    fit = fit_hyperparameters(start, learnt(start, log))
    ratios = np.array([*given(fit.model)[0].parameters(), fit.noise]) / np.array([*true.parameters(), noise])
    assert (np.abs(np.log(ratios)) < math.log(2.0)).all()
    assert fit.log_likelihood > fit.log_likelihood_before


@pytest.mark.parametrize(("kernel", "kind"), FITTED)
def test_never_worse_and_of_the_same_form(kernel: AnyKernel, kind: str) -> None:
    log = log_of(kind, 20)
    model = oc.KernelModel(kernel, 0.5)
    learner = learnt(model, log)
    before = learner.state()
    fit = fit_hyperparameters(model, learner)
    assert fit.log_likelihood > fit.log_likelihood_before
    fitted, ridge = given(fit.model)
    assert fitted.with_parameters(kernel.parameters()) == kernel
    again = likelihood_of(fitted, log)(np.array(fitted.parameters()), ridge)
    assert math.isclose(again.log_likelihood, fit.log_likelihood, rel_tol=1e-9)
    assert math.isclose(again.noise, fit.noise, rel_tol=1e-9)
    for name, value in learner.state().items():
        np.testing.assert_array_equal(value, before[name])


def test_a_fit_stays_where_it_is() -> None:
    log = log_of("mixed", 30)
    first = fit_hyperparameters(model := oc.KernelModel(SMOOTH, ridge=1.0), learnt(model, log))
    second = fit_hyperparameters(first.model, learnt(first.model, log))
    assert second.log_likelihood_before == pytest.approx(first.log_likelihood, rel=1e-9)
    assert second.log_likelihood == pytest.approx(first.log_likelihood, rel=1e-4)
    assert fit_hyperparameters(model, learnt(model, log)) == first


def test_scalars_stay_scalars_and_tuples_tuples() -> None:
    model = oc.KernelModel(Product(RBF((0.5, 0.5)), Matern(1.5, 0.5)), ridge=1.0)
    kernel = fit_hyperparameters(model, learnt(model, log_of("ensemble", 20))).model.kernel
    assert isinstance(kernel, Product)
    assert isinstance(kernel.action_kernel, RBF)
    assert isinstance(kernel.action_kernel.lengthscale, tuple)
    assert isinstance(kernel.context_kernel, Matern)
    assert isinstance(kernel.context_kernel.lengthscale, float)
    assert kernel.context_kernel.nu == 1.5


def test_a_factor_of_the_whole_kernel_stays() -> None:
    """It has the effect of the ridge: a factor of both kernel and ridge gives the same fit."""
    log = log_of("mixed", 30)
    plain, scaled = oc.KernelModel(SMOOTH, 0.3), oc.KernelModel(JointScaled(SMOOTH, 5.0), 1.5)
    first, second = (fit_hyperparameters(model, learnt(model, log)) for model in (plain, scaled))
    assert isinstance(second.model.kernel, JointScaled)
    assert second.model.kernel.scale == 5.0
    assert second.log_likelihood == pytest.approx(first.log_likelihood, rel=1e-6)
    assert second.noise == pytest.approx(first.noise, rel=1e-2)
    assert second.model.ridge == pytest.approx(5.0 * given(first.model)[1], rel=2e-2)


def test_scales_of_a_sum_are_fitted() -> None:
    """Rewards far from zero call for a large intercept."""
    log = [(index, belief, reward + 50.0) for index, belief, reward in log_of("mixed", 40)]
    model = oc.KernelModel(SMOOTH + 1.0 * Constant(), ridge=1.0)
    fit = fit_hyperparameters(model, learnt(model, log))
    assert given(fit.model)[0].parameters()[-1] > 100.0
    assert fit.noise < 0.3


def test_kernels_without_parameters_have_their_ridge_fitted() -> None:
    log = log_of("mixed", 40)
    for kernel in (Product(Linear(), Linear()), Polynomial(2), Product(Linear(), Linear()) + Constant()):
        model = oc.KernelModel(kernel, 100.0)
        fit = fit_hyperparameters(model, learnt(model, log))
        assert fit.model.kernel == kernel
        assert given(fit.model)[1] < 10.0
        assert fit.log_likelihood > fit.log_likelihood_before


@pytest.mark.parametrize("size", [1e-120, 1e120])
def test_rewards_of_any_size(size: float) -> None:
    log = log_of("mixed", 20)
    model = oc.KernelModel(SMOOTH, ridge=1.0)
    plain = fit_hyperparameters(model, learnt(model, log))
    sized = fit_hyperparameters(model, learnt(model, [(index, belief, size * y) for index, belief, y in log]))
    assert sized.model.ridge == pytest.approx(plain.model.ridge, rel=1e-2)
    assert sized.noise == pytest.approx(size * plain.noise, rel=1e-2)
    assert sized.log_likelihood == pytest.approx(plain.log_likelihood - 20 * math.log(size), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1e9, 1e90])
def test_hopeless_starts_are_no_worse_for_it(scale: float) -> None:
    model = oc.KernelModel(Product(RBF(1.0), RBF(scale)), ridge=1.0)
    fit = fit_hyperparameters(model, learnt(model, log_of("mixed", 20)))
    assert math.isfinite(fit.log_likelihood)
    assert fit.log_likelihood >= fit.log_likelihood_before


def test_two_rounds_and_equal_rounds() -> None:
    model = oc.KernelModel(SMOOTH, ridge=1.0)
    log: Log = [(0, oc.PointMass([0.1, 0.2]), 1.0)] * 2
    for rounds in (log, log_of("mixed", 2), log * 10):
        fit = fit_hyperparameters(model, learnt(model, rounds))
        assert fit.log_likelihood >= fit.log_likelihood_before
        learnt(fit.model, rounds)


def test_a_ridge_lost_in_rounding() -> None:
    model, log = oc.KernelModel(SMOOTH, 1e-30), log_of("point", 30) * 2
    with pytest.warns(RuntimeWarning, match="lost in rounding"):
        learner = learnt(model, log)
    fit = fit_hyperparameters(model, learner)
    assert given(fit.model)[1] > 1e-12
    assert fit.log_likelihood > fit.log_likelihood_before


class Fixed(Kernel):
    """A kernel from outside the package, without parameters."""

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(np.exp(-np.abs(left[:, None, 0] - right[None, :, 0])))


class Forgetful(Fixed):
    """A kernel with a parameter but no gradient."""

    def parameters(self) -> tuple[float, ...]:
        return (1.0,)

    def with_parameters(self, values: Sequence[float]) -> Forgetful:
        return self


def test_a_kernel_of_ones_own() -> None:
    model = oc.KernelModel(Product(RBF(0.3), fixed := Fixed()), ridge=1.0)
    fit = fit_hyperparameters(model, learnt(model, log_of("ensemble", 15)))
    assert isinstance(fit.model.kernel, Product)
    assert fit.model.kernel.context_kernel is fixed
    assert fit.log_likelihood > fit.log_likelihood_before
    for product in (Product(Forgetful(), RBF(1.0)), Product(RBF(1.0), Forgetful())):
        model = oc.KernelModel(product, ridge=1.0)
        learner = learnt(model, log_of("ensemble", 3))
        with refused(ValueError, "Forgetful", "gradient must have shape (1, ", "got (0, "):
            fit_hyperparameters(model, learner)


def test_what_cannot_be_fitted() -> None:
    linear, model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.KernelModel(SMOOTH, ridge=1.0)
    learner = linear.start(ARMS, C)
    with refused(TypeError, "fit_hyperparameters", "model must be a KernelModel", "got LinearModel"):
        fit_hyperparameters(linear, learner)
    with refused(TypeError, "fit_hyperparameters", "learner must be the model's own", "got "):
        fit_hyperparameters(model, learner)
    for seen in (None, learnt(model, []), learnt(model, log_of("mixed", 1))):
        with refused(ValueError, "fit_hyperparameters", "at least 2 rewards", "learn more first"):
            fit_hyperparameters(model, seen)
    with refused(ValueError, "fit_hyperparameters", "rewards must not all be zero"):
        fit_hyperparameters(model, learnt(model, [(0, oc.PointMass([0.0, 0.0]), 0.0)] * 3))
    flat = oc.KernelModel(Product(Linear(), Linear()), ridge=1.0)
    with refused(ValueError, "fit_hyperparameters", "kernel must not vanish"):
        fit_hyperparameters(flat, learnt(flat, [(0, oc.PointMass([0.0, 0.0]), 1.0)] * 3))


def _bandit(model: oc.KernelModel | None = None, **options: Any) -> oc.Bandit:
    return oc.Bandit(ARMS, model or oc.KernelModel(Product(RBF(0.1), RBF(0.1)), ridge=1.0), oc.UCB(1.0), **options)


def _run(bandit: oc.Bandit, t: int) -> list[tuple[oc.Belief, oc.Decision, Array | None, float]]:
    """Return beliefs, decisions, contexts where revealed, and rewards."""
    rng = np.random.default_rng(0)
    out = []
    for i in range(t):
        belief = belief_of("mixed", rng)
        decision = bandit.decide(belief)
        context = belief.mean() if i % 3 == 0 else None
        reward = float(ARMS[decision.index] @ np.sin(2.0 * belief.mean()) + 0.1 * rng.normal())
        bandit.learn(decision, reward, context)
        out.append((belief, decision, context, reward))
    return out


@pytest.mark.parametrize("samples", [None, 5])
def test_decisions_after_a_fit_are_those_of_a_fresh_bandit(samples: int | None) -> None:
    bandit = _bandit(samples=samples)
    history = _run(bandit, 25)
    waiting = bandit.decide(oc.Gaussian([0.1, 0.1], 0.2))
    fit = bandit.fit_hyperparameters()
    assert isinstance(fit, Fitted)
    assert bandit.model is fit.model
    fresh = _bandit(fit.model, samples=samples)
    for belief, decision, context, reward in history:
        fresh.learn(fresh.decide(belief, available=[decision.index]), reward, context)
    late = fresh.decide(oc.Gaussian([0.1, 0.1], 0.2), available=[waiting.index])
    for one, ticket in ((bandit, waiting), (fresh, late)):
        one.learn(ticket, 0.7)
    for seed in range(5):
        belief = belief_of("mixed", np.random.default_rng(seed))
        first, second = bandit.decide(belief), fresh.decide(belief)
        assert first.index == second.index
        np.testing.assert_allclose(first.mean, second.mean, rtol=1e-8)
        np.testing.assert_allclose(first.width, second.width, rtol=1e-6)


def test_a_fitted_bandit_can_be_saved(tmp_path: Path) -> None:
    bandit = _bandit()
    _run(bandit, 20)
    waiting = bandit.decide(oc.Gaussian([0.1, 0.1], 0.2))
    fit = bandit.fit_hyperparameters()
    bandit.save(tmp_path / "bandit")
    loaded = oc.Bandit.load(tmp_path / "bandit")
    assert loaded.model == fit.model
    for one in (bandit, loaded):
        one.learn(waiting.id, 0.3, context=[0.0, 0.1])
    belief = oc.Gaussian([0.3, -0.2], [0.1, 0.2])
    np.testing.assert_allclose(bandit.decide(belief).mean, loaded.decide(belief).mean, rtol=1e-9)
    loaded.fit_hyperparameters()


def test_a_bandit_that_cannot_be_fitted_stays_as_it_is() -> None:
    bandit = _bandit()
    with refused(ValueError, "fit_hyperparameters", "got 0"):
        bandit.fit_hyperparameters()
    decision = bandit.decide([0.1, 0.2])
    model, learner = bandit.model, bandit.state.learner
    with refused(ValueError, "fit_hyperparameters", "got 0"):
        bandit.fit_hyperparameters()
    assert bandit.model is model
    assert bandit.state.learner is learner
    bandit.learn(decision, 1.0)
    linear = oc.Bandit(ARMS, oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(1.0))
    with refused(TypeError, "fit_hyperparameters", "got LinearModel"):
        linear.fit_hyperparameters()


def test_what_fails_while_learning_again_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = _bandit()
    _run(bandit, 5)
    waiting = bandit.decide([0.1, 0.2])
    model, learner, estimate = bandit.model, bandit.state.learner, bandit.estimate([0.3, 0.4])
    learn, calls = KernelLearner.learn, []

    def fails(self: KernelLearner, evidence: Any, reward: Any) -> None:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        learn(self, evidence, reward)

    monkeypatch.setattr(KernelLearner, "learn", fails)
    with pytest.raises(KeyboardInterrupt):
        bandit.fit_hyperparameters()
    monkeypatch.undo()
    assert bandit.model is model
    assert bandit.state.learner is learner
    np.testing.assert_array_equal(bandit.estimate([0.3, 0.4]).mean, estimate.mean)
    bandit.learn(waiting, 1.0)
