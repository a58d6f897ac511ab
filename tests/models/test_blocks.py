"""Blocks that share noise and ridge against the dense fit to the same features, which unit vectors give `Bilinear`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from scipy.linalg import block_diag

import overcast as oc
from overcast._check import Array
from overcast.beliefs import Ensemble, Gaussian, PointMass, Sampler
from overcast.features import Bilinear, Disjoint
from overcast.models import LinearModel, weighted
from overcast.models.aware import AwareSeparableLearner, SharedDisjointLearner
from overcast.models.blocks import WeightedBlocks
from overcast.models.learners import LinearLearner, SeparableLearner
from overcast.models.weighted import Settings, Weighted
from overcast.policies import Policy
from support import refused

K, C = 4, 3
ACTIONS = np.eye(K)[[1, 3, 0, 1, 2]]  # two that share a block, and one that is never taken

GIVEN = {
    "nothing given": Settings(),
    "ridge given": Settings(ridge=0.7),
    "sigma given": Settings(sigma=0.4),
    "both given": Settings(ridge=0.7, sigma=0.4),
    "discounted": Settings(discount=0.95),
    "window": Settings(window=17),
    "discounted window": Settings(ridge=0.7, discount=0.9, window=20),
}
each_setting = pytest.mark.parametrize("settings", GIVEN.values(), ids=GIVEN.keys())
each_noise = pytest.mark.parametrize("aware", [True, False], ids=["aware", "constant"])


def _pair(settings: Settings, aware: bool) -> tuple[Any, Any]:
    """Return the learner of blocks and the dense one."""
    blocks = SharedDisjointLearner(Disjoint(K), ACTIONS, C, WeightedBlocks(K, C, settings, aware))
    kind = AwareSeparableLearner if aware else SeparableLearner
    return blocks, kind(Bilinear(), ACTIONS, C, Weighted(K * C, settings, aware))


def _course(n: int, seed: int = 0, hidden: str = "mixed") -> list[tuple[Any, int, float]]:
    """Return beliefs, indices and rewards of a disjoint world."""
    rng, out = np.random.default_rng(seed), []
    theta = rng.normal(size=(K, C))
    for t in range(n):
        belief: Any = Gaussian(rng.normal(size=C), rng.random(C))
        context = belief.sample(1, rng)[0]
        if hidden == "revealed" or (hidden == "mixed" and t % 3 == 0):
            belief = PointMass(context)
        elif t % 3 == 1:
            belief = Ensemble(rng.normal(size=(4, C)) + context, rng.dirichlet(np.ones(4)))
        index = int(rng.integers(len(ACTIONS) - 1))
        out.append((belief, index, float(theta[ACTIONS[index].argmax()] @ context + 0.3 * rng.normal())))
    return out


def _teach(learner: LinearLearner, course: list[tuple[Any, int, float]]) -> None:
    for belief, index, reward in course:
        learner.learn(learner.evidence(learner.encode(belief), index), reward)


def _same(blocks: Any, dense: Any, tolerance: float = 1e-8) -> None:
    fit, other = blocks.fit, dense.fit
    scale = float(np.abs(other.inverse).max())
    np.testing.assert_allclose(blocks.theta, dense.theta, rtol=0, atol=tolerance * max(1.0, np.abs(dense.theta).max()))
    np.testing.assert_allclose(block_diag(*fit.inverse), other.inverse, rtol=0, atol=tolerance * scale)
    for name in ("sigma2", "ridge", "used", "slack"):
        np.testing.assert_allclose(getattr(fit, name), getattr(other, name), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(blocks.log_det, dense.log_det, rtol=0, atol=tolerance)
    for name in ("weights", "rewards", "pause", "total", "sized"):
        np.testing.assert_allclose(fit.state()[name], other.state()[name], rtol=tolerance)


@each_setting
@each_noise
def test_every_round_is_the_dense_fit(settings: Settings, aware: bool) -> None:
    """At renewals, and in between; with the answers to everything that a policy may ask."""
    blocks, dense = _pair(settings, aware)
    for t, (belief, index, reward) in enumerate(_course(60)):
        views = [one.encode(belief) for one in (blocks, dense)]
        if t % 5 == 2:
            views = [one.encode_sampled(belief, 4, np.random.default_rng(t)) for one in (blocks, dense)]
        for name in ("estimate", "prior", "noise") if aware else ("estimate", "prior"):
            got, expected = (getattr(one, name)(view) for one, view in zip((blocks, dense), views, strict=True))
            np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-9, err_msg=name)
        for name in ("draw", "perturb"):
            got, expected = (
                getattr(one, name)(view, np.random.default_rng(t))
                for one, view in zip((blocks, dense), views, strict=True)
            )
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-7 if name == "draw" else 1e-5, err_msg=name)
        evidence = [one.evidence(view, index) for one, view in zip((blocks, dense), views, strict=True)]
        assert float(blocks.norm(evidence[0])) == pytest.approx(float(dense.norm(evidence[1])), rel=1e-12)
        variances = [float(one.fit.variance(own[None])[0]) for one, own in zip((blocks, dense), evidence, strict=True)]
        assert variances[0] == pytest.approx(variances[1], rel=1e-8)
        blocks.learn(evidence[0], reward)
        dense.learn(evidence[1], reward)
        _same(blocks, dense)
    theta = np.random.default_rng(1).normal(size=K * C)
    assert float(blocks.distance(theta)) == pytest.approx(float(dense.distance(theta)), rel=1e-8)


@pytest.mark.parametrize("hidden", ["all", "revealed", "mixed"])
@each_noise
def test_hidden_revealed_and_mixed_rounds(hidden: str, aware: bool) -> None:
    pair = _pair(Settings(), aware)
    for one in pair:
        _teach(one, _course(150, seed=1, hidden=hidden))
    _same(*pair)


@each_setting
def test_rounds_that_are_factorised_give_the_same(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """As where features are all but collinear; a block without rounds is its prior."""
    summed, _ = _pair(settings, True)
    course = _course(40, seed=2)
    _teach(summed, course)
    monkeypatch.setattr(weighted, "MAX_CONDITION", 0.0)
    pair = _pair(settings, True)
    for one in pair:
        _teach(one, course)
    _same(*pair)
    np.testing.assert_allclose(pair[0].theta, summed.theta, rtol=0, atol=1e-8)
    np.testing.assert_allclose(pair[0].fit.inverse[2], np.eye(C) / pair[0].fit.ridge, rtol=1e-12)


@each_setting
@each_noise
def test_rounds_beyond_the_memory_keep_their_weight(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, aware: bool
) -> None:
    monkeypatch.setattr(weighted, "MAX_ROUNDS", 40)
    pair = _pair(settings, aware)
    for one in pair:
        _teach(one, _course(200, seed=3))
    _same(*pair)
    assert len(pair[0].fit.state()["rewards"]) < 50
    assert settings.forgets or pair[0].fit._base.any()
    base = pair[0].fit.state()["base"]
    np.testing.assert_allclose(block_diag(*base), pair[1].fit.state()["base"], rtol=1e-8, atol=1e-12)


@each_setting
@pytest.mark.parametrize("limit", [10_000, 40])
def test_merging_is_that_of_dense_fits(monkeypatch: pytest.MonkeyPatch, settings: Settings, limit: int) -> None:
    monkeypatch.setattr(weighted, "MAX_ROUNDS", limit)
    first, second, fresh = (_pair(settings, True) for _ in range(3))
    course = _course(160, seed=4)
    for one, other, new in zip(first, second, fresh, strict=True):
        _teach(one, course[:90])
        _teach(other, course[90:])
        one.merge(other)
        new.merge(one)
        new.merge(_pair(settings, True)[isinstance(one, SeparableLearner)])
    _same(*first)
    _same(*fresh)
    for one in first:
        _teach(one, _course(20, seed=5))
    _same(*first)


@each_setting
@each_noise
def test_a_restored_or_copied_fit_goes_on_alike_and_on_its_own(settings: Settings, aware: bool) -> None:
    course = _course(90, seed=6)
    learner, restored = (_pair(settings, aware)[0] for _ in range(2))
    _teach(learner, course[:47])
    restored.restore(learner.state())
    twin, before = copy.deepcopy(learner), learner.state()
    _teach(restored, course[47:])
    _teach(twin, course[47:])
    for name, value in learner.state().items():
        np.testing.assert_array_equal(value, before[name])
    _teach(learner, course[47:])
    for name, value in learner.state().items():
        np.testing.assert_array_equal(restored.state()[name], value)
        np.testing.assert_array_equal(twin.state()[name], value)


def test_a_state_of_another_size_is_refused() -> None:
    learner, dense = _pair(Settings(), True)
    _teach(learner, _course(5))
    with refused(ValueError, "Weighted", "rounds must have shape (5, 4), got (5, 10)"):
        _pair(Settings(), False)[0].restore(learner.state())
    with refused(ValueError, "Weighted", "rounds must have shape"):
        dense.restore(learner.state())


def test_estimates_handed_out_are_not_changed_later() -> None:
    learner, _ = _pair(Settings(), True)
    _teach(learner, _course(25))
    theta, log_det = learner.theta, learner.fit.log_det
    kept = theta.copy(), log_det.copy()
    _teach(learner, _course(10, seed=1))
    np.testing.assert_array_equal(theta, kept[0])
    np.testing.assert_array_equal(log_det, kept[1])


@pytest.mark.parametrize("policy", [oc.UCB(), oc.Thompson(), oc.PerturbedHistory(), oc.IDS()], ids=repr)
@pytest.mark.parametrize("setting", ["hidden", "observed", "mixed"])
def test_decisions_are_those_of_the_dense_model(policy: Policy, setting: str) -> None:
    chosen = []
    for features in (Disjoint(K), Bilinear()):
        rng = np.random.default_rng(7)
        theta, bandit, own = rng.normal(size=(K, C)), oc.Bandit(np.eye(K), LinearModel(features), policy), []
        for t in range(150):
            mean, variance = rng.normal(size=C), rng.random(C)
            context = mean + np.sqrt(variance) * rng.normal(size=C)
            # Actions that nothing is known of are alike, up to rounding.
            decision = bandit.decide(Gaussian(mean, variance), available=[t] if t < K else None)
            own.append(decision.index)
            seen = setting == "observed" or (setting == "mixed" and t % 2 == 0)
            reward = float(theta[decision.index] @ context + 0.3 * rng.normal())
            bandit.learn(decision, reward, context=context if seen else None)
        chosen.append(own)
    assert chosen[0] == chosen[1]
    assert len(set(chosen[0][K:])) > 1


def test_constant_noise_has_one_deviation_for_all_actions() -> None:
    learner, _ = _pair(Settings(), False)
    _teach(learner, _course(30))
    noise = learner.noise(learner.encode(Gaussian(np.ones(C), 1.0)))
    np.testing.assert_array_equal(noise, np.full(len(ACTIONS), np.sqrt(learner.fit.sigma2)))


def test_a_belief_that_can_only_be_sampled_is_weighed_by_its_draws() -> None:
    belief = Sampler(lambda n, rng: rng.normal(size=(n, C)), dim=C)
    pair = _pair(Settings(), True)
    views = [one.encode_sampled(belief, 5, np.random.default_rng(0)) for one in pair]
    evidence = [one.evidence(view, 0) for one, view in zip(pair, views, strict=True)]
    variances = [float(one.fit.variance(own[None])[0]) for one, own in zip(pair, evidence, strict=True)]
    assert variances[0] == pytest.approx(variances[1], rel=1e-12)
    assert variances[0] > 1.0


@pytest.mark.parametrize("given", [{}, {"noise": "constant"}, {"ridge": 1.0, "window": 9}], ids=str)
def test_the_model_keeps_the_blocks_apart(given: Any) -> None:
    """A round of 50 blocks of 20 is kept in 1 + 20 + 210 numbers at most, not in 501 500."""
    learner = LinearModel(Disjoint(50), **given).start(np.eye(50), 20)
    assert isinstance(learner, SharedDisjointLearner)
    assert learner.fit.width == (231 if learner.fit.noisy else 21)
    for t in range(12):
        learner.learn(learner.evidence(learner.encode(Gaussian(np.full(20, t), 1.0)), t % 50), float(t % 3))
    assert max(value.size for value in learner.state().values()) == 50 * 20 * 20


ODD: dict[str, Any] = {
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


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
def test_whatever_comes_the_fit_stays_finite_without_warnings(odd: Any) -> None:
    """Warnings are errors in this suite."""
    rng = np.random.default_rng(8)
    psi, rewards = odd(rng.normal(size=(40, C)), rng.normal(size=40))
    learner, _ = _pair(Settings(), True)
    for t in range(40):
        belief = Gaussian(psi[t], 0.1 * psi[t] ** 2) if t % 2 else PointMass(psi[t])
        learner.learn(learner.evidence(learner.encode(belief), int(rng.integers(4))), float(rewards[t]))
        for name, value in learner.state().items():
            assert np.isfinite(value).all(), name
        assert (np.diagonal(learner.fit.inverse, axis1=-2, axis2=-1) > 0.0).all()
        assert 0.0 <= float(learner.slack) <= 1.0


@each_setting
@pytest.mark.parametrize("rounds", [0, 1, 37])
def test_numbers_that_overflow_are_refused_and_change_nothing(settings: Settings, rounds: int) -> None:
    course = _course(45, seed=9)
    learner, other = (_pair(settings, True)[0] for _ in range(2))
    for one in (learner, other):
        _teach(one, course[:rounds])
    before = learner.state()
    odd: list[Array] = [
        np.r_[1.0, np.full(C, psi), np.full(6, cov)] for psi, cov in ((1e200, 0), (1, 1e308), (np.nan, 0))
    ]
    for evidence in odd:
        with refused(ValueError, "LinearModel", "features must be of a size that numbers can hold, got larger"):
            learner.learn(evidence, 1.0)
        for name, value in learner.state().items():
            np.testing.assert_array_equal(value, before[name])
    for one in (learner, other):
        _teach(one, course[rounds:])
    for name, value in learner.state().items():
        np.testing.assert_array_equal(value, other.state()[name])
