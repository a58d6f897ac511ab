"""Fitting kernels: against textbook formulas, finite differences, and data from a known Gaussian process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import overcast as oc
from overcast._check import Array
from overcast.beliefs.cloud import Cloud
from overcast.kernels import RBF, Constant, JointKernel, Kernel, Linear, Matern, Polynomial, Product, Scaled, Sum
from overcast.models import Fit, fit_hyperparameters, gram
from overcast.models.gram import Rounds
from overcast.models.kernel import KernelLearner
from overcast.models.likelihood import Likelihood
from support import refused

K, C = 6, 2
ACTIONS = np.random.default_rng(0).uniform(-1.0, 1.0, (K, 2))
Log = list[tuple[int, oc.Belief, float]]


def _belief(kind: str, rng: np.random.Generator) -> oc.Belief:
    centre = rng.uniform(-1.0, 1.0, C)
    root = 0.3 * rng.normal(size=(C, C))
    if kind == "mixed":
        kind = ("point", "variances", "covariance", "ensemble", "mixture")[rng.integers(5)]
    if kind == "point":
        return oc.PointMass(centre)
    if kind == "variances":
        return oc.Gaussian(centre, rng.uniform(0.01, 0.2, C))
    if kind == "covariance":
        return oc.Gaussian(centre, root @ root.T)
    if kind == "ensemble":
        return oc.Ensemble(centre + 0.3 * rng.normal(size=(rng.integers(1, 8), C)))
    return oc.Mixture([oc.Gaussian(centre, 0.1), oc.PointMass(-centre)], [0.7, 0.3])


def _log(kind: str, t: int, seed: int = 0) -> Log:
    """Return rounds whose rewards follow the mean of the belief, with noise."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(t):
        index, belief = int(rng.integers(K)), _belief(kind, rng)
        mean = belief.mean()
        reward = ACTIONS[index, 0] * math.sin(3.0 * mean[0]) + ACTIONS[index, 1] * mean[1] + 0.1 * rng.normal()
        out.append((index, belief, reward))
    return out


def _learnt(model: oc.KernelModel, log: Log) -> KernelLearner:
    learner = model.start(ACTIONS, C)
    for index, belief, reward in log:
        learner.learn(learner.evidence(learner.encode(belief), index), reward)
    return learner


def _likelihood(kernel: JointKernel, log: Log) -> Likelihood:
    return Likelihood.of(kernel, Rounds.of(_learnt(oc.KernelModel(kernel), log)))


def _matrix(kernel: Product, log: Log) -> Array:
    """Return K from the definition, pair by pair."""
    beliefs = [belief for _, belief, _ in log]
    taken = ACTIONS[[index for index, _, _ in log]]
    return kernel.action_kernel(taken, taken) * kernel.context_kernel.expected(beliefs, beliefs)


SMOOTH = Product(RBF((0.8, 1.7)), RBF(0.6))
KERNELS: list[tuple[JointKernel, str]] = [
    (SMOOTH, "point"),
    (SMOOTH, "variances"),
    (SMOOTH, "covariance"),
    (SMOOTH, "mixed"),
    (Product(RBF(0.8), RBF((0.6, 1.1))), "mixed"),
    (RBF(0.9), "mixed"),
    (RBF((0.5, 0.7, 0.9, 1.1)), "mixed"),
    (Product(Matern(2.5, 0.7), Matern(1.5, (0.6, 0.9))), "ensemble"),
    (Product(Matern(0.5, (0.7, 0.9)), Matern(0.5, 0.5)), "ensemble"),
    (2.0 * (0.5 * SMOOTH + 3.0 * Constant()), "mixed"),
    (Product(2.0 * RBF(1.0) + 0.3 * Linear(), 0.7 * RBF(0.4) + 1.5 * Constant()), "mixed"),
    (Sum((SMOOTH, 0.3 * Polynomial(2), Product(3.0 * Linear(), Matern(2.5, 0.5)))), "ensemble"),
]


def test_the_likelihood_is_that_of_a_normal_distribution() -> None:
    log, ridge = _log("mixed", 25), 0.3
    y = np.array([reward for _, _, reward in log])
    covariance = _matrix(SMOOTH, log) + ridge * np.eye(len(log))
    variance = float(y @ np.linalg.solve(covariance, y)) / len(log)
    found = _likelihood(SMOOTH, log)(np.array(SMOOTH.parameters()), ridge)
    expected = multivariate_normal(cov=variance * covariance).logpdf(y)
    assert math.isclose(found.log_likelihood, expected, rel_tol=1e-9)
    assert math.isclose(found.noise, math.sqrt(variance * ridge), rel_tol=1e-9)
    for factor in (0.9, 1.1):
        assert multivariate_normal(cov=factor * variance * covariance).logpdf(y) < expected


def test_noise_times_width_is_the_posterior_standard_deviation() -> None:
    log, belief = _log("mixed", 25), oc.Gaussian([0.1, 0.2], 0.1)
    fit = fit_hyperparameters(model := oc.KernelModel(SMOOTH, 0.3), _learnt(model, log))
    kernel, ridge = fit.model.kernel, fit.model.ridge
    assert isinstance(kernel, Product)
    whole = _matrix(kernel, [*log, (2, belief, 0.0)])
    prior = fit.noise**2 / ridge * whole
    noise = fit.noise**2 * np.eye(len(log))
    posterior = prior[-1, -1] - prior[-1, :-1] @ np.linalg.solve(prior[:-1, :-1] + noise, prior[:-1, -1])
    learner = _learnt(fit.model, log)
    width = learner.estimate(learner.encode(belief)).width[2]
    assert math.isclose(fit.noise * width, math.sqrt(posterior), rel_tol=1e-8)


@pytest.mark.parametrize(("kernel", "kind"), KERNELS)
def test_slopes_against_central_differences(kernel: JointKernel, kind: str) -> None:
    likelihood = _likelihood(kernel, _log(kind, 20))
    logs, step = np.log([*kernel.parameters(), 0.2]), 1e-5

    def value(at: Array) -> float:
        return likelihood(np.exp(at[:-1]), math.exp(at[-1])).log_likelihood

    expected = [(value(logs + step * e) - value(logs - step * e)) / (2.0 * step) for e in np.eye(len(logs))]
    found = likelihood(np.exp(logs[:-1]), 0.2).slopes
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("context_kernel", [RBF(0.5), RBF((0.5, 0.8))])
@pytest.mark.parametrize("normal", [False, True])
def test_the_grid_of_frequencies_agrees_with_all_pairs(
    context_kernel: RBF, normal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    log: Log = []
    for i in range(6):
        points = rng.normal(size=(15, C))
        members: list[oc.Belief] = [oc.Gaussian(point, 0.1) if normal else oc.PointMass(point) for point in points]
        log.append((i % K, oc.Mixture(members), 1.0))
    likelihood = _likelihood(Product(RBF(1.0), context_kernel), log)
    parameters = np.array([1.0, *context_kernel.parameters()])
    on_grid = likelihood.gram(parameters, slopes=True)
    monkeypatch.setattr(gram, "MIN_FOR_GRID", 1000)
    direct = likelihood.gram(parameters, slopes=True)
    np.testing.assert_allclose(on_grid[0], direct[0], atol=1e-9)
    np.testing.assert_allclose(on_grid[1], direct[1], atol=1e-8)


def test_a_matrix_of_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    log = _log("mixed", 15)
    parameters = np.array(SMOOTH.parameters())
    expected = _matrix(SMOOTH, log)
    for size in (1, 4, 1000):
        monkeypatch.setattr(gram, "BLOCK", size)
        found, _ = _likelihood(SMOOTH, log).gram(parameters, slopes=True)
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(("seed", "factor"), [(0, 0.1), (1, 10.0), (2, 1.0)])
def test_parameters_of_a_known_process_are_found(seed: int, factor: float) -> None:
    """Within a factor of two, from a start that is off by `factor`; of twenty seeds, nineteen are."""
    rng = np.random.default_rng(seed)
    true, noise, t = Product(RBF(0.8), RBF((0.3, 0.6))), 0.3, 90
    log: Log = [(int(rng.integers(K)), _belief("variances", rng), 0.0) for _ in range(t)]
    rewards = np.linalg.cholesky(4.0 * _matrix(true, log) + noise**2 * np.eye(t)) @ rng.standard_normal(t)
    log = [(index, belief, float(reward)) for (index, belief, _), reward in zip(log, rewards, strict=True)]
    start = oc.KernelModel(true.with_parameters([factor * value for value in true.parameters()]), ridge=1.0)
    fit = fit_hyperparameters(start, _learnt(start, log))
    ratios = np.array([*fit.model.kernel.parameters(), fit.noise]) / np.array([*true.parameters(), noise])
    assert (np.abs(np.log(ratios)) < math.log(2.0)).all()
    assert fit.log_likelihood > fit.log_likelihood_before


@pytest.mark.parametrize(("kernel", "kind"), KERNELS)
def test_never_worse_and_of_the_same_form(kernel: JointKernel, kind: str) -> None:
    log = _log(kind, 20)
    model = oc.KernelModel(kernel, 0.5)
    learner = _learnt(model, log)
    before = learner.state()
    fit = fit_hyperparameters(model, learner)
    assert fit.log_likelihood > fit.log_likelihood_before
    assert fit.model.kernel.with_parameters(kernel.parameters()) == kernel
    again = _likelihood(fit.model.kernel, log)(np.array(fit.model.kernel.parameters()), fit.model.ridge)
    assert math.isclose(again.log_likelihood, fit.log_likelihood, rel_tol=1e-9)
    assert math.isclose(again.noise, fit.noise, rel_tol=1e-9)
    for name, value in learner.state().items():
        np.testing.assert_array_equal(value, before[name])


def test_a_fit_stays_where_it_is() -> None:
    log = _log("mixed", 30)
    first = fit_hyperparameters(model := oc.KernelModel(SMOOTH), _learnt(model, log))
    second = fit_hyperparameters(first.model, _learnt(first.model, log))
    assert second.log_likelihood_before == pytest.approx(first.log_likelihood, rel=1e-9)
    assert second.log_likelihood == pytest.approx(first.log_likelihood, rel=1e-4)
    assert fit_hyperparameters(model, _learnt(model, log)) == first


def test_scalars_stay_scalars_and_tuples_tuples() -> None:
    model = oc.KernelModel(Product(RBF((0.5, 0.5)), Matern(1.5, 0.5)))
    kernel = fit_hyperparameters(model, _learnt(model, _log("ensemble", 20))).model.kernel
    assert isinstance(kernel, Product)
    assert isinstance(kernel.action_kernel, RBF)
    assert isinstance(kernel.action_kernel.lengthscale, tuple)
    assert isinstance(kernel.context_kernel, Matern)
    assert isinstance(kernel.context_kernel.lengthscale, float)
    assert kernel.context_kernel.nu == 1.5


def test_a_factor_of_the_whole_kernel_stays() -> None:
    """It says what the ridge says: kernel, ridge and factor together give the same fit."""
    log = _log("mixed", 30)
    plain, scaled = oc.KernelModel(SMOOTH, 0.3), oc.KernelModel(Scaled(SMOOTH, 5.0), 1.5)
    first, second = (fit_hyperparameters(model, _learnt(model, log)) for model in (plain, scaled))
    assert isinstance(second.model.kernel, Scaled)
    assert second.model.kernel.scale == 5.0
    assert second.log_likelihood == pytest.approx(first.log_likelihood, rel=1e-6)
    assert second.noise == pytest.approx(first.noise, rel=1e-2)
    assert second.model.ridge == pytest.approx(5.0 * first.model.ridge, rel=2e-2)


def test_scales_of_a_sum_are_fitted() -> None:
    """Rewards far from zero call for a large intercept."""
    log = [(index, belief, reward + 50.0) for index, belief, reward in _log("mixed", 40)]
    model = oc.KernelModel(SMOOTH + 1.0 * Constant())
    fit = fit_hyperparameters(model, _learnt(model, log))
    assert fit.model.kernel.parameters()[-1] > 100.0
    assert fit.noise < 0.3


def test_kernels_without_parameters_have_their_ridge_fitted() -> None:
    log = _log("mixed", 40)
    for kernel in (Product(Linear(), Linear()), Polynomial(2), Product(Linear(), Linear()) + Constant()):
        model = oc.KernelModel(kernel, 100.0)
        fit = fit_hyperparameters(model, _learnt(model, log))
        assert fit.model.kernel == kernel
        assert fit.model.ridge < 10.0
        assert fit.log_likelihood > fit.log_likelihood_before


@pytest.mark.parametrize("size", [1e-120, 1e120])
def test_rewards_of_any_size(size: float) -> None:
    log = _log("mixed", 20)
    model = oc.KernelModel(SMOOTH)
    plain = fit_hyperparameters(model, _learnt(model, log))
    sized = fit_hyperparameters(model, _learnt(model, [(index, belief, size * y) for index, belief, y in log]))
    assert sized.model.ridge == pytest.approx(plain.model.ridge, rel=1e-2)
    assert sized.noise == pytest.approx(size * plain.noise, rel=1e-2)
    assert sized.log_likelihood == pytest.approx(plain.log_likelihood - 20 * math.log(size), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1e9, 1e90])
def test_hopeless_starts_are_no_worse_for_it(scale: float) -> None:
    model = oc.KernelModel(Product(RBF(1.0), RBF(scale)))
    fit = fit_hyperparameters(model, _learnt(model, _log("mixed", 20)))
    assert math.isfinite(fit.log_likelihood)
    assert fit.log_likelihood >= fit.log_likelihood_before


def test_two_rounds_and_equal_rounds() -> None:
    model = oc.KernelModel(SMOOTH)
    log: Log = [(0, oc.PointMass([0.1, 0.2]), 1.0)] * 2
    for rounds in (log, _log("mixed", 2), log * 10):
        fit = fit_hyperparameters(model, _learnt(model, rounds))
        assert fit.log_likelihood >= fit.log_likelihood_before
        _learnt(fit.model, rounds)


def test_a_ridge_lost_in_rounding() -> None:
    model, log = oc.KernelModel(SMOOTH, 1e-30), _log("point", 30) * 2
    with pytest.warns(RuntimeWarning, match="lost in rounding"):
        learner = _learnt(model, log)
    fit = fit_hyperparameters(model, learner)
    assert fit.model.ridge > 1e-12
    assert fit.log_likelihood > fit.log_likelihood_before


class Fixed(Kernel):
    """A kernel of one's own, without parameters."""

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(np.exp(-np.abs(left[:, None, 0] - right[None, :, 0])))


class Forgetful(Fixed):
    """One that has a parameter and no gradient."""

    def parameters(self) -> tuple[float, ...]:
        return (1.0,)

    def with_parameters(self, values: Sequence[float]) -> Forgetful:
        return self


def test_a_kernel_of_ones_own() -> None:
    model = oc.KernelModel(Product(RBF(0.3), fixed := Fixed()))
    fit = fit_hyperparameters(model, _learnt(model, _log("ensemble", 15)))
    assert isinstance(fit.model.kernel, Product)
    assert fit.model.kernel.context_kernel is fixed
    assert fit.log_likelihood > fit.log_likelihood_before
    for product in (Product(Forgetful(), RBF(1.0)), Product(RBF(1.0), Forgetful())):
        model = oc.KernelModel(product)
        learner = _learnt(model, _log("ensemble", 3))
        with refused(ValueError, "Forgetful", "gradient must have shape (1, ", "got (0, "):
            fit_hyperparameters(model, learner)


def test_what_cannot_be_fitted() -> None:
    linear, model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.KernelModel(SMOOTH)
    learner = linear.start(ACTIONS, C)
    with refused(TypeError, "fit_hyperparameters", "model must be a KernelModel", "got LinearModel"):
        fit_hyperparameters(linear, learner)
    with refused(TypeError, "fit_hyperparameters", "learner must be the model's own", "got "):
        fit_hyperparameters(model, learner)
    for seen in (None, _learnt(model, []), _learnt(model, _log("mixed", 1))):
        with refused(ValueError, "fit_hyperparameters", "2 rewards at least", "learn some more"):
            fit_hyperparameters(model, seen)
    with refused(ValueError, "fit_hyperparameters", "rewards must not all be zero"):
        fit_hyperparameters(model, _learnt(model, [(0, oc.PointMass([0.0, 0.0]), 0.0)] * 3))
    flat = oc.KernelModel(Product(Linear(), Linear()))
    with refused(ValueError, "fit_hyperparameters", "kernel must not vanish"):
        fit_hyperparameters(flat, _learnt(flat, [(0, oc.PointMass([0.0, 0.0]), 1.0)] * 3))


# The bandit.


def _bandit(model: oc.KernelModel | None = None, **options: Any) -> oc.Bandit:
    return oc.Bandit(ACTIONS, model or oc.KernelModel(Product(RBF(0.1), RBF(0.1))), oc.UCB(1.0), **options)


def _run(bandit: oc.Bandit, t: int) -> list[tuple[oc.Belief, oc.Decision, Array | None, float]]:
    """Return beliefs, decisions and what came of them, some with the context."""
    rng = np.random.default_rng(0)
    out = []
    for i in range(t):
        belief = _belief("mixed", rng)
        decision = bandit.decide(belief)
        context = belief.mean() if i % 3 == 0 else None
        reward = float(ACTIONS[decision.index] @ np.sin(2.0 * belief.mean()) + 0.1 * rng.normal())
        bandit.learn(decision, reward, context)
        out.append((belief, decision, context, reward))
    return out


@pytest.mark.parametrize("samples", [None, 5])
def test_decisions_after_a_fit_are_those_of_a_fresh_bandit(samples: int | None) -> None:
    bandit = _bandit(samples=samples)
    history = _run(bandit, 25)
    waiting = bandit.decide(oc.Gaussian([0.1, 0.1], 0.2))
    fit = bandit.fit_hyperparameters()
    assert isinstance(fit, Fit)
    assert bandit.model is fit.model
    fresh = _bandit(fit.model, samples=samples)
    for belief, decision, context, reward in history:
        fresh.learn(fresh.decide(belief, available=[decision.index]), reward, context)
    late = fresh.decide(oc.Gaussian([0.1, 0.1], 0.2), available=[waiting.index])
    for one, ticket in ((bandit, waiting), (fresh, late)):
        one.learn(ticket, 0.7)
    for seed in range(5):
        belief = _belief("mixed", np.random.default_rng(seed))
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
    model, learner = bandit.model, bandit._learner
    with refused(ValueError, "fit_hyperparameters", "got 0"):
        bandit.fit_hyperparameters()
    assert bandit.model is model
    assert bandit._learner is learner
    bandit.learn(decision, 1.0)
    linear = oc.Bandit(ACTIONS, oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(1.0))
    with refused(TypeError, "fit_hyperparameters", "got LinearModel"):
        linear.fit_hyperparameters()


def test_what_fails_while_learning_again_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = _bandit()
    _run(bandit, 5)
    waiting = bandit.decide([0.1, 0.2])
    model, learner, estimate = bandit.model, bandit._learner, bandit.estimate([0.3, 0.4])
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
    assert bandit._learner is learner
    np.testing.assert_array_equal(bandit.estimate([0.3, 0.4]).mean, estimate.mean)
    bandit.learn(waiting, 1.0)


def test_clouds_are_shared_by_models_that_differ_in_parameters() -> None:
    """What `adopt` counts on: no parameter enters the embedding."""
    for kernel, kind in KERNELS:
        other = kernel.with_parameters([2.0 * value for value in kernel.parameters()])
        rng = np.random.default_rng(0)
        belief = _belief(kind, rng)
        for (_, first), (_, second) in zip(kernel.terms(2), other.terms(2), strict=True):
            one, two = first.embed(belief), second.embed(belief)
            assert isinstance(one, Cloud)
            np.testing.assert_array_equal(one.centres, two.centres)
