"""Rank-one least squares against one solve from scratch."""

from __future__ import annotations

import numpy as np
import pytest

from overcast._check import Array
from overcast.features import Row
from overcast.models.linear.ridge import REFRESH_EVERY, Ridge

D = 8


def _data(n: int, scale: Array, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    psi = rng.normal(size=(n, len(scale))) * scale
    return psi, psi @ (rng.normal(size=len(scale)) / scale) + rng.normal(size=n)


def _agree(fit: Ridge, psi: Array, rewards: Array, ridge: float, tolerance: float = 1e-8) -> None:
    """Compare with a direct solve, each coordinate on its own scale: 1 / sqrt(V_ii)."""
    d = psi.shape[1]
    V = ridge * np.eye(d) + psi.T @ psi
    scale = 1 / np.sqrt(np.diag(V))
    scaled = V * np.outer(scale, scale)  # unit diagonal, so that the reference itself is exact enough
    theta = scale * np.linalg.solve(scaled, scale * (psi.T @ rewards))
    inverse = np.linalg.inv(scaled)
    np.testing.assert_allclose(fit.design, V, rtol=1e-10, atol=1e-10 * np.abs(V).max())
    np.testing.assert_allclose(fit.theta / scale, theta / scale, rtol=0, atol=tolerance * np.abs(theta / scale).max())
    np.testing.assert_allclose(
        fit.inverse / np.outer(scale, scale), inverse, rtol=0, atol=tolerance * np.abs(inverse).max()
    )
    log_det = np.linalg.slogdet(scaled)[1] - 2 * np.log(scale).sum() - d * np.log(ridge)
    assert abs(float(fit.log_det) - log_det) < tolerance


def test_a_hundred_thousand_updates_stay_within_1e_8_of_a_direct_solve() -> None:
    """Also just before a refresh, where the drift is largest."""
    n = 100_000
    psi, rewards = _data(n, np.ones(D))
    fit = Ridge((D,), 0.5)
    looks = {REFRESH_EVERY - 1, 195 * REFRESH_EVERY - 1, n}
    for i in range(n):
        fit.add(Row(psi[i]), rewards[i])
        if i + 1 in looks:
            _agree(fit, psi[: i + 1], rewards[: i + 1], 0.5)
            solved = np.linalg.solve(0.5 * np.eye(D) + psi[: i + 1].T @ psi[: i + 1], psi[: i + 1].T @ rewards[: i + 1])
            np.testing.assert_allclose(fit.theta, solved, rtol=0, atol=1e-8)


@pytest.mark.parametrize("decades", [2.0, 3.0])
def test_badly_scaled_features(decades: float) -> None:
    """Features between 10^-decades and 10^decades, up to just before the first refresh and well after it."""
    psi, rewards = _data(3 * REFRESH_EVERY - 1, np.logspace(-decades, decades, D), seed=1)
    fit = Ridge((D,), 1.0)
    for i in range(len(psi)):
        fit.add(Row(psi[i]), rewards[i])
        if i + 1 in (1, 50, REFRESH_EVERY - 1, REFRESH_EVERY, len(psi)):
            _agree(fit, psi[: i + 1], rewards[: i + 1], 1.0)


def test_one_feature_over_and_over() -> None:
    """V grows in one direction only; the inverse keeps 1 / ridge in the others."""
    psi = np.tile([3.0, 4.0], (2000, 1))
    fit = Ridge((2,), 0.1)
    for row in psi:
        fit.add(Row(row), 5.0)
    _agree(fit, psi, np.full(2000, 5.0), 0.1)
    across = np.array([4.0, -3.0]) / 5
    assert across @ fit.inverse @ across == pytest.approx(10.0, rel=1e-9)


def test_a_fresh_fit() -> None:
    fit = Ridge((3,), 4.0)
    np.testing.assert_allclose(fit.inverse, np.eye(3) / 4, rtol=1e-15)
    np.testing.assert_array_equal(fit.theta, np.zeros(3))
    assert float(fit.log_det) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("leading", [(3,), (2, 3)])
def test_leading_axes_are_separate_fits(leading: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    n = REFRESH_EVERY + 20
    psi, rewards = rng.normal(size=(n, *leading, 4)), rng.normal(size=(n, *leading))
    together = Ridge((4,), 0.7, leading)
    for p, y in zip(psi, rewards, strict=True):
        together.add(Row(p), y)
    theta = rng.normal(size=4)
    assert together.distance(theta).shape == leading
    for at in np.ndindex(*leading):
        alone = Ridge((4,), 0.7)
        for p, y in zip(psi, rewards, strict=True):
            alone.add(Row(p[at]), float(y[at]))
        for name in ("design", "target", "inverse", "theta", "log_det"):
            np.testing.assert_allclose(getattr(together, name)[at], getattr(alone, name), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(together.distance(theta)[at], alone.distance(theta), rtol=1e-10)


def test_a_row_of_one_block_touches_no_other() -> None:
    rng = np.random.default_rng(3)
    fit = Ridge((5, 3), 1.0)
    seen: list[list[tuple[Array, float]]] = [[] for _ in range(5)]
    for _ in range(40):
        at, psi, y = int(rng.integers(4)), rng.normal(size=3), float(rng.normal())
        before = fit.state()
        fit.add(Row(psi, block=np.asarray(at)), y)
        seen[at].append((psi, y))
        others = [i for i in range(5) if i != at]
        for name in ("root", "target", "inverse", "theta", "log_dets"):
            np.testing.assert_array_equal(fit.state()[name][others], before[name][others])
    log_det = 0.0
    for i, data in enumerate(seen):
        alone = Ridge((3,), 1.0)
        for psi, y in data:
            alone.add(Row(psi), y)
        np.testing.assert_allclose(fit.theta[i], alone.theta, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(fit.inverse[i], alone.inverse, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(fit.state()["log_dets"][i], alone.log_det, rtol=1e-12, atol=1e-14)
        log_det += float(alone.log_det)
    assert float(fit.log_det) == pytest.approx(log_det, rel=1e-12)


def test_a_row_is_of_one_block_of_each_trial_and_blocks_stay_exact_over_many_rows() -> None:
    rng = np.random.default_rng(4)
    trials, blocks, n = 3, 4, 2 * REFRESH_EVERY + 100
    at = rng.integers(blocks, size=(n, trials))
    psi, rewards = rng.normal(size=(n, trials, 2)), rng.normal(size=(n, trials))
    fit = Ridge((blocks, 2), 0.3, (trials,))
    for i in range(n):
        fit.add(Row(psi[i], block=at[i]), rewards[i])
    log_dets = fit.state()["log_dets"]
    for r in range(trials):
        for b in range(blocks):
            mine = at[:, r] == b
            V = 0.3 * np.eye(2) + psi[mine, r].T @ psi[mine, r]
            solved = np.linalg.solve(V, psi[mine, r].T @ rewards[mine, r])
            np.testing.assert_allclose(fit.theta[r, b], solved, rtol=0, atol=1e-8)
            np.testing.assert_allclose(fit.inverse[r, b], np.linalg.inv(V), rtol=0, atol=1e-8)
            assert log_dets[r, b] == pytest.approx(np.linalg.slogdet(V / 0.3)[1], abs=1e-8)
    np.testing.assert_allclose(fit.log_det, log_dets.sum(axis=-1), rtol=1e-12)


@pytest.mark.parametrize("scales", [(1.0,), (1.0, 1e2, 1e-2), (300.0, 1e-3)], ids=str)
def test_a_block_stays_as_exact_as_a_factorisation_of_all_its_rows(scales: tuple[float, ...]) -> None:
    rng, n, d = np.random.default_rng(5), 5000, len(scales)
    psi = (rng.normal(size=(n, d)) + np.eye(d)[0] * 3.0) * scales
    rewards = psi @ (1.0 / np.array(scales)) + rng.normal(size=n)
    fit = Ridge((2, d), 0.1)
    for row, y in zip(psi, rewards, strict=True):
        fit.add(Row(row, block=np.asarray(1)), y)
    half = np.linalg.inv(np.linalg.qr(np.vstack([psi, np.sqrt(0.1) * np.eye(d)]), mode="r"))
    inverse, state = half @ half.T, fit.state()
    size = np.sqrt(inverse.diagonal())
    np.testing.assert_allclose(fit.inverse[1] / np.outer(size, size), inverse / np.outer(size, size), atol=1e-11)
    np.testing.assert_allclose(fit.theta[1] / size, inverse @ (psi.T @ rewards) / size, rtol=1e-10)
    np.testing.assert_allclose(state["root"][1].T @ state["root"][1], psi.T @ psi, rtol=1e-11)
    assert float(state["log_dets"][1]) == pytest.approx(-2.0 * np.log(np.abs(half.diagonal())).sum() - d * np.log(0.1))
    np.testing.assert_allclose(fit.inverse[0], np.eye(d) / 0.1, rtol=1e-14)


def test_distance_is_the_norm_under_the_design() -> None:
    psi, rewards = _data(30, np.ones(D))
    fit = Ridge((D,), 2.0)
    for p, y in zip(psi, rewards, strict=True):
        fit.add(Row(p), y)
    V = 2.0 * np.eye(D) + sum(np.outer(p, p) for p in psi)
    theta_hat = np.linalg.solve(V, sum(p * y for p, y in zip(psi, rewards, strict=True)))
    theta = np.arange(D, dtype=float)
    error = theta - theta_hat
    assert float(fit.distance(theta)) == pytest.approx(float(np.sqrt(error @ V @ error)), rel=1e-10)


def test_merging_is_fitting_the_union() -> None:
    psi, rewards = _data(90, np.ones(D))
    first, second, whole = (Ridge((D,), 0.5) for _ in range(3))
    for i in range(90):
        (first if i < 40 else second).add(Row(psi[i]), rewards[i])
        whole.add(Row(psi[i]), rewards[i])
    kept = {name: np.array(value) for name, value in second.state().items()}
    first.merge(second)
    _agree(first, psi, rewards, 0.5)
    np.testing.assert_allclose(first.theta, whole.theta, rtol=1e-10)
    for name, value in second.state().items():
        np.testing.assert_array_equal(value, kept[name])


def test_a_restored_fit_goes_on_alike_and_on_its_own() -> None:
    psi, rewards = _data(REFRESH_EVERY + 50, np.ones(D))
    fit, copy = Ridge((D,), 0.5), Ridge((D,), 0.5)
    for i in range(REFRESH_EVERY - 10):
        fit.add(Row(psi[i]), rewards[i])
    copy.restore(fit.state())
    kept = {name: np.array(value) for name, value in copy.state().items()}
    for i in range(REFRESH_EVERY - 10, len(psi)):
        fit.add(Row(psi[i]), rewards[i])
    for name, value in copy.state().items():
        np.testing.assert_array_equal(value, kept[name])
    for i in range(REFRESH_EVERY - 10, len(psi)):
        copy.add(Row(psi[i]), rewards[i])
    for name, value in copy.state().items():
        np.testing.assert_array_equal(value, fit.state()[name])  # to the last bit, refresh included


def test_a_state_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Ridge: root must have shape \(3, 3\), got \(2, 2\)$"):
        Ridge((3,), 1.0).restore(Ridge((2,), 1.0).state())


@pytest.mark.parametrize("scale", [1e-4, 1e3, 101_325.0, 1e8])
def test_contexts_in_any_unit(scale: float) -> None:
    """Against a QR factorisation of the rows (1, degrees, pascals), which squares no numbers."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(200), 20 + 5 * rng.normal(size=200), scale * (1 + 0.01 * rng.normal(size=200))])
    rewards = rng.normal(size=200)
    fit = Ridge((3,), 1.0)
    for t, (row, reward) in enumerate(zip(rows, rewards, strict=True), start=1):
        fit.add(Row(row), reward)
        if t in (1, 2, 3, 10, 200):
            stacked = np.vstack([rows[:t], np.eye(3)])
            size = np.linalg.norm(stacked, axis=0)
            q, r = np.linalg.qr(stacked / size)
            theta = np.linalg.solve(r, q.T @ np.concatenate([rewards[:t], np.zeros(3)])) / size
            np.testing.assert_allclose(rows @ fit.theta, rows @ theta, rtol=0, atol=1e-8)
            widths = np.linalg.norm(np.linalg.solve(r.T, (rows / size).T), axis=0)
            np.testing.assert_allclose(np.sqrt(np.vecdot(rows @ fit.inverse, rows)), widths, rtol=1e-6)
            log_det = 2 * np.log(np.abs(np.diagonal(r)) * size).sum()
            assert fit.log_det == pytest.approx(log_det, abs=1e-8)


def _direct(rows: list[Array], rewards: list[float]) -> tuple[Array, Array]:
    """Return theta and the widths of the rows by QR of the rows over the ridge, which squares no numbers."""
    stacked = np.vstack([*rows, np.eye(len(rows[0]))])
    size = np.linalg.norm(stacked, axis=0)
    q, r = np.linalg.qr(stacked / size)
    theta = np.linalg.solve(r, q[: len(rows)].T @ np.array(rewards)) / size
    return theta, np.linalg.norm(np.linalg.solve(r.T, (np.array(rows) / size).T), axis=0)


@pytest.mark.parametrize("step", [np.array([1e6, 1e6]), np.array([1e9, 1e9]), np.array([1e5, 1e-5])])
def test_learning_goes_on_after_large_and_parallel_features(step: Array) -> None:
    fit, rows, rewards = Ridge((2,), 1.0), [], []
    rng = np.random.default_rng(0)
    for t in range(1100):
        psi = step if t < 1050 else rng.normal(size=2)
        rows.append(psi)
        rewards.append(float(rng.normal()))
        fit.add(Row(psi), rewards[-1])
    theta, widths = _direct(rows, rewards)
    later = np.array(rows[1050:])
    np.testing.assert_allclose(np.sqrt(np.vecdot(later @ fit.inverse, later)), widths[1050:], rtol=1e-6)
    np.testing.assert_allclose(later @ fit.theta, later @ theta, rtol=0, atol=1e-3 if step[0] > 1e8 else 1e-6)


def test_slow_growth_in_nearly_one_direction() -> None:
    """No single step makes V grow enough for a refresh; all steps together would lose the digits."""
    fit, rows, rewards = Ridge((3,), 1.0), [], []
    rng = np.random.default_rng(1)
    for t in range(30):
        psi = 50.0 ** min(t, 5) * np.array([1.0, 1.0, 1.0]) + rng.normal(size=3) if t < 6 else rng.normal(size=3)
        rows.append(psi)
        rewards.append(float(rng.normal()))
        fit.add(Row(psi), rewards[-1])
    np.testing.assert_allclose(fit.theta, _direct(rows, rewards)[0], rtol=0, atol=1e-6)


def test_numbers_that_overflow_are_refused_and_change_nothing() -> None:
    fit = Ridge((2,), 1.0)
    fit.add(Row(np.array([1.0, 2.0])), 1.0)
    before = fit.state()
    with pytest.raises(
        ValueError, match=r"^LinearModel: features must stay within the range of floating-point numbers, got larger; "
    ) as caught:
        fit.add(Row(np.array([1e200, 1e200])), 1.0)
    assert "\n" not in str(caught.value)
    for name, value in fit.state().items():
        np.testing.assert_array_equal(value, before[name])
    fit.add(Row(np.array([1.0, -1.0])), 1.0)


def test_the_root_of_a_design_that_is_too_large_for_its_inverse() -> None:
    """Both features are near 1e9, and hardly differ."""
    rng = np.random.default_rng(6)
    fit = Ridge((2,), 1.0)
    for _ in range(20):
        fit.add(Row(np.array([1e9, 1e9 + rng.normal()])), 1.0)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(fit.inverse)
    A = fit.half()
    np.testing.assert_array_equal(A, np.tril(A))
    assert (np.diagonal(A) > 0).all()
    seen = np.concatenate([fit.root, fit.rows, np.eye(2)])
    np.testing.assert_allclose((seen @ A).T @ (seen @ A), np.eye(2), rtol=0, atol=1e-5)  # A^T V A = I


def test_the_root_is_the_same_from_the_inverse_and_from_the_observations() -> None:
    rng = np.random.default_rng(7)
    fit = Ridge((4,), 0.5, (3,))
    for _ in range(9):
        fit.add(Row(rng.normal(size=(3, 4))), rng.normal(size=3))
    A = fit.half()
    fit.inverse = fit.inverse - 10 * np.eye(4)
    np.testing.assert_allclose(fit.half(), A, rtol=0, atol=1e-12)
