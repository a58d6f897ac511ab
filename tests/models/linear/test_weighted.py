"""What both weighted fits share: renewals, memory, merging, restoring, odd numbers, open decisions and blocks."""

from __future__ import annotations

import contextlib
import copy
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.linalg import block_diag

from linear_support import (
    BLOCK_ACTIONS,
    GIVEN,
    C,
    D,
    course,
    learnt,
    pair,
    rounds_of,
    row_of,
    same_fit,
    teach,
    weighted,
)
from overcast._check import Array
from overcast._linalg import folded
from overcast.beliefs import Gaussian, PointMass
from overcast.features import Row
from overcast.models.linear import rows as kept
from overcast.models.linear import weighted as module
from overcast.models.linear.weighted import GROWTH, RENEW_EVERY, Settings, Weighted
from support import linear_map, refused

each_setting = pytest.mark.parametrize("settings", GIVEN.values(), ids=GIVEN.keys())


@pytest.fixture
def renewing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every round be weighed anew."""
    monkeypatch.setattr(module, "GROWTH", 1.0)


each_kind = pytest.mark.parametrize("ridge", [None, 0.7], ids=["averaged", "given"])
each_weights = pytest.mark.parametrize("aware", [True, False], ids=["variance", "equal"])


@each_kind
def test_renewals_lie_ever_further_apart(ridge: float | None) -> None:
    """At once while there are few rounds, then when their number has grown by a share, and at last every so often."""
    fit, at = weighted((D,), Settings(ridge=ridge), False), []
    psi, _, rewards = rounds_of(4000)
    for t in range(len(psi)):
        before = fit._kept._weights
        fit.add(Row(psi[t]), rewards[t])
        if len(before) == len(fit._kept._weights) and fit._kept._weights is not before:
            at.append(t + 1)
    gaps = np.diff(at)
    most = np.ceil((GROWTH - 1.0) * np.array(at[:-1]))
    assert gaps[0] == 1
    assert (gaps <= np.clip(most, 1, RENEW_EVERY) + 1).all()  # arrays with more room hide a renewal
    assert gaps.max() == RENEW_EVERY


@each_kind
def test_draws_and_perturbations_have_their_covariances(ridge: float | None) -> None:
    """P^-1, and what is left of P^-1 - ridge P^-2; the average over ratios may leave a direction less than nothing."""
    fit = learnt(weighted((D,), Settings(ridge=ridge), True), rounds_of(25))
    left = fit.half() @ _positive(np.eye(D) - fit.ridge * fit.half().T @ fit.half()) @ fit.half().T
    for name, covariance in (("draw", fit.inverse), ("perturb", left)):
        M = linear_map(lambda rng, name=name: getattr(fit, name)(rng.standard_normal(D)), D)
        np.testing.assert_allclose(M.T @ M, covariance, rtol=0, atol=1e-10)
    error = np.arange(4.0) - fit.theta
    expected = float(np.sqrt(error @ np.linalg.solve(fit.inverse, error)))
    assert float(fit.distance(np.arange(4.0))) == pytest.approx(expected, rel=1e-9)


def _positive(matrix: Array) -> Array:
    values, Q = np.linalg.eigh(matrix)
    return np.asarray((Q * np.maximum(values, 0.0)) @ Q.T)


def test_merging_is_learning_one_after_the_other() -> None:
    """The same rounds have the same fixed point; few sweeps from different starts come close to it."""
    for settings, tolerance in ((Settings(ridge=0.7, noise=0.4), 0.01), (Settings(), 0.2), (Settings(window=30), 0.2)):
        rounds = rounds_of(90, seed=7)
        first = learnt(weighted((D,), settings, True), [part[:40] for part in rounds])
        second = learnt(weighted((D,), settings, True), [part[40:] for part in rounds])
        whole = learnt(weighted((D,), settings, True), rounds)
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
    rounds = rounds_of(90, seed=8)
    first = learnt(weighted((D,), settings, True), [part[:50] for part in rounds])
    second = learnt(weighted((D,), settings, True), [part[50:] for part in rounds])
    whole = learnt(weighted((D,), settings, True), rounds)
    first.merge(second)
    for fit in (first, whole):
        for _ in range(100):
            fit._renew()
    np.testing.assert_allclose(first.theta, whole.theta, rtol=0, atol=1e-8)
    assert first.residual_share == pytest.approx(whole.residual_share, abs=1e-8)
    assert 0.0 < float(first.residual_share) < 1.0


def test_merging_with_a_fit_that_is_fresh() -> None:
    taught, fresh = learnt(weighted((D,), Settings(), True), rounds_of(30)), weighted((D,), Settings(), True)
    before = taught.state()
    taught.merge(fresh)
    fresh.merge(taught)
    for name, value in before.items():
        np.testing.assert_array_equal(taught.state()[name], value)
        np.testing.assert_array_equal(fresh.state()[name], value)
    learnt(fresh, rounds_of(5, seed=1))
    np.testing.assert_array_equal(taught.state()["theta"], before["theta"])
    empty = weighted((D,), Settings(), True)
    empty.merge(weighted((D,), Settings(), True))
    np.testing.assert_array_equal(empty.theta, np.zeros(D))


@each_setting
def test_a_restored_or_copied_fit_goes_on_alike_and_on_its_own(settings: Settings) -> None:
    rounds = rounds_of(90, seed=9)
    fit = learnt(weighted((D,), settings, True), [part[:47] for part in rounds])
    restored = weighted((D,), settings, True)
    restored.restore(fit.state())
    twin = copy.deepcopy(fit)
    before = fit.state()
    later: Any = [part[47:] for part in rounds]
    learnt(restored, later)
    learnt(twin, later)
    for name, value in fit.state().items():
        np.testing.assert_array_equal(value, before[name])
    learnt(fit, later)
    for name, value in fit.state().items():
        np.testing.assert_array_equal(restored.state()[name], value)
        np.testing.assert_array_equal(twin.state()[name], value)


def test_a_state_of_another_size_is_refused() -> None:
    state = learnt(weighted((D,), Settings(), True), rounds_of(5)).state()
    with refused(ValueError, "Averaged", "state must hold", "cov"):
        weighted((D,), Settings(), False).restore(state)
    with refused(ValueError, "Averaged", "shape"):
        weighted((D,), Settings(), True, (2,)).restore(state)


@pytest.mark.parametrize("limit", ["MAX_ROUNDS", "MAX_NUMBERS"])
@pytest.mark.parametrize("discount", [1.0, 0.97])
def test_rounds_beyond_the_memory_keep_their_weight(
    monkeypatch: pytest.MonkeyPatch, limit: str, discount: float
) -> None:
    settings, rounds = Settings(ridge=0.7, discount=discount), rounds_of(400, seed=10)
    unlimited = learnt(weighted((D,), settings, True), rounds)
    monkeypatch.setattr(kept, limit, 50 if limit == "MAX_ROUNDS" else 50 * 14)
    fit = weighted((D,), settings, True)
    given: list[float] = []  # the weight of every round, as last seen
    for psi, cov, reward in zip(*rounds, strict=True):
        fit.add(row_of(psi, cov), reward)
        known = fit._kept._weights[: fit._kept._last]  # final weights stay there until room is made
        given = [*given, 0.0]
        given[len(given) - len(known) :] = known
        assert len(fit.state()["weights"]) <= 50 * GROWTH  # the limit, and the rounds until the next renewal
    psi, _, rewards = rounds
    weights = discount ** np.arange(399, -1, -1) * np.array(given)
    P = fit.ridge * np.eye(D) + (psi.T * weights) @ psi
    np.testing.assert_allclose(np.linalg.inv(fit.inverse), P, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(fit.theta, np.linalg.solve(P, (psi.T * weights) @ rewards), rtol=0, atol=1e-9)
    # Within a fifth of a standard deviation of the fit without a limit: the noise comes from a quarter of the rounds.
    scale = np.sqrt(np.diagonal(unlimited.inverse))
    np.testing.assert_allclose(fit.theta / scale, unlimited.theta / scale, rtol=0, atol=0.2)
    assert fit.residual_share == pytest.approx(unlimited.residual_share, abs=1e-3)


@pytest.mark.parametrize(("rounds", "most"), [(40, 40), (5, 32)])
def test_the_memory_is_bounded_whatever_the_number_of_features(
    monkeypatch: pytest.MonkeyPatch, rounds: int, most: int
) -> None:
    """With fewer rounds than features; a minimum is kept, however large the rounds are."""
    d, rng = 60, np.random.default_rng(0)
    width = d + d * (d + 1) // 2
    monkeypatch.setattr(kept, "MAX_NUMBERS", rounds * width)
    fit = weighted((d,), Settings(), True)
    for _ in range(100):
        fit.add(row_of(rng.normal(size=d), 0.1 * np.eye(d)), float(rng.normal()))
        assert len(fit.state()["weights"]) <= most * GROWTH + 1  # the limit, and the rounds until the next renewal
        size = sum(array.size for array in (fit._kept._psi, fit._kept._cov) if array is not None)
        assert size <= 2 * (most * GROWTH + 1) * width  # with room for as many again
    _sound(fit)


def test_a_settled_fit_merges_and_restores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_ROUNDS", 40)
    rounds = rounds_of(200, seed=11)
    first = learnt(weighted((D,), Settings(), True), [part[:100] for part in rounds])
    second = learnt(weighted((D,), Settings(), True), [part[100:] for part in rounds])
    again = weighted((D,), Settings(), True)
    again.restore(first.state())
    np.testing.assert_array_equal(again.theta, first.theta)
    again.merge(second)
    whole = learnt(weighted((D,), Settings(), True), rounds)
    scale = np.sqrt(np.diagonal(whole.inverse))
    np.testing.assert_allclose(again.theta / scale, whole.theta / scale, rtol=0, atol=1.0)  # one deviation
    assert again.residual_share == pytest.approx(whole.residual_share, abs=0.02)


SCALES = [1e-6, 1e3, 1e40]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("zeros", [0, 7])
def test_rewards_in_any_unit(scale: float, zeros: int) -> None:
    psi, covs, rewards = rounds_of(60, seed=12)
    rewards[:zeros] = 0.0
    fit, other = (learnt(weighted((D,), Settings(), True), (psi, covs, rewards * by)) for by in (1.0, scale))
    np.testing.assert_allclose(other.theta, fit.theta * scale, rtol=1e-7)
    np.testing.assert_allclose(other.inverse, fit.inverse * scale**2, rtol=1e-7)
    assert other.noise2 == pytest.approx(fit.noise2 * scale**2, rel=1e-7)
    assert other.ridge == pytest.approx(fit.ridge / scale**2, rel=1e-7)
    assert other.residual_share == pytest.approx(fit.residual_share, abs=1e-9)


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

    Rounds are refused whose features, or whose rewards if a scale is given, are too far from one.
    """
    settings = GIVEN[name]
    psi, _, rewards = rounds_of(30, seed=14)
    psi, rewards = odd(psi, rewards)
    fit = weighted((D,), settings, True)
    for t, (row, reward) in enumerate(zip(psi, rewards, strict=True)):
        far = np.abs(row).max() > 1e50 or (abs(reward) > 1e50 and settings != Settings())
        with contextlib.suppress(ValueError) if far else contextlib.nullcontext():
            fit.add(row_of(row, 0.1 * np.outer(row, row) * (t % 2)), reward)
        _sound(fit)


def test_noise_free_rewards_are_fitted_to_the_last_digits() -> None:
    psi, _, _ = rounds_of(60, seed=15)
    theta = np.array([1.0, -2.0, 0.5, 3.0])
    fit = learnt(weighted((D,), Settings(), False), (psi, psi, psi @ theta))
    np.testing.assert_allclose(fit.theta, theta, rtol=1e-5)


def test_a_covariance_that_rounding_left_below_zero_does_no_harm() -> None:
    fit, exact = weighted((D,), Settings(), True), weighted((D,), Settings(), True)
    for t, (psi, _, reward) in enumerate(zip(*rounds_of(40, seed=16), strict=True)):
        fit.add(row_of(psi, -1e-13 * np.eye(D) * 10.0 ** (t % 20)), reward)
        exact.add(row_of(psi, np.zeros((D, D))), reward)
    np.testing.assert_array_equal(fit.theta, exact.theta)


@each_setting
@pytest.mark.parametrize("rounds", [0, 1, 5, 37])
def test_numbers_that_overflow_are_refused_and_change_nothing(settings: Settings, rounds: int) -> None:
    """Whether the coming round is a renewal or not."""
    data = rounds_of(45, seed=17)
    fit, other = (learnt(weighted((D,), settings, True), [part[:rounds] for part in data]) for _ in range(2))
    before = fit.state()
    for psi, cov in ((1e200, 0.0), (1e160, 1.0), (1.0, 1e308), (1.0, np.inf), (np.nan, 0.0)):
        with refused(
            ValueError, "LinearModel", "features must stay within the range of floating-point numbers, got larger"
        ):
            fit.add(Row(np.full(D, psi), np.full(D * (D + 1) // 2, cov)), 1.0)
        for name, value in fit.state().items():
            np.testing.assert_array_equal(value, before[name])
    later: Any = [part[rounds:] for part in data]
    learnt(other, later)
    for name, value in learnt(fit, later).state().items():
        np.testing.assert_array_equal(value, other.state()[name])


def test_a_renewal_that_overflows_changes_nothing() -> None:
    """The reward itself does not overflow; its square over that of the features does."""
    fit = learnt(weighted((D,), Settings(), True), rounds_of(5))
    fit._pause = 1
    before = fit.state()
    with refused(ValueError, "LinearModel", "within the range of floating-point numbers"):
        fit.add(row_of(np.full(D, 1e-20), 1e-20 * np.eye(D)), 1e160)
    for name, value in fit.state().items():
        np.testing.assert_array_equal(value, before[name])
    _sound(learnt(fit, rounds_of(5, seed=1)))


def test_rounds_that_are_all_but_forgotten_are_not_kept() -> None:
    """The sums keep their share with its last weight: the same fit to a millionth of a deviation."""
    rounds, settings = rounds_of(300, seed=18), Settings(discount=0.9)
    fit = learnt(weighted((D,), settings, True), rounds)
    assert len(fit._kept.rewards) < 170  # 0.9^131 is a millionth, and then comes the next renewal
    recent = learnt(weighted((D,), settings, True), [part[-290:] for part in rounds])
    for one in (fit, recent):
        for _ in range(50):
            one._renew()
    scale = np.sqrt(np.diagonal(fit.inverse))
    np.testing.assert_allclose(fit.theta / scale, recent.theta / scale, rtol=0, atol=1e-5)


@pytest.mark.usefixtures("renewing")
@each_setting
@each_weights
def test_blocks_beyond_the_memory_keep_their_weight(
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


@pytest.mark.usefixtures("renewing")
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
    with refused(ValueError, "Averaged", "state must hold", "cov"):
        pair(Settings(), False)[0].restore(learner.state())
    with refused(ValueError, "Averaged", "state must hold", "block"):
        dense.restore(learner.state())
    with refused(ValueError, "Weighted", "block must lie between 0 and 3, got others"):
        pair(Settings(), True)[0].restore(learner.state() | {"block": np.array([0, 1, 4, 1, 0])})
    with refused(ValueError, "Averaged", "cov must have shape (5, 6), got (4, 6)"):
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
    points = learner.at(BLOCK_ACTIONS)
    for t in range(40):
        belief = Gaussian(psi[t], 0.1 * psi[t] ** 2) if t % 2 else PointMass(psi[t])
        with contextlib.suppress(ValueError) if np.abs(psi[t]).max() > 1e50 else contextlib.nullcontext():
            learner.learn(learner.evidence(points, learner.view(belief), int(rng.integers(4))), float(rewards[t]))
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
    together = weighted((D,), Settings(), False, (3,))
    alone = [weighted((D,), Settings(), False) for _ in range(3)]
    for t in range(40):
        together.add(Row(psi[t]), rewards[t])
        for i, fit in enumerate(alone):
            fit.add(Row(psi[t, i]), float(rewards[t, i]))
            for name in ("theta", "inverse", "noise2", "ridge"):
                got, want = getattr(together, name)[i], getattr(fit, name)
                np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9, err_msg=f"{name} of {i} at {t}")


@each_setting
@each_weights
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_open_decisions_count_as_if_they_had_paid_what_is_expected(
    settings: Settings, aware: bool, share: float
) -> None:
    """P grows by psi psi^T times the average weight of a round, theta-hat stays, and the fit itself does not change."""
    fit = learnt(weighted((D,), settings, aware), rounds_of(30, seed=20))
    before = fit.state()
    psi, covs, _ = rounds_of(5, seed=21)
    waiting = [row_of(*each) if aware else Row(each[0]) for each in zip(psi, covs, strict=True)]
    found = fit.awaiting(waiting, share)
    weight = share * float(fit.weight)
    P = np.linalg.inv(fit.inverse) + weight * psi.T @ psi
    np.testing.assert_allclose(found.inverse, np.linalg.inv(P), rtol=1e-8, atol=1e-12)
    for name in ("theta", "noise2", "ridge", "log_det"):
        np.testing.assert_array_equal(getattr(found, name), getattr(fit, name))
    for name, value in fit.state().items():
        np.testing.assert_array_equal(value, before[name])


@each_kind
def test_an_open_decision_is_a_round_with_the_expected_reward(ridge: float | None) -> None:
    fit = learnt(weighted((D,), Settings(ridge=ridge), False), rounds_of(150, seed=22))
    psi, _, _ = rounds_of(1, seed=23)
    found = fit.awaiting([Row(psi[0])], 1.0)
    assert fit._pause > 1  # no renewal comes next
    fit.add(Row(psi[0]), float(psi[0] @ fit.theta))
    np.testing.assert_allclose(fit.inverse, found.inverse, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(fit.theta, found.theta, rtol=0, atol=1e-10)


def test_before_the_first_reward_an_open_decision_weighs_by_the_noise() -> None:
    fit, row = weighted((D,), Settings(ridge=0.7, noise=0.5), True), rounds_of(1, seed=25)
    expected = np.linalg.inv(0.7 * np.eye(D) + np.outer(row[0][0], row[0][0]) / 0.25)
    np.testing.assert_allclose(fit.awaiting([row_of(row[0][0], row[1][0])], 1.0).inverse, expected, rtol=1e-9)


@each_kind
@each_weights
def test_open_decisions_of_blocks_and_of_trials_in_lock_step(ridge: float | None, aware: bool) -> None:
    """A decision narrows its own block and trial alone."""
    rng, settings = np.random.default_rng(24), Settings(ridge=ridge)
    together, alone = weighted((2, D), settings, aware, (3,)), [weighted((2, D), settings, aware) for _ in range(3)]
    rounds = []
    for _ in range(24):
        root = rng.normal(size=(3, D, 2))
        cov = folded(root @ root.swapaxes(-1, -2)) if aware else None
        rounds.append(Row(rng.normal(size=(3, D)), cov, rng.integers(2, size=3)))
    for now in rounds[:20]:
        rewards = rng.normal(size=3)
        together.add(now, rewards)
        for i, fit in enumerate(alone):
            fit.add(_of_trial(now, i), float(rewards[i]))
    found = together.awaiting(rounds[20:], 0.5)
    for i, fit in enumerate(alone):
        own = fit.awaiting([_of_trial(now, i) for now in rounds[20:]], 0.5)
        np.testing.assert_allclose(found.inverse[i], own.inverse, rtol=1e-7, atol=1e-10)
        for block in range(2):
            of_block = [_of_trial(now, i) for now in rounds[20:] if now.block is not None and now.block[i] == block]
            expected = fit.awaiting(of_block, 0.5).inverse[block] if of_block else fit.inverse[block]
            np.testing.assert_allclose(own.inverse[block], expected, rtol=1e-8, atol=1e-12)


def _of_trial(row: Row, trial: int) -> Row:
    assert row.block is not None
    return Row(row.psi[trial], None if row.cov is None else row.cov[trial], np.asarray(row.block[trial]))


@each_kind
@pytest.mark.parametrize("noise", [None, 0.05, 20.0], ids=["learnt", "small noise", "large noise"])
@pytest.mark.parametrize("leading", [(), (2,)], ids=["alone", "lock-step"])
def test_a_round_adds_the_logarithm_of_the_determinant_that_it_adds(
    ridge: float | None, noise: float | None, leading: tuple[int, ...]
) -> None:
    """log det P grows by log(1 + psi^T P^-1 psi / v), whatever the variance v is."""
    rng = np.random.default_rng(4)
    fit = weighted((D,), Settings(ridge, noise), False, leading)
    grown = 0
    for _ in range(40):
        before, gain, pause = np.linalg.slogdet(fit.inverse)[1], np.array(fit.log_det), fit._pause
        psi, reward = rng.normal(size=(*leading, D)), 3.0 * rng.normal(size=leading)
        fit.add(Row(psi), reward if leading else float(reward))
        if fit._pause == pause - 1:  # by an update of rank one
            np.testing.assert_allclose(fit.log_det - gain, before - np.linalg.slogdet(fit.inverse)[1], rtol=1e-6)
            grown += 1
    assert grown > 20


@pytest.mark.parametrize(("noise", "length", "anew"), [(1e-4, 1.0, 1), (1e-2, 1.0, 0), (1e4, 1e3, 0), (1.0, 1e4, 1)])
def test_a_row_that_a_rank_one_update_would_garble_is_solved_anew(noise: float, length: float, anew: int) -> None:
    """That is a matter of its leverage beside the variance of its reward: 1e8, 1e4, 0.01 and 1e8 here."""
    fit = weighted((D,), Settings(1.0, noise), False)
    fit.add(Row(np.full(D, 1e-8)), 1.0)
    fit._pause = 50
    with patch.object(fit, "_refit", wraps=fit._refit) as refit:
        fit.add(Row(np.eye(D)[0] * length), 1.0)
    assert refit.call_count == anew
