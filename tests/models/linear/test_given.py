"""Weighted least squares with a given ridge against dense loops over all rounds; learnt noise against the evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.stats import chi2, multivariate_normal

from linear_support import RIDGED, C, D, course, learnt, pair, rounds_of, row_of, same_fit, teach
from overcast._check import Array
from overcast.features import Row
from overcast.models.linear import given as module
from overcast.models.linear.given import PRIOR, SWEEPS, Given
from overcast.models.linear.ridge import Ridge
from overcast.models.linear.weighted import GROWTH, RENEW_EVERY, Settings

each_setting = pytest.mark.parametrize("settings", RIDGED.values(), ids=RIDGED.keys())


@dataclass
class Naive:
    """The formulas of `Given` with one d x d covariance per round and a solve from scratch, for one trial."""

    settings: Settings
    psi: list[Array] = field(default_factory=list)
    covs: list[Array] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    wait: int = 0  # rounds until all are weighed anew

    def __post_init__(self) -> None:
        assert self.settings.ridge is not None
        self.ridge = self.settings.ridge
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
        if self.wait <= 0 or self.settings.forgets or (not self.sized and reward != 0.0):
            self.renew()
        else:
            self.solve()

    def renew(self) -> None:
        ages = self.ages
        counting = [s for s, age in enumerate(ages) if age > 0.0]
        size = float(np.mean([self.rewards[s] ** 2 for s in counting])) or 1.0
        if not self.sized:
            self.noise2 = size if self.settings.noise is None else self.noise2
            self.theta, self.inverse = np.zeros(D), np.eye(D) / self.ridge
        self.sized = self.sized or any(self.rewards[s] != 0.0 for s in counting)
        self.weigh()
        for _ in range(SWEEPS if len(counting) < 2 * D else 1):
            if self.settings.noise is None:
                up, down = PRIOR * size / self.noise2**2, PRIOR / self.noise2
                for s in counting:
                    weight, psi = self.weights[s], self.psi[s]
                    up += ages[s] * (weight * (self.rewards[s] - float(psi @ self.theta))) ** 2
                    down += ages[s] * weight * (1.0 - ages[s] * weight * float(psi @ self.inverse @ psi))
                self.noise2 = self.noise2 * up / down
            self.weigh()
        self.wait = min(RENEW_EVERY, max(1, math.ceil((GROWTH - 1.0) * sum(ages))))

    def weigh(self) -> None:
        self.weights = [1.0 / self.variance(cov) for cov in self.covs]
        self.solve()

    @property
    def log_det(self) -> float:
        return float(-np.linalg.slogdet(self.ridge * self.inverse)[1])


@pytest.mark.parametrize("leading", [(), (3,), (1, 2)], ids=str)
@each_setting
def test_every_round_is_the_dense_loop(settings: Settings, leading: tuple[int, ...]) -> None:
    """At renewals, and in between, where rank-one updates keep the weights."""
    n = 45
    psi, covs, rewards = rounds_of(n, leading)
    fit = Given((D,), settings, True, leading)
    references = {at: Naive(settings) for at in np.ndindex(*leading)}
    for t in range(n):
        fit.add(row_of(psi[t], covs[t]), rewards[t])
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
def test_hidden_revealed_and_mixedrounds_of(hidden: str) -> None:
    rounds = rounds_of(80, seed=1, hidden=hidden)
    settings = Settings(ridge=0.7)
    fit, naive = Given((D,), settings, True), Naive(settings)
    for psi, cov, reward in zip(*rounds, strict=True):
        fit.add(row_of(psi, cov), reward)
        naive.add(psi, cov, float(reward))
    np.testing.assert_allclose(fit.theta, naive.theta, rtol=0, atol=1e-9)
    assert fit.noise2 == pytest.approx(naive.noise2, rel=1e-9)


@pytest.mark.parametrize("leading", [(), (3,)], ids=str)
def test_with_all_given_and_equal_weights_it_is_ridge_regression(leading: tuple[int, ...]) -> None:
    psi, _, rewards = rounds_of(300, leading)
    fit, ridge = Given((D,), Settings(ridge=0.7, noise=1.0), False, leading), Ridge((D,), 0.7, leading)
    for t in range(300):
        fit.add(Row(psi[t]), rewards[t])
        ridge.add(Row(psi[t]), rewards[t])
        for name in ("theta", "inverse", "log_det"):
            np.testing.assert_allclose(getattr(fit, name), getattr(ridge, name), rtol=0, atol=1e-9)
    z = np.random.default_rng(0).normal(size=(*leading, D))
    for name in ("distance", "draw", "perturb"):
        np.testing.assert_allclose(getattr(fit, name)(z), getattr(ridge, name)(z), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "settings", [Settings(ridge=0.7), Settings(ridge=0.7, discount=0.98)], ids=["all", "discounted"]
)
def test_after_many_renewals_the_equations_of_the_fixed_point_hold(settings: Settings) -> None:
    """The equations of the docstring, up to PRIOR, the weight of the guess before the first reward."""
    psi, covs, rewards = rounds_of(150, seed=2)
    fit = learnt(Given((D,), settings, True), (psi, covs, rewards))
    for _ in range(300):
        fit._renew()
    ages = settings.discount ** np.arange(149, -1, -1)
    second = np.outer(fit.theta, fit.theta) + fit.inverse
    v = np.array([np.sum(cov * second) for cov in covs]) + fit.noise2
    P = fit.ridge * np.eye(D) + (psi.T * ages / v) @ psi
    np.testing.assert_allclose(fit.theta, np.linalg.solve(P, (psi.T * ages / v) @ rewards), rtol=1e-9)
    np.testing.assert_allclose(fit.inverse, np.linalg.inv(P), rtol=1e-8)
    leverage = ages / v * np.vecdot(psi @ np.linalg.inv(P), psi)
    ratio = (ages * ((rewards - psi @ fit.theta) / v) ** 2).sum() / (ages * (1 - leverage) / v).sum()
    # If contexts cause most of the variance, few rounds tell the noise, and PRIOR weighs more.
    assert ratio == pytest.approx(1.0, abs=100 * PRIOR)


def _log_evidence(psi: Array, rewards: Array, ridge: float, noise2: float) -> float:
    cov = psi @ psi.T / ridge + noise2 * np.eye(len(psi))
    return float(multivariate_normal(np.zeros(len(psi)), cov).logpdf(rewards))


def test_the_learnt_noise_maximises_the_evidence() -> None:
    """With equal weights, the log marginal likelihood is flat there up to PRIOR, and lower on both sides."""
    psi, _, rewards = rounds_of(60, seed=3)
    fit = learnt(Given((D,), Settings(ridge=2.0), False), (psi, psi, rewards))
    for _ in range(300):
        fit._renew()
    noise2 = float(fit.noise2)
    best = _log_evidence(psi, rewards, 2.0, noise2)
    for step in (0.02, 0.2, 1.0):
        for factor in (math.exp(step), math.exp(-step)):
            assert _log_evidence(psi, rewards, 2.0, noise2 * factor) < best + PRIOR * step


def test_the_learnt_noise_is_the_noise() -> None:
    """A variance from n - d degrees of freedom is off by sqrt(2 / (n - d)); within six of these, 2e-9."""
    rng, n = np.random.default_rng(4), 2000
    psi = rng.normal(size=(n, D))
    fit = Given((D,), Settings(ridge=1e-3), False)
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
    fit = Given((D,), Settings(ridge=1e-3), True)
    theta, cov = np.array([1.0, -2.0, 0.5, 3.0]), 0.5 * np.eye(D)
    for t in range(n):
        known = t % 2 == 0
        deviation = 0.2 if known else math.sqrt(0.04 + theta @ cov @ theta)
        fit.add(row_of(psi[t], 0.0 * cov if known else cov), psi[t] @ theta + deviation * rng.normal())
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
        fit = Given((D,), Settings(ridge=2.0, noise=0.5), aware, (trials,))
        for _ in range(12):
            psi = rng.normal(size=(trials, D))
            row = row_of(psi, np.zeros((trials, D, D))) if aware else Row(psi)
            fit.add(row, np.vecdot(psi, theta) + 0.5 * rng.normal(size=trials))
        squares = fit.distance(theta) ** 2
        for level in (0.5, 0.9, 0.99):
            inside = float((squares <= chi2(D).ppf(level)).mean())
            assert abs(inside - level) < 5 * math.sqrt(level * (1 - level) / trials)


@each_setting
def test_blocks_whose_rounds_are_factorised_give_the_same(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """As if features were nearly collinear; a block without rounds equals its prior."""
    summed, _ = pair(settings, True)
    past = course(40, seed=2)
    teach(summed, past)
    monkeypatch.setattr(module, "MAX_CONDITION", 0.0)
    both = pair(settings, True)
    for one in both:
        teach(one, past)
    same_fit(*both)
    np.testing.assert_allclose(both[0].theta, summed.theta, rtol=0, atol=1e-8)
    np.testing.assert_allclose(both[0].fit.inverse[2], np.eye(C) / both[0].fit.ridge, rtol=1e-12)
