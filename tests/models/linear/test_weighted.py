"""Weighted least squares against dense loops over all rounds, and learnt noise and ridge against the evidence."""

from __future__ import annotations

import contextlib
import copy
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.stats import chi2, multivariate_normal

from linear_support import GIVEN, C, course, pair, same_fit, teach
from overcast._check import Array
from overcast._linalg import folded
from overcast.beliefs import Gaussian, PointMass
from overcast.features import Row
from overcast.models.linear import rows as kept
from overcast.models.linear import weighted
from overcast.models.linear.ridge import Ridge
from overcast.models.linear.weighted import GROWTH, PRIOR, SWEEPS, Settings, Weighted
from support import linear_map, refused

D = 4
each_setting = pytest.mark.parametrize("settings", GIVEN.values(), ids=GIVEN.keys())
each_weights = pytest.mark.parametrize("aware", [True, False], ids=["variance", "equal"])


@dataclass
class Naive:
    """The formulas of `Weighted` with one d x d covariance per round and a solve from scratch, for one trial."""

    settings: Settings
    psi: list[Array] = field(default_factory=list)
    covs: list[Array] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    wait: int = 0  # rounds until all are weighed anew

    def __post_init__(self) -> None:
        self.ridge = 1.0 if self.settings.ridge is None else self.settings.ridge
        self.noise2 = 1.0 if self.settings.noise is None else self.settings.noise**2
        self.sized = False
        self.theta: Array = np.zeros(D)
        self.inverse: Array = np.eye(D) / self.ridge

    @property
    def ages(self) -> list[float]:
        n, window = len(self.psi), self.settings.window or math.inf
        return [self.settings.discount**age if age < window else 0.0 for age in range(n - 1, -1, -1)]

    def variance(self, cov: Array) -> float:
        return float(self.theta @ cov @ self.theta + np.trace(cov @ self.inverse) + self.noise2)

    def solve(self) -> None:
        P, target = self.ridge * np.eye(D), np.zeros(D)
        for age, weight, psi, reward in zip(self.ages, self.weights, self.psi, self.rewards, strict=True):
            P += age * weight * np.outer(psi, psi)
            target += age * weight * reward * psi
        self.inverse = np.asarray(np.linalg.inv(P), dtype=np.float64)
        self.theta = self.inverse @ target

    @property
    def used(self) -> float:
        return float(D - self.ridge * np.trace(self.inverse))

    def add(self, psi: Array, cov: Array, reward: float) -> None:
        self.weights.append(1.0 / self.variance(cov))
        self.psi.append(psi)
        self.covs.append(cov)
        self.rewards.append(reward)
        self.wait -= 1
        if self.wait <= 0 or (not self.sized and reward != 0.0):
            self.renew()
        else:
            self.solve()

    def renew(self) -> None:
        ages = self.ages
        counting = [s for s, age in enumerate(ages) if age > 0.0]
        size = float(np.mean([self.rewards[s] ** 2 for s in counting])) or 1.0
        guess = size / float(np.mean([self.psi[s] @ self.psi[s] for s in counting]))
        if not self.sized:
            self.ridge = 1.0 / guess if self.settings.ridge is None else self.ridge
            self.noise2 = size if self.settings.noise is None else self.noise2
            self.theta, self.inverse = np.zeros(D), np.eye(D) / self.ridge
        self.sized = self.sized or any(self.rewards[s] != 0.0 for s in counting)
        self.weigh()
        for _ in range(SWEEPS if len(counting) < 2 * D else 1):
            if self.settings.ridge is None:
                self.ridge = (self.used + PRIOR) / (float(self.theta @ self.theta) + PRIOR * guess)
            if self.settings.noise is None:
                up, down = PRIOR * size / self.noise2**2, PRIOR / self.noise2
                for s in counting:
                    weight, psi = self.weights[s], self.psi[s]
                    up += ages[s] * (weight * (self.rewards[s] - float(psi @ self.theta))) ** 2
                    down += ages[s] * weight * (1.0 - ages[s] * weight * float(psi @ self.inverse @ psi))
                self.noise2 = self.noise2 * up / down
            self.weigh()
        self.wait = min(512, max(1, math.ceil((GROWTH - 1.0) * sum(ages))))

    def weigh(self) -> None:
        self.weights = [1.0 / self.variance(cov) for cov in self.covs]
        self.solve()

    @property
    def log_det(self) -> float:
        return float(-np.linalg.slogdet(self.ridge * self.inverse)[1])


def _rounds(n: int, leading: tuple[int, ...] = (), seed: int = 0, hidden: str = "mixed") -> tuple[Array, Array, Array]:
    """Return psi (n, ..., d), covariances (n, ..., d, d) and rewards (n, ...) of a linear world."""
    rng = np.random.default_rng(seed)
    psi = rng.normal(size=(n, *leading, D))
    A = 0.5 * rng.normal(size=(n, *leading, D, 2))
    if hidden == "mixed":
        A[::3] = 0.0
    elif hidden == "revealed":
        A[:] = 0.0
    theta = np.array([1.0, -2.0, 0.5, 3.0])
    shift = (A @ rng.normal(size=(n, *leading, 2, 1)))[..., 0]
    rewards = (psi + shift) @ theta + 0.3 * rng.normal(size=(n, *leading))
    return psi, A @ A.swapaxes(-1, -2), rewards


def _row(psi: Array, cov: Array) -> Row:
    return Row(psi, folded(cov))


def _learnt(fit: Weighted, rounds: tuple[Array, Array, Array]) -> Weighted:
    for psi, cov, reward in zip(*rounds, strict=True):
        fit.add(_row(psi, cov) if fit.aware else Row(psi), reward)
    return fit


@pytest.mark.parametrize("leading", [(), (3,), (1, 2)], ids=str)
@each_setting
def test_every_round_is_the_dense_loop(settings: Settings, leading: tuple[int, ...]) -> None:
    """At renewals, and in between, where rank-one updates keep the weights."""
    n = 45
    psi, covs, rewards = _rounds(n, leading)
    fit = Weighted((D,), settings, True, leading)
    references = {at: Naive(settings) for at in np.ndindex(*leading)}
    for t in range(n):
        fit.add(_row(psi[t], covs[t]), rewards[t])
        for at, naive in references.items():
            naive.add(psi[t][at], covs[t][at], float(rewards[t][at]))
            np.testing.assert_allclose(fit.theta[at], naive.theta, rtol=0, atol=1e-9)
            np.testing.assert_allclose(fit.inverse[at], naive.inverse, rtol=1e-7, atol=1e-10)
            assert fit.ridge[at] == pytest.approx(naive.ridge, rel=1e-9)
            assert fit.noise2[at] == pytest.approx(naive.noise2, rel=1e-9)
            assert fit.log_det[at] == pytest.approx(naive.log_det, abs=1e-8)
            assert np.asarray(fit.residual_share)[at] == pytest.approx(
                1 - naive.used / max(sum(naive.ages), 1), abs=1e-8
            )


@pytest.mark.parametrize("hidden", ["all", "revealed", "mixed"])
def test_hidden_revealed_and_mixed_rounds(hidden: str) -> None:
    rounds = _rounds(80, seed=1, hidden=hidden)
    fit, naive = Weighted((D,), Settings(), True), Naive(Settings())
    for psi, cov, reward in zip(*rounds, strict=True):
        fit.add(_row(psi, cov), reward)
        naive.add(psi, cov, float(reward))
    np.testing.assert_allclose(fit.theta, naive.theta, rtol=0, atol=1e-9)
    assert fit.noise2 == pytest.approx(naive.noise2, rel=1e-9)


def test_renewals_lie_ever_further_apart() -> None:
    fit, at = Weighted((D,), Settings(), False), []
    psi, _, rewards = _rounds(400)
    for t in range(400):
        before = fit.noise2
        fit.add(Row(psi[t]), rewards[t])
        if fit.noise2 is not before:
            at.append(t + 1)
    assert at[:14] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18]
    assert len(at) < 50  # 10 + log(400 / 10) / log(1.1)


@pytest.mark.parametrize("leading", [(), (3,)], ids=str)
def test_with_all_given_and_equal_weights_it_is_ridge_regression(leading: tuple[int, ...]) -> None:
    psi, _, rewards = _rounds(300, leading)
    fit, ridge = Weighted((D,), Settings(ridge=0.7, noise=1.0), False, leading), Ridge((D,), 0.7, leading)
    for t in range(300):
        fit.add(Row(psi[t]), rewards[t])
        ridge.add(Row(psi[t]), rewards[t])
        for name in ("theta", "inverse", "log_det"):
            np.testing.assert_allclose(getattr(fit, name), getattr(ridge, name), rtol=0, atol=1e-9)
    z = np.random.default_rng(0).normal(size=(*leading, D))
    for name in ("distance", "draw", "perturb"):
        np.testing.assert_allclose(getattr(fit, name)(z), getattr(ridge, name)(z), rtol=0, atol=1e-9)


def test_draws_and_perturbations_have_their_covariances() -> None:
    fit = _learnt(Weighted((D,), Settings(), True), _rounds(25))
    P = np.linalg.inv(fit.inverse)
    for name, covariance in (
        ("draw", fit.inverse),
        ("perturb", fit.inverse @ (P - fit.ridge * np.eye(D)) @ fit.inverse),
    ):
        M = linear_map(lambda rng, name=name: getattr(fit, name)(rng.standard_normal(D)), D)
        np.testing.assert_allclose(M.T @ M, covariance, rtol=0, atol=1e-10)
    error = np.arange(4.0) - fit.theta
    assert float(fit.distance(np.arange(4.0))) == pytest.approx(math.sqrt(error @ P @ error), rel=1e-9)


@pytest.mark.parametrize("settings", [Settings(), Settings(discount=0.98)], ids=["all", "discounted"])
def test_after_many_renewals_the_equations_of_the_fixed_point_hold(settings: Settings) -> None:
    """The equations of the docstring, up to PRIOR, the weight of the guess before the first reward."""
    psi, covs, rewards = _rounds(150, seed=2)
    fit = _learnt(Weighted((D,), settings, True), (psi, covs, rewards))
    for _ in range(300):
        fit._renew()
    ages = settings.discount ** np.arange(149, -1, -1)
    second = np.outer(fit.theta, fit.theta) + fit.inverse
    v = np.array([np.sum(cov * second) for cov in covs]) + fit.noise2
    P = fit.ridge * np.eye(D) + (psi.T * ages / v) @ psi
    np.testing.assert_allclose(fit.theta, np.linalg.solve(P, (psi.T * ages / v) @ rewards), rtol=1e-9)
    np.testing.assert_allclose(fit.inverse, np.linalg.inv(P), rtol=1e-8)
    gamma = D - fit.ridge * np.trace(np.linalg.inv(P))
    assert fit.ridge == pytest.approx(gamma / (fit.theta @ fit.theta), rel=PRIOR)
    leverage = ages / v * np.vecdot(psi @ np.linalg.inv(P), psi)
    ratio = (ages * ((rewards - psi @ fit.theta) / v) ** 2).sum() / (ages * (1 - leverage) / v).sum()
    # If contexts cause most of the variance, few rounds tell the noise, and PRIOR weighs more.
    assert ratio == pytest.approx(1.0, abs=100 * PRIOR)


def _log_evidence(psi: Array, rewards: Array, ridge: float, noise2: float) -> float:
    cov = psi @ psi.T / ridge + noise2 * np.eye(len(psi))
    return float(multivariate_normal(np.zeros(len(psi)), cov).logpdf(rewards))


@pytest.mark.parametrize("given", ["ridge", "noise", "nothing"])
def test_what_is_learnt_maximises_the_evidence(given: str) -> None:
    """With equal weights, the log marginal likelihood is flat there up to PRIOR, and lower in all directions."""
    psi, _, rewards = _rounds(60, seed=3)
    settings = {"ridge": Settings(ridge=2.0), "noise": Settings(noise=1.5), "nothing": Settings()}[given]
    fit = _learnt(Weighted((D,), settings, False), (psi, psi, rewards))
    for _ in range(300):
        fit._renew()
    ridge, noise2 = float(fit.ridge), float(fit.noise2)
    assert given != "ridge" or ridge == 2.0
    assert given != "noise" or noise2 == 2.25
    best = _log_evidence(psi, rewards, ridge, noise2)
    for step in (0.02, 0.2, 1.0):
        for factor in (math.exp(step), math.exp(-step)):
            if given != "ridge":
                assert _log_evidence(psi, rewards, ridge * factor, noise2) < best + PRIOR * step
            if given != "noise":
                assert _log_evidence(psi, rewards, ridge, noise2 * factor) < best + PRIOR * step


def test_the_learnt_noise_is_the_noise() -> None:
    """A variance from n - d degrees of freedom is off by sqrt(2 / (n - d)); within six of these, 2e-9."""
    rng, n = np.random.default_rng(4), 2000
    psi = rng.normal(size=(n, D))
    fit = Weighted((D,), Settings(), False)
    for row, noise in zip(psi, rng.normal(size=n), strict=True):
        fit.add(Row(row), row.sum() + 0.3 * noise)
    for _ in range(10):
        fit._renew()
    assert float(fit.noise2) == pytest.approx(0.09, rel=6 * math.sqrt(2 / (n - D)))
    assert float(fit.used) == pytest.approx(D, abs=1e-2)


def test_the_noise_of_contexts_is_told_from_the_rest() -> None:
    """Half of the rounds have an uncertain context of known covariance; the others tell the noise."""
    rng, n = np.random.default_rng(5), 3000
    psi = rng.normal(size=(n, D))
    fit = Weighted((D,), Settings(), True)
    theta, cov = np.array([1.0, -2.0, 0.5, 3.0]), 0.5 * np.eye(D)
    for t in range(n):
        known = t % 2 == 0
        deviation = 0.2 if known else math.sqrt(0.04 + theta @ cov @ theta)
        fit.add(_row(psi[t], 0.0 * cov if known else cov), psi[t] @ theta + deviation * rng.normal())
    for _ in range(50):
        fit._renew()
    # From n / 2 known rounds, six standard errors: 2e-9; the others tell next to nothing about it.
    assert float(fit.noise2) == pytest.approx(0.04, rel=6 * math.sqrt(2 / (n / 2)))
    # The error of theta is at most that of the known rounds: six of their standard errors.
    np.testing.assert_allclose(fit.theta, theta, rtol=0, atol=6 * 0.2 / math.sqrt(0.9 * n / 2))


def test_confidence_sets_hold_at_their_level() -> None:
    """theta from the prior, noise of the given sigma: |theta - theta-hat|_P^2 is chi^2_d for any rounds.

    Of 4000 trials in lock-step; the share within the level is binomial, and five standard errors are 6e-7 for each of
    six looks.
    """
    rng, trials = np.random.default_rng(6), 4000
    for aware in (False, True):
        theta = rng.normal(size=(trials, D)) / math.sqrt(2.0)
        fit = Weighted((D,), Settings(ridge=2.0, noise=0.5), aware, (trials,))
        for _ in range(12):
            psi = rng.normal(size=(trials, D))
            row = _row(psi, np.zeros((trials, D, D))) if aware else Row(psi)
            fit.add(row, np.vecdot(psi, theta) + 0.5 * rng.normal(size=trials))
        squares = fit.distance(theta) ** 2
        for level in (0.5, 0.9, 0.99):
            inside = float((squares <= chi2(D).ppf(level)).mean())
            assert abs(inside - level) < 5 * math.sqrt(level * (1 - level) / trials)


def test_merging_is_learning_one_after_the_other() -> None:
    """The same rounds have the same fixed point; few sweeps from different starts come close to it."""
    for settings, tolerance in ((Settings(ridge=0.7, noise=0.4), 0.01), (Settings(), 0.2), (Settings(window=30), 0.2)):
        rounds = _rounds(90, seed=7)
        first = _learnt(Weighted((D,), settings, True), [part[:40] for part in rounds])  # type: ignore[arg-type]
        second = _learnt(Weighted((D,), settings, True), [part[40:] for part in rounds])  # type: ignore[arg-type]
        whole = _learnt(Weighted((D,), settings, True), rounds)
        before = second.state()
        first.merge(second)
        for name, value in second.state().items():
            np.testing.assert_array_equal(value, before[name])
        whole._renew()
        scale = np.sqrt(np.diagonal(whole.inverse))
        np.testing.assert_allclose(first.theta / scale, whole.theta / scale, rtol=0, atol=tolerance)
        for fit in (first, whole):
            for _ in range(100):
                fit._renew()
        np.testing.assert_allclose(first.theta, whole.theta, rtol=0, atol=1e-8)
        assert first.noise2 == pytest.approx(whole.noise2, rel=1e-8)
        assert first.residual_share == pytest.approx(whole.residual_share, abs=1e-8)


@pytest.mark.parametrize("settings", [Settings(discount=0.9), Settings(ridge=1.0, noise=1.0, discount=0.97)], ids=str)
def test_merging_counts_what_is_not_forgotten(settings: Settings) -> None:
    rounds = _rounds(90, seed=8)
    first = _learnt(Weighted((D,), settings, True), [part[:50] for part in rounds])  # type: ignore[arg-type]
    second = _learnt(Weighted((D,), settings, True), [part[50:] for part in rounds])  # type: ignore[arg-type]
    whole = _learnt(Weighted((D,), settings, True), rounds)
    first.merge(second)
    for fit in (first, whole):
        for _ in range(100):
            fit._renew()
    np.testing.assert_allclose(first.theta, whole.theta, rtol=0, atol=1e-8)
    assert first.residual_share == pytest.approx(whole.residual_share, abs=1e-8)
    assert 0.0 < float(first.residual_share) < 1.0


def test_merging_with_a_fit_that_is_fresh() -> None:
    learnt, fresh = _learnt(Weighted((D,), Settings(), True), _rounds(30)), Weighted((D,), Settings(), True)
    before = learnt.state()
    learnt.merge(fresh)
    fresh.merge(learnt)
    for name, value in before.items():
        np.testing.assert_array_equal(learnt.state()[name], value)
        np.testing.assert_array_equal(fresh.state()[name], value)
    _learnt(fresh, _rounds(5, seed=1))
    np.testing.assert_array_equal(learnt.state()["theta"], before["theta"])
    empty = Weighted((D,), Settings(), True)
    empty.merge(Weighted((D,), Settings(), True))
    np.testing.assert_array_equal(empty.theta, np.zeros(D))


@each_setting
def test_a_restored_or_copied_fit_goes_on_alike_and_on_its_own(settings: Settings) -> None:
    rounds = _rounds(90, seed=9)
    fit = _learnt(Weighted((D,), settings, True), [part[:47] for part in rounds])  # type: ignore[arg-type]
    restored = Weighted((D,), settings, True)
    restored.restore(fit.state())
    twin = copy.deepcopy(fit)
    before = fit.state()
    later: Any = [part[47:] for part in rounds]
    _learnt(restored, later)
    _learnt(twin, later)
    for name, value in fit.state().items():
        np.testing.assert_array_equal(value, before[name])
    _learnt(fit, later)
    for name, value in fit.state().items():
        np.testing.assert_array_equal(restored.state()[name], value)
        np.testing.assert_array_equal(twin.state()[name], value)


def test_a_state_of_another_size_is_refused() -> None:
    state = _learnt(Weighted((D,), Settings(), True), _rounds(5)).state()
    with refused(ValueError, "Weighted", "state must hold", "cov"):
        Weighted((D,), Settings(), False).restore(state)
    with refused(ValueError, "Weighted", "shape"):
        Weighted((D,), Settings(), True, (2,)).restore(state)


@pytest.mark.parametrize("limit", ["MAX_ROUNDS", "MAX_NUMBERS"])
@pytest.mark.parametrize("discount", [1.0, 0.97])
def test_rounds_beyond_the_memory_keep_their_weight(
    monkeypatch: pytest.MonkeyPatch, limit: str, discount: float
) -> None:
    settings, rounds = Settings(discount=discount), _rounds(400, seed=10)
    unlimited = _learnt(Weighted((D,), settings, True), rounds)
    monkeypatch.setattr(kept, limit, 50 if limit == "MAX_ROUNDS" else 50 * 14)
    fit = Weighted((D,), settings, True)
    given: list[float] = []  # the weight of every round, as last seen
    for psi, cov, reward in zip(*rounds, strict=True):
        fit.add(_row(psi, cov), reward)
        known = fit._kept._weights[: fit._kept._last]  # final weights stay there until room is made
        given = [*given, 0.0]
        given[len(given) - len(known) :] = known
        assert len(fit.state()["weights"]) <= 50 * GROWTH  # the limit, and the rounds until the next renewal
    psi, _, rewards = rounds
    weights = discount ** np.arange(399, -1, -1) * np.array(given)
    P = fit.ridge * np.eye(D) + (psi.T * weights) @ psi
    np.testing.assert_allclose(np.linalg.inv(fit.inverse), P, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(fit.theta, np.linalg.solve(P, (psi.T * weights) @ rewards), rtol=0, atol=1e-9)
    # Within half a standard deviation of the fit without a limit, though the noise comes from a quarter of the rounds.
    scale = np.sqrt(np.diagonal(unlimited.inverse))
    np.testing.assert_allclose(fit.theta / scale, unlimited.theta / scale, rtol=0, atol=0.5)
    assert fit.residual_share == pytest.approx(unlimited.residual_share, abs=0.02)


@pytest.mark.parametrize(("rounds", "most"), [(40, 40), (5, 32)])
def test_the_memory_is_bounded_whatever_the_number_of_features(
    monkeypatch: pytest.MonkeyPatch, rounds: int, most: int
) -> None:
    """With fewer rounds than features; a minimum is kept, however large the rounds are."""
    d, rng = 60, np.random.default_rng(0)
    width = d + d * (d + 1) // 2
    monkeypatch.setattr(kept, "MAX_NUMBERS", rounds * width)
    fit = Weighted((d,), Settings(), True)
    for _ in range(100):
        fit.add(_row(rng.normal(size=d), 0.1 * np.eye(d)), float(rng.normal()))
        assert len(fit.state()["weights"]) <= most * GROWTH + 1  # the limit, and the rounds until the next renewal
        size = sum(array.size for array in (fit._kept._psi, fit._kept._cov) if array is not None)
        assert size <= 2 * (most * GROWTH + 1) * width  # with room for as many again
    _sound(fit)


def test_a_settled_fit_merges_and_restores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_ROUNDS", 40)
    rounds = _rounds(200, seed=11)
    first = _learnt(Weighted((D,), Settings(), True), [part[:100] for part in rounds])  # type: ignore[arg-type]
    second = _learnt(Weighted((D,), Settings(), True), [part[100:] for part in rounds])  # type: ignore[arg-type]
    again = Weighted((D,), Settings(), True)
    again.restore(first.state())
    np.testing.assert_array_equal(again.theta, first.theta)
    again.merge(second)
    whole = _learnt(Weighted((D,), Settings(), True), rounds)
    scale = np.sqrt(np.diagonal(whole.inverse))
    np.testing.assert_allclose(again.theta / scale, whole.theta / scale, rtol=0, atol=0.5)  # half a deviation
    assert again.residual_share == pytest.approx(whole.residual_share, abs=1e-2)


SCALES = [1e-6, 1e3, 1e40]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("zeros", [0, 7])
def test_rewards_in_any_unit(scale: float, zeros: int) -> None:
    psi, covs, rewards = _rounds(60, seed=12)
    rewards[:zeros] = 0.0
    fit, other = (_learnt(Weighted((D,), Settings(), True), (psi, covs, rewards * by)) for by in (1.0, scale))
    np.testing.assert_allclose(other.theta, fit.theta * scale, rtol=1e-7)
    np.testing.assert_allclose(other.inverse, fit.inverse * scale**2, rtol=1e-7)
    assert other.noise2 == pytest.approx(fit.noise2 * scale**2, rel=1e-7)
    assert other.ridge == pytest.approx(fit.ridge / scale**2, rel=1e-7)
    assert other.residual_share == pytest.approx(fit.residual_share, abs=1e-9)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("rewarded", [0, 7, 60])
def test_features_in_any_unit(scale: float, rewarded: int) -> None:
    """Also while all rewards are zero."""
    psi, covs, rewards = _rounds(60, seed=13)
    rewards[: 60 - rewarded] = 0.0
    fit = _learnt(Weighted((D,), Settings(), True), (psi, covs, rewards))
    other = _learnt(Weighted((D,), Settings(), True), (psi * scale, covs * scale**2, rewards))
    np.testing.assert_allclose(other.theta, fit.theta / scale, rtol=1e-7)
    np.testing.assert_allclose(other.inverse, fit.inverse / scale**2, rtol=1e-7)
    assert other.noise2 == pytest.approx(fit.noise2, rel=1e-7)


def _sound(fit: Weighted) -> None:
    for name, value in fit.state().items():
        assert np.isfinite(value).all(), name
    assert (np.diagonal(fit.inverse, axis1=-2, axis2=-1) > 0.0).all()
    share = np.asarray(fit.residual_share)
    assert ((share >= 0.0) & (share <= 1.0)).all()
    assert np.isfinite(fit.draw(np.ones(fit.theta.shape))).all()
    assert np.isfinite(fit.perturb(np.ones(fit.theta.shape))).all()


ODD = {
    "zero features": lambda psi, y: (0 * psi, y),
    "zero rewards": lambda psi, y: (psi, 0 * y),
    "all zero": lambda psi, y: (0 * psi, 0 * y),
    "constant rewards": lambda psi, y: (psi, 0 * y + 5.0),
    "one feature over and over": lambda psi, y: (0 * psi + psi[0], y),
    "noise-free": lambda psi, y: (psi, psi @ np.array([1.0, -2.0, 0.5, 3.0])),
    "huge rewards": lambda psi, y: (psi, 1e100 * y),
    "tiny rewards": lambda psi, y: (psi, 1e-90 * y),
    "rewards that underflow": lambda psi, y: (psi, 1e-170 * y),
    "huge features": lambda psi, y: (1e100 * psi, y),
    "tiny features": lambda psi, y: (1e-100 * psi, y),
    "features of very different size": lambda psi, y: (psi * [1e-8, 1.0, 1e5, 1e9], y),
    "a far outlier": lambda psi, y: (psi, np.where(np.arange(len(y)) == 20, 1e12, y)),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("name", ["nothing given", "ridge given", "both given", "discounted window"])
def test_whatever_comes_the_fit_stays_finite_without_warnings(odd: Any, name: str) -> None:
    """Warnings are errors in this suite; fewer rounds than features at first, and more later.

    Only a scale that is given can be too far from that of the rounds, which are refused then.
    """
    settings = GIVEN[name]
    psi, _, rewards = _rounds(30, seed=14)
    psi, rewards = odd(psi, rewards)
    fit = Weighted((D,), settings, True)
    for t, (row, reward) in enumerate(zip(psi, rewards, strict=True)):
        far = max(np.abs(row).max(), abs(reward)) > 1e50 and settings != Settings()
        with contextlib.suppress(ValueError) if far else contextlib.nullcontext():
            fit.add(_row(row, 0.1 * np.outer(row, row) * (t % 2)), reward)
        _sound(fit)


def test_noise_free_rewards_are_fitted_to_the_last_digits() -> None:
    psi, _, _ = _rounds(60, seed=15)
    theta = np.array([1.0, -2.0, 0.5, 3.0])
    fit = _learnt(Weighted((D,), Settings(), False), (psi, psi, psi @ theta))
    np.testing.assert_allclose(fit.theta, theta, rtol=1e-5)


def test_a_covariance_that_rounding_left_below_zero_does_no_harm() -> None:
    fit, exact = Weighted((D,), Settings(), True), Weighted((D,), Settings(), True)
    for t, (psi, _, reward) in enumerate(zip(*_rounds(40, seed=16), strict=True)):
        fit.add(_row(psi, -1e-13 * np.eye(D) * 10.0 ** (t % 20)), reward)
        exact.add(_row(psi, np.zeros((D, D))), reward)
    np.testing.assert_array_equal(fit.theta, exact.theta)


@each_setting
@pytest.mark.parametrize("rounds", [0, 1, 5, 37])
def test_numbers_that_overflow_are_refused_and_change_nothing(settings: Settings, rounds: int) -> None:
    """Whether the coming round is a renewal or not."""
    data = _rounds(45, seed=17)
    fit, other = (
        _learnt(Weighted((D,), settings, True), [part[:rounds] for part in data])  # type: ignore[arg-type]
        for _ in range(2)
    )
    before = fit.state()
    for psi, cov in ((1e200, 0.0), (1e160, 1.0), (1.0, 1e308), (1.0, np.inf), (np.nan, 0.0)):
        with refused(
            ValueError, "LinearModel", "features must stay within the range of floating-point numbers, got larger"
        ):
            fit.add(Row(np.full(D, psi), np.full(D * (D + 1) // 2, cov)), 1.0)
        for name, value in fit.state().items():
            np.testing.assert_array_equal(value, before[name])
    later: Any = [part[rounds:] for part in data]
    _learnt(other, later)
    for name, value in _learnt(fit, later).state().items():
        np.testing.assert_array_equal(value, other.state()[name])


def test_a_renewal_that_overflows_changes_nothing() -> None:
    """The reward itself does not overflow; its square over that of the features does."""
    fit = _learnt(Weighted((D,), Settings(), True), _rounds(5))
    fit._pause = 1
    before = fit.state()
    with refused(ValueError, "LinearModel", "within the range of floating-point numbers"):
        fit.add(_row(np.full(D, 1e-20), 1e-20 * np.eye(D)), 1e160)
    for name, value in fit.state().items():
        np.testing.assert_array_equal(value, before[name])
    _sound(_learnt(fit, _rounds(5, seed=1)))


def test_rounds_that_are_all_but_forgotten_are_not_kept() -> None:
    """The sums keep their share with its last weight: the same fit to a millionth of a deviation."""
    rounds, settings = _rounds(300, seed=18), Settings(discount=0.9)
    fit = _learnt(Weighted((D,), settings, True), rounds)
    assert len(fit._kept.rewards) < 170  # 0.9^131 is a millionth, and then comes the next renewal
    recent = _learnt(Weighted((D,), settings, True), [part[-290:] for part in rounds])  # type: ignore[arg-type]
    for one in (fit, recent):
        for _ in range(50):
            one._renew()
    scale = np.sqrt(np.diagonal(fit.inverse))
    np.testing.assert_allclose(fit.theta / scale, recent.theta / scale, rtol=0, atol=1e-5)


@each_setting
def test_blocks_whose_rounds_are_factorised_give_the_same(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """As if features were nearly collinear; a block without rounds equals its prior."""
    summed, _ = pair(settings, True)
    past = course(40, seed=2)
    teach(summed, past)
    monkeypatch.setattr(weighted, "MAX_CONDITION", 0.0)
    both = pair(settings, True)
    for one in both:
        teach(one, past)
    same_fit(*both)
    np.testing.assert_allclose(both[0].theta, summed.theta, rtol=0, atol=1e-8)
    np.testing.assert_allclose(both[0].fit.inverse[2], np.eye(C) / both[0].fit.ridge, rtol=1e-12)


@each_setting
@each_weights
def test_past_beyond_the_memory_keep_their_weight(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, aware: bool
) -> None:
    monkeypatch.setattr(kept, "MAX_ROUNDS", 40)
    both = pair(settings, aware)
    for one in both:
        teach(one, course(200, seed=3))
    same_fit(*both)
    assert len(both[0].fit.state()["rewards"]) < 50
    assert settings.forgets or both[0].fit.state()["base"].any()
    base = both[0].fit.state()["base"]
    np.testing.assert_allclose(block_diag(*base), both[1].fit.state()["base"], rtol=1e-8, atol=1e-12)


@each_setting
@pytest.mark.parametrize("limit", [10_000, 40])
def test_merging_blocks_is_merging_the_features_written_out(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, limit: int
) -> None:
    monkeypatch.setattr(kept, "MAX_ROUNDS", limit)
    first, second, fresh = (pair(settings, True) for _ in range(3))
    past = course(160, seed=4)
    for one, other, new in zip(first, second, fresh, strict=True):
        teach(one, past[:90])
        teach(other, past[90:])
        one.merge(other)
        new.merge(one)
        new.merge(pair(settings, True)[len(one.fit.shape) == 1])
    same_fit(*first)
    same_fit(*fresh)
    for one in first:
        teach(one, course(20, seed=5))
    same_fit(*first)


@each_setting
@each_weights
def test_restored_or_copied_blocks_go_on_alike_and_on_their_own(settings: Settings, aware: bool) -> None:
    past = course(90, seed=6)
    learner, restored = (pair(settings, aware)[0] for _ in range(2))
    teach(learner, past[:47])
    restored.restore(learner.state())
    twin, before = copy.deepcopy(learner), learner.state()
    teach(restored, past[47:])
    teach(twin, past[47:])
    for name, value in learner.state().items():
        np.testing.assert_array_equal(value, before[name])
    teach(learner, past[47:])
    for name, value in learner.state().items():
        np.testing.assert_array_equal(restored.state()[name], value)
        np.testing.assert_array_equal(twin.state()[name], value)


def test_a_state_of_other_blocks_is_refused() -> None:
    learner, dense = pair(Settings(), True)
    teach(learner, course(5))
    with refused(ValueError, "Weighted", "state must hold", "cov"):
        pair(Settings(), False)[0].restore(learner.state())
    with refused(ValueError, "Weighted", "state must hold", "block"):
        dense.restore(learner.state())
    with refused(ValueError, "Weighted", "block must lie between 0 and 3, got others"):
        pair(Settings(), True)[0].restore(learner.state() | {"block": np.array([0, 1, 4, 1, 0])})
    with refused(ValueError, "Weighted", "cov must have shape (5, 6), got (4, 6)"):
        pair(Settings(), True)[0].restore(learner.state() | {"cov": np.zeros((4, 6))})


ODD_BLOCKS: dict[str, Any] = {
    "zero features": lambda psi, y: (0 * psi, y),
    "all zero": lambda psi, y: (0 * psi, 0 * y),
    "one feature over and over": lambda psi, y: (0 * psi + psi[0], y),
    "noise-free": lambda psi, y: (psi, psi @ np.array([1.0, -2.0, 0.5])),
    "huge rewards": lambda psi, y: (psi, 1e100 * y),
    "rewards that underflow": lambda psi, y: (psi, 1e-170 * y),
    "huge features": lambda psi, y: (1e100 * psi, y),
    "features of very different size": lambda psi, y: (psi * [1e-8, 1.0, 1e9], y),
    "a far outlier": lambda psi, y: (psi, np.where(np.arange(len(y)) == 20, 1e12, y)),
}


@pytest.mark.parametrize("odd", ODD_BLOCKS.values(), ids=ODD_BLOCKS.keys())
def test_whatever_comes_blocks_stay_finite_without_warnings(odd: Any) -> None:
    """Warnings are errors in this suite."""
    rng = np.random.default_rng(8)
    psi, rewards = odd(rng.normal(size=(40, C)), rng.normal(size=40))
    learner, _ = pair(Settings(), True)
    for t in range(40):
        belief = Gaussian(psi[t], 0.1 * psi[t] ** 2) if t % 2 else PointMass(psi[t])
        learner.learn(learner.evidence(learner.view(belief), int(rng.integers(4))), float(rewards[t]))
        for name, value in learner.state().items():
            assert np.isfinite(value).all(), name
        assert (np.diagonal(learner.fit.inverse, axis1=-2, axis2=-1) > 0.0).all()
        assert learner.residual_share is not None
        assert 0.0 <= float(learner.residual_share) <= 1.0


@each_setting
@pytest.mark.parametrize("rounds", [0, 1, 37])
def test_numbers_that_overflow_in_a_block_are_refused_and_change_nothing(settings: Settings, rounds: int) -> None:
    past = course(45, seed=9)
    learner, other = (pair(settings, True)[0] for _ in range(2))
    for one in (learner, other):
        teach(one, past[:rounds])
    before = learner.state()
    odd = [
        Row(np.full(C, psi), np.full(6, cov), np.array(1)) for psi, cov in ((1e200, 0.0), (1.0, 1e308), (np.nan, 0.0))
    ]
    for evidence in odd:
        with refused(
            ValueError, "LinearModel", "features must stay within the range of floating-point numbers, got larger"
        ):
            learner.learn(evidence, 1.0)
        for name, value in learner.state().items():
            np.testing.assert_array_equal(value, before[name])
    for one in (learner, other):
        teach(one, past[rounds:])
    for name, value in learner.state().items():
        np.testing.assert_array_equal(value, other.state()[name])


def test_a_trial_in_lock_step_does_not_depend_on_the_others() -> None:
    """The other trials get their first reward late, or a row that no rank-one update can handle."""
    rng = np.random.default_rng(1)
    psi, rewards = rng.normal(size=(40, 3, D)), rng.normal(size=(40, 3))
    rewards[:23, 1] = 0.0
    psi[30, 2] *= 1e5
    together = Weighted((D,), Settings(), False, (3,))
    alone = [Weighted((D,), Settings(), False) for _ in range(3)]
    for t in range(40):
        together.add(Row(psi[t]), rewards[t])
        for i, fit in enumerate(alone):
            fit.add(Row(psi[t, i]), float(rewards[t, i]))
            for name in ("theta", "inverse", "noise2", "ridge"):
                got, want = getattr(together, name)[i], getattr(fit, name)
                np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9, err_msg=f"{name} of {i} at {t}")
