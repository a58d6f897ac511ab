"""The average over scales against dense formulas: evidence by its definition, mixtures written out, blocks, memory."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import block_diag, null_space
from scipy.stats import multivariate_normal

from linear_support import BLOCK_ACTIONS, LEARNT, MAPS, C, K, course, ensemble, teach
from overcast._check import Array
from overcast._linalg import folded
from overcast.beliefs import PointMass
from overcast.features import Disjoint, FeatureMap, Row
from overcast.features.standard import Frame, Moments, expand_diagonal
from overcast.models import LinearModel
from overcast.models.linear import rows as kept
from overcast.models.linear import weighted
from overcast.models.linear.averaged import KAPPA_SPREAD, KAPPAS, MAX_LEVERAGE, TRUSTED, YOUNG, Averaged
from overcast.models.linear.learner import LinearLearner
from overcast.models.linear.weighted import GROWTH, RENEW_EVERY, Settings
from overcast.models.prior import LOG_PRIOR, RATIOS, SMALLEST_NOISE
from support import refused

D = 3
each_setting = pytest.mark.parametrize("settings", LEARNT.values(), ids=LEARNT.keys())
each_weights = pytest.mark.parametrize("aware", [True, False], ids=["variance", "equal"])
Frames = Callable[[Moments], Frame]


def _frame(moments: Moments) -> Frame:
    """Return standard features of (1, c_1, c_2): centred, and divided by their deviations."""
    mean, deviation = moments.mean, np.sqrt(moments.variance)
    matrix = np.zeros((*mean.shape[:-1], D, D))
    matrix[..., 0, 0] = 1.0
    matrix[..., 1:, 0] = -mean / deviation
    matrix[..., [1, 2], [1, 2]] = 1.0 / deviation
    one = np.zeros((*mean.shape[:-1], D))
    one[..., 0] = 1.0
    return Frame(matrix, matrix, one, np.zeros(()))


def _near(moments: Moments) -> Frame:
    """Return the same features, of which a combination is nearly constant."""
    frame = _frame(moments)
    return frame._replace(one=frame.one + np.array([-0.1, 0.2, 0.1]))


each_frame = pytest.mark.parametrize(
    "framed", [_frame, _near, None], ids=["standard features", "a near constant", "features as they are"]
)


@dataclass
class World:
    """n rounds of features (1, c_1, c_2) under beliefs, for any leading axes."""

    psi: Array  # (n, ..., d)
    covs: Array  # (n, ..., d, d)
    rewards: Array  # (n, ...)

    def row(self, t: int, aware: bool, framed: Any, at: Any = ()) -> Row:
        psi, cov = self.psi[t][at], self.covs[t][at]
        variance = cov.diagonal(axis1=-2, axis2=-1)[..., 1:]
        seen = Moments(psi[..., 1:], variance) if framed else None
        return Row(psi, folded(cov) if aware else None, None, seen)


def _world(n: int, leading: tuple[int, ...] = (), seed: int = 0) -> World:
    rng = np.random.default_rng(seed)
    mean = np.array([3.0, -1.0]) + np.array([2.0, 0.5]) * rng.normal(size=(n, *leading, 2))
    psi = np.concatenate([np.ones((n, *leading, 1)), mean], axis=-1)
    root = np.zeros((n, *leading, D, 2))
    root[..., 1:, :] = 0.4 * rng.normal(size=(n, *leading, 2, 2))
    root[2::3] = 0.0  # observed
    theta = np.array([4.0, 1.0, -2.0])
    context = psi + (root @ rng.normal(size=(n, *leading, 2, 1)))[..., 0]
    rewards = context @ theta + 0.3 * rng.normal(size=(n, *leading))
    return World(psi, root @ root.swapaxes(-1, -2), rewards)


def _shares(psi: Array, rewards: Array, v: Array, ages: Array, unit: Array, flat: Array, freedom: float) -> Array:
    """Return the share of each ratio by the density of the rewards, without its constant, and without its scale.

    Rewards are N(mu flat, s^2 K) with flat (n,) and K = diag(v) + unit psi psi^T. A flat prior of mu leaves the part
    orthogonal to it; the prior 1 / s^2 leaves the density of a direction, (y^T K^-1 y)^(-n / 2) |K|^(-1/2).
    """
    found = []
    for u in unit:
        K = np.diag(v / ages) + u * psi @ psi.T
        B = null_space(flat[None]) if flat.any() else np.eye(len(v))
        K, y = B.T @ K @ B, B.T @ rewards
        square = float(y @ np.linalg.solve(K, y))
        found.append(-0.5 * np.linalg.slogdet(K)[1] - 0.5 * freedom * math.log(square))
    log_share = LOG_PRIOR + np.array(found)
    share = np.exp(log_share - log_share.max())
    return np.asarray(share / share.sum())


@dataclass
class Naive:
    """`Averaged` for one trial: every ratio by a solve from scratch, and the mixture written out."""

    settings: Settings
    aware: bool
    framed: Frames | None
    rows: list[Row] = field(default_factory=list)
    covs: list[Array] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    pause: int = 1

    def __post_init__(self) -> None:
        self.noise2 = 1.0 if self.settings.noise is None else self.settings.noise**2
        self.kappa, self.sized, self.gamma = 1.0, False, 0.0
        self.matrix, self.one = np.eye(D), np.zeros(D)
        self.theta, self.inverse = np.zeros(D), np.eye(D)

    @property
    def ages(self) -> Array:
        n = len(self.rows)
        ages = self.settings.discount ** np.arange(n - 1.0, -1.0, -1.0)
        return np.where(np.arange(n - 1, -1, -1) < (self.settings.window or math.inf), ages, 0.0)

    def context(self, cov: Array) -> float:
        """Return E[theta^T Cov theta], in the features as they are."""
        own = self.matrix.T @ (np.outer(self.theta, self.theta) + self.inverse) @ self.matrix
        return float(np.sum(cov * own)) if self.aware else 0.0

    def add(self, row: Row, cov: Array, reward: float) -> None:
        self.rows.append(row)
        self.covs.append(cov)
        self.rewards.append(reward)
        self.pause -= 1
        renew = self.pause <= 0 or self.settings.forgets
        if renew or not self.sized:
            self.refit()
            if renew:
                n = float(self.ages.sum())
                self.pause = min(RENEW_EVERY, max(1, math.ceil((GROWTH - 1.0) * n)))
                if self.framed and len(self.rows) < YOUNG:
                    self.pause = 1
            return
        psi, v = self.matrix @ row.psi, self.kappa * self.context(cov) + self.noise2
        leverage = float(psi @ self.inverse @ psi)
        P = np.linalg.inv(self.inverse)
        target = P @ self.theta + psi * reward / v
        self.inverse = np.asarray(np.linalg.inv(P + np.outer(psi, psi) / v), dtype=np.float64)
        self.theta = self.inverse @ target
        self.gamma += leverage / (v + leverage)

    def refit(self, sweeps: int = 1, beside: Moments | None = None) -> None:
        if self.framed:
            seen = [row.seen for row in self.rows if row.seen is not None] + ([] if beside is None else [beside])
            means = np.array([one.mean for one in seen])
            variance = np.mean([one.variance for one in seen], axis=0) + means.var(axis=0)
            frame = self.framed(Moments(means.mean(axis=0), variance))
            self.matrix, self.one = frame.matrix, frame.one
        counting = self.ages > 0.0
        psi = np.array([self.matrix @ row.psi for row in self.rows])[counting]
        rewards, ages = np.array(self.rewards)[counting], self.ages[counting]
        covs = [cov for cov, counts in zip(self.covs, counting, strict=True) if counts]
        if not self.sized and self.settings.noise is None:
            self.noise2 = float((rewards**2).mean()) or 1.0
        for _ in range(sweeps):
            q = np.array([self.context(cov) if self.sized else 0.0 for cov in covs])
            self.average(psi, rewards, self.kappa * q + self.noise2, ages)
        if self.aware and self.settings.noise is None and self.sized:
            self.learn_kappa(psi, rewards, ages, np.array([self.context(cov) for cov in covs]))
            self.widen(psi, rewards, ages, self.kappa * np.array([self.context(cov) for cov in covs]) + self.noise2)

    def widen(self, psi: Array, rewards: Array, ages: Array, v: Array) -> None:
        total = sum_of_leverage = 0.0
        for row, y, age, own in zip(psi, rewards, ages, v, strict=True):
            h = min(age * float(row @ self.inverse @ row) / own, MAX_LEVERAGE)
            total += h * age * (y - row @ self.theta) ** 2 / own / (1.0 - h)
            sum_of_leverage += h
        mean, n = total / sum_of_leverage, len(rewards)
        self.inverse = self.inverse * max((n * mean + TRUSTED) / (n + TRUSTED), 1.0)

    def average(self, psi: Array, rewards: Array, v: Array, ages: Array) -> None:
        constant, unit, W = bool(self.one.any()), RATIOS / D * self.noise2, np.diag(ages / v)
        freedom, flat = float(ages.sum()) - constant, psi @ self.one
        mean = flat * (flat @ W @ rewards) / (flat @ W @ flat) if constant else 0.0
        spread = float((ages / v) @ (rewards - mean) ** 2)
        self.sized = freedom > 0.0 and spread > 0.0
        share = np.exp(LOG_PRIOR) / np.exp(LOG_PRIOR).sum()
        if self.sized and self.settings.noise is None:
            share = _shares(psi, rewards, v, ages, unit, flat, freedom)
        elif self.sized:
            share = self.known_noise(psi, rewards, v, ages, unit)
        parts, factors, gammas, gains = [], [], [], []
        for u in unit:
            # theta = theta_0 + mu one, with theta_0 ~ N(0, u I) and mu flat.
            both = np.column_stack([psi, flat]) if constant else psi
            J = np.column_stack([np.eye(D), self.one]) if constant else np.eye(D)
            P = both.T @ W @ both + np.diag([1.0 / u] * D + [0.0] * constant)
            best = np.linalg.solve(P, both.T @ W @ rewards)
            away = rewards - both @ best
            left = float(away @ W @ away + best[:D] @ best[:D] / u)
            known = self.settings.noise is not None or not self.sized
            factors.append(1.0 if known else max(left, SMALLEST_NOISE * spread) / freedom)
            parts.append((J @ best, factors[-1] * J @ np.linalg.solve(P, J.T)))
            A = psi.T @ W @ psi
            gammas.append(float(np.trace(A @ np.linalg.inv(A + np.eye(D) / u))) + constant)
            gains.append(float(np.linalg.slogdet(np.eye(D) + u * A)[1]))
        self.theta = np.asarray(sum(s * m for s, (m, _) in zip(share, parts, strict=True)))
        apart = [np.outer(m - self.theta, m - self.theta) for m, _ in parts]
        self.inverse = np.asarray(sum(s * (c + o) for s, (_, c), o in zip(share, parts, apart, strict=True)))
        self.gamma, self.log_det = float(share @ gammas), float(share @ gains)
        self.ridge = 1.0 / float(share @ (np.array(factors) * unit))
        if self.settings.noise is None:
            self.noise2 *= float(share @ factors)

    def known_noise(self, psi: Array, rewards: Array, v: Array, ages: Array, unit: Array) -> Array:
        found = []
        for u in unit:
            K = np.diag(v / ages) + u * psi @ psi.T
            B = null_space((psi @ self.one)[None]) if self.one.any() else np.eye(len(v))
            found.append(multivariate_normal(None, B.T @ K @ B).logpdf(B.T @ rewards))
        log_share = LOG_PRIOR + np.array(found)
        share = np.exp(log_share - log_share.max())
        return np.asarray(share / share.sum())

    def learn_kappa(self, psi: Array, rewards: Array, ages: Array, q: Array) -> None:
        if not q.any():
            return
        squares = ages * (rewards - psi @ self.theta) ** 2
        leverage = np.array([row @ self.inverse @ row for row in psi]) / (self.kappa * q + self.noise2)
        free = ages * np.clip(1.0 - leverage, 0.0, 1.0)
        freedom = max(float(free.sum()), 1.0)
        size = float(squares.sum()) / freedom
        logs, noises = [], []
        for g in KAPPAS / size:
            noise2 = max(float((squares / (1.0 + g * q)).sum()) / freedom, SMALLEST_NOISE * size)
            # Residuals are N(0, noise2 (1 + g q)), each counted as far as theta leaves it free.
            fit = float((free * np.log(noise2 * (1.0 + g * q))).sum()) + (freedom - free.sum()) * math.log(noise2)
            logs.append(-0.5 * (math.log(g * noise2) / KAPPA_SPREAD) ** 2 - 0.5 * fit)
            noises.append(noise2)
        share = np.exp(np.array(logs) - max(logs))
        share /= share.sum()
        self.kappa = float(share @ (KAPPAS / size * noises))
        self.noise2 = float(share @ noises)


@pytest.mark.parametrize("leading", [(), (3,)], ids=["single", "lock-step"])
@each_setting
@each_weights
@each_frame
def test_every_round_is_the_dense_loop(
    settings: Settings, aware: bool, framed: Frames | None, leading: tuple[int, ...]
) -> None:
    """At renewals, and in between, where rank-one updates keep the weights."""
    world = _world(45, leading)
    fit = Averaged((D,), settings, aware, leading, framed, 2 if framed else 0)
    references = {at: Naive(settings, aware, framed) for at in np.ndindex(*leading)}
    for t in range(45):
        fit.add(world.row(t, aware, framed), world.rewards[t])
        for at, naive in references.items():
            naive.add(world.row(t, aware, framed, at), world.covs[t][at], float(world.rewards[t][at]))
            scale = float(np.abs(naive.theta).max())
            np.testing.assert_allclose(fit.theta[at], naive.theta, rtol=0, atol=1e-8 * scale)
            np.testing.assert_allclose(fit.inverse[at], naive.inverse, rtol=1e-7, atol=1e-8 * naive.inverse.max())
            for name in ("noise2", "kappa", "gamma", "ridge"):
                expected = getattr(naive, name)
                assert np.asarray(getattr(fit, name))[at] == pytest.approx(expected, rel=1e-7), f"{name} at {t}"
            share = 1.0 - naive.gamma / max(naive.ages.sum(), 1.0)
            assert np.asarray(fit.residual_share)[at] == pytest.approx(max(share, 0.0), abs=1e-8)
            even = max(naive.gamma, 1.0) / max(naive.ages.sum(), 1.0) / np.asarray(fit.weight)[at]
            assert np.asarray(fit.even_variance)[at] == pytest.approx(even, rel=1e-7)
    if not settings.forgets:  # the last round was a rank-one update, which adds to it
        fit._renew()
        for at, naive in references.items():
            naive.refit()
            assert fit.log_det[at] == pytest.approx(naive.log_det, rel=1e-7)
    np.testing.assert_array_equal(fit.weight, fit._kept.weights.mean(axis=-1))


def test_the_evidence_is_the_integral_over_constant_and_noise() -> None:
    """Of six rewards: integrated numerically over the noise, and over the constant by one that is nearly flat."""
    world = _world(6, seed=1)
    psi, rewards, unit = world.psi, world.rewards, RATIOS / D
    found = []
    for u in unit:
        K = np.eye(6) + u * psi @ psi.T + 1e8

        def density(log_s: float, K: Array = K) -> float:
            return math.exp(10.0 + multivariate_normal(None, math.exp(2.0 * log_s) * K).logpdf(rewards))

        # The constant's variance grows with the noise, which takes one degree of freedom less.
        found.append(quad(lambda x, f=density: f(x) * math.exp(x), -8.0, 6.0, limit=200)[0])
    expected = np.exp(LOG_PRIOR) * found
    got = _shares(psi, rewards, np.ones(6), np.ones(6), unit, np.ones(6), 5.0)
    np.testing.assert_allclose(got, expected / expected.sum(), rtol=1e-4, atol=1e-9)


@each_weights
@each_frame
def test_a_fit_that_sees_a_belief_counts_it_among_the_contexts(aware: bool, framed: Frames | None) -> None:
    """The fit itself does not change."""
    world = _world(6, seed=2)
    fit = Averaged((D,), Settings(), aware, (), framed, 2 if framed else 0)
    naive = Naive(Settings(), aware, framed)
    for t in range(5):
        fit.add(world.row(t, aware, framed), world.rewards[t])
        naive.add(world.row(t, aware, framed), world.covs[t], float(world.rewards[t]))
    assert fit.young == (framed is not None)
    before, moments = fit.state(), world.row(5, aware, True).seen
    assert moments is not None
    if framed:
        seeing = fit.seeing(moments)
        naive.refit(1, moments)
        np.testing.assert_allclose(seeing.theta, naive.theta, rtol=1e-7)
        np.testing.assert_allclose(seeing.inverse, naive.inverse, rtol=1e-7, atol=1e-9)
    for name, value in fit.state().items():
        np.testing.assert_array_equal(value, before[name])


def _of_all_blocks(design: Any) -> Any:
    """Return the frame of blocks, written out for all of them together."""

    def frame(moments: Moments) -> Frame:
        own = design.frame(moments)
        matrix = block_diag(*[expand_diagonal(own.matrix, 2)] * K)
        return Frame(matrix, matrix, own.one.reshape(-1), own.diversity)

    return frame


@each_setting
@each_weights
def test_blocks_are_the_features_written_out(settings: Settings, aware: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In standard features. Every round is weighed anew: in between, blocks do not know how they are correlated."""
    monkeypatch.setattr(weighted, "GROWTH", 1.0)
    design = Disjoint(K).design(K, C).standard(BLOCK_ACTIONS)
    points = design.at(BLOCK_ACTIONS)
    blocks = Averaged((K, C), settings, aware, (), design.frame, C)
    joint = Averaged((K * C,), settings, aware, (), _of_all_blocks(design), C)
    for belief, index, reward in course(60):
        row = points.row(design.view(belief), index, aware)
        assert row.block is not None
        psi, cov = np.zeros((K, C)), np.zeros((K, C, K, C))
        psi[row.block] = row.psi
        if row.cov is not None:
            cov[row.block, :, row.block] = belief.cov()
        blocks.add(row, reward)
        joint.add(Row(psi.ravel(), folded(cov.reshape(K * C, K * C)) if aware else None, None, row.seen), reward)
        scale = float(np.abs(joint.theta).max())
        np.testing.assert_allclose(blocks.theta.ravel(), joint.theta, rtol=0, atol=1e-8 * scale)
        own = [joint.inverse[i * C : (i + 1) * C, i * C : (i + 1) * C] for i in range(K)]
        np.testing.assert_allclose(blocks.inverse, own, rtol=0, atol=1e-8 * float(np.abs(own).max()))
        for name in ("noise2", "kappa", "gamma", "ridge", "log_det"):
            np.testing.assert_allclose(getattr(blocks, name), getattr(joint, name), rtol=1e-7, err_msg=name)


each_map = pytest.mark.parametrize(("features", "actions"), MAPS.values(), ids=MAPS.keys())


@each_map
@pytest.mark.parametrize("rounds", [3, YOUNG + 15])
def test_a_restored_learner_goes_on_alike(features: FeatureMap, actions: Array, rounds: int) -> None:
    """While young, and later; the state holds what standard features follow from."""
    model, rng = LinearModel(features), np.random.default_rng(3)
    actions = actions[:4]
    learner, again = (model.start(actions, C) for _ in range(2))
    points = learner.at(actions)
    beliefs = [ensemble(rng) if t % 3 else PointMass(rng.normal(size=C)) for t in range(rounds + 20)]
    for t, belief in enumerate(beliefs):
        if t == rounds:
            again.restore(learner.state())
        rewards = float(rng.normal())
        for one in (learner, again) if t >= rounds else (learner,):
            one.learn(one.evidence(points, one.view(belief), t % 4), rewards)
        if t >= rounds:
            estimates = (one.estimate(points, one.view(belief)) for one in (again, learner))
            for got, expected in zip(*estimates, strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@each_map
def test_merged_learners_have_seen_all_rounds(features: FeatureMap, actions: Array) -> None:
    """After renewals they are one learner that has seen all, though their standard features came from other rounds."""
    model, rng = LinearModel(features), np.random.default_rng(4)
    actions = actions[:4]
    first, second, whole = (model.start(actions, C) for _ in range(3))
    points = first.at(actions)
    theta = rng.normal(size=features.size(actions.shape[1], C))
    for t in range(80):
        belief = ensemble(rng) if t % 3 else PointMass(2.0 + rng.normal(size=C))
        reward = float(features.expected(actions, belief)[t % 4] @ theta + 0.1 * rng.normal())
        for one in (first if t < 45 else second, whole):
            one.learn(one.evidence(points, one.view(belief), t % 4), reward)
    first.merge(second)
    for one in (first, whole):
        assert isinstance(one.fit, Averaged)
        for _ in range(60):
            one.fit._renew()
    view = first.view(belief)
    for got, expected in zip(first.estimate(points, view), whole.estimate(points, view), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6 * float(np.abs(expected).max()))


def _moving(n: int) -> list[tuple[Any, int, float]]:
    """Return rounds of blocks whose contexts (1, c_1, c_2) drift, so that standard features change all the time."""
    rng, out = np.random.default_rng(5), []
    theta = rng.normal(size=(K, C))
    for t in range(n):
        context = np.array([1.0, 0.01 * t + rng.normal(), 2.0 * rng.normal()])
        index = int(rng.integers(len(BLOCK_ACTIONS)))
        out.append((PointMass(context), index, float(theta[BLOCK_ACTIONS[index].argmax()] @ context + rng.normal())))
    return out


@pytest.mark.parametrize(
    ("given", "tolerance"),
    [({"noise": 1.0}, 1e-7), ({"noise": 1.0, "discount": 0.98}, 1e-7), ({}, 0.25), ({"discount": 0.98}, 0.25)],
    ids=str,
)
def test_settled_rounds_follow_the_standard_features(
    given: Any, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With equal weights and known noise, nothing is lost.

    Settled rounds keep the weight that the noise as known then gave them: a quarter of a width, though three rounds in
    four are settled.
    """
    rounds = _moving(400)
    model = LinearModel(Disjoint(K), weights="equal", **given)
    unsettled = model.start(BLOCK_ACTIONS, C)
    teach(unsettled, rounds)
    monkeypatch.setattr(kept, "MAX_ROUNDS", 100)
    settled = model.start(BLOCK_ACTIONS, C)
    teach(settled, rounds)
    assert isinstance(settled.fit, Averaged)
    assert len(settled.fit._kept) < 150
    _close_to(settled, unsettled, tolerance)


def _close_to(one: LinearLearner, other: LinearLearner, tolerance: float) -> None:
    for learner in (one, other):
        assert isinstance(learner.fit, Averaged)
        learner.fit._renew()
    view = one.view(PointMass(np.array([1.0, 3.0, -1.0])))
    points = one.at(BLOCK_ACTIONS)
    got, expected = one.estimate(points, view), other.estimate(points, view)
    np.testing.assert_allclose(got.mean / expected.width, expected.mean / expected.width, rtol=0, atol=tolerance)
    np.testing.assert_allclose(got.width, expected.width, rtol=tolerance)


def test_settled_rounds_merge(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = _moving(400)
    model = LinearModel(Disjoint(K), weights="equal")
    whole = model.start(BLOCK_ACTIONS, C)
    teach(whole, rounds)
    monkeypatch.setattr(kept, "MAX_ROUNDS", 100)
    first, second = (model.start(BLOCK_ACTIONS, C) for _ in range(2))
    teach(first, rounds[:250])
    teach(second, rounds[250:])
    first.merge(second)
    _close_to(first, whole, 0.25)


@each_frame
@pytest.mark.parametrize("rounds", [0, 1, 5, 30])
def test_numbers_that_overflow_are_refused_and_change_nothing(framed: Frames | None, rounds: int) -> None:
    world = _world(40, seed=6)
    fit, other = (Averaged((D,), Settings(), True, (), framed, 2 if framed else 0) for _ in range(2))
    for t in range(rounds):
        fit.add(world.row(t, True, framed), world.rewards[t])
        other.add(world.row(t, True, framed), world.rewards[t])
    before, good = fit.state(), world.row(rounds, True, framed)
    assert good.cov is not None
    for odd, reward in (
        (good._replace(psi=1e200 * good.psi), 1.0),
        (good._replace(psi=np.nan * good.psi), 1.0),
        (good._replace(cov=np.full(6, np.inf)), 1.0),
        (good, 1e200),
    ):
        if reward > 1.0 and fit._pause > 0:
            fit._pause = other._pause = 1  # between renewals, a far outlier is only a surprise
            before = fit.state()
        with refused(ValueError, "LinearModel", "within the range of floating-point numbers"):
            fit.add(odd, reward)
        for name, value in fit.state().items():
            np.testing.assert_array_equal(value, before[name], err_msg=name)
    for t in range(rounds, 40):
        for one in (fit, other):
            one.add(world.row(t, True, framed), world.rewards[t])
    for name, value in fit.state().items():
        np.testing.assert_array_equal(value, other.state()[name], err_msg=name)


@each_frame
def test_a_window_beyond_the_last_round_forgets_nothing(framed: Frames | None) -> None:
    """With a window every round is weighed anew; renewals bring both to the same scales."""
    world, fits = _world(60, seed=10), []
    for settings in (Settings(), Settings(window=60)):
        fit = Averaged((D,), settings, True, (), framed, 2 if framed else 0)
        for t in range(60):
            fit.add(world.row(t, True, framed), world.rewards[t])
        for _ in range(60):
            fit._renew()
        fits.append(fit)
    for name in ("theta", "inverse", "noise2", "kappa", "gamma"):
        np.testing.assert_allclose(getattr(fits[0], name), getattr(fits[1], name), rtol=1e-6, atol=1e-9)


def test_a_copy_goes_on_on_its_own() -> None:
    world = _world(40, seed=7)
    fit = Averaged((D,), Settings(), True, (), _frame, 2)
    for t in range(25):
        fit.add(world.row(t, True, True), world.rewards[t])
    twin, before = copy.deepcopy(fit), fit.state()
    for t in range(25, 40):
        twin.add(world.row(t, True, True), world.rewards[t])
    for name, value in fit.state().items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_the_learnt_noise_is_the_noise() -> None:
    """A variance from n - d degrees of freedom is off by sqrt(2 / (n - d)); within six of these, 2e-9."""
    rng, n = np.random.default_rng(8), 2000
    fit = Averaged((D,), Settings(), False)
    for psi in rng.normal(size=(n, D)):
        fit.add(Row(psi), psi.sum() + 0.3 * rng.normal())
    fit._renew()
    assert float(fit.noise2) == pytest.approx(0.09, rel=6 * math.sqrt(2 / (n - D)))
    assert float(fit.gamma) == pytest.approx(D, abs=0.01)


@pytest.mark.parametrize("factor", [0.25, 1.0, 4.0])
def test_kappa_is_how_far_beliefs_understate_their_variance(factor: float) -> None:
    """Contexts vary `factor` times as much as half of the beliefs say; the others are observed and tell the noise.

    1500 squares tell the variance to sqrt(2 / 1500); six of these, which is 2e-9, and half a step of the grid.
    """
    rng, theta, n = np.random.default_rng(9), np.array([1.0, -2.0, 0.5]), 3000
    fit = Averaged((D,), Settings(), True)
    for t in range(n):
        psi, cov = rng.normal(size=D), 0.5 * np.eye(D) * (t % 2)
        deviation = math.sqrt(0.04 + factor * theta @ cov @ theta)
        fit.add(Row(psi, folded(cov)), float(psi @ theta + deviation * rng.normal()))
    fit._renew()
    assert abs(math.log(fit.kappa / factor)) < 0.5 * np.diff(np.log(KAPPAS)).max() + 6 * math.sqrt(2 / (n / 2))
