"""Scales averaged by evidence, against dense formulas and data whose scales are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from overcast._check import Array
from overcast.models.kernel.scales import estimate_scales
from overcast.models.prior import LOG_PRIOR, RATIOS, SMALLEST_NOISE


def _problem(t: int, seed: int, noise: float = 0.3, size: float = 1.0) -> tuple[Array, Array]:
    """Return K and rewards of a process with standard deviation one around 5."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(t, 2))
    gram = size * np.exp(-0.5 * ((x[:, None] - x[None]) ** 2).sum(axis=-1))
    root = np.linalg.cholesky(gram / size + noise**2 * np.eye(t))
    return gram, 5.0 + root @ rng.normal(size=t)


def _log_p(gram: Array, rewards: Array, ridge: float) -> tuple[float, float]:
    """Return log p with level and scale integrated out, and the variance of the noise, from inverses."""
    t, one = len(rewards), np.ones(len(rewards))
    inverse = np.linalg.inv(gram + ridge * np.eye(t))
    level = one @ inverse @ rewards / (one @ inverse @ one)
    square = float((rewards - level) @ inverse @ (rewards - level))
    log_det = -np.linalg.slogdet(inverse)[1]
    return float(-0.5 * (log_det + math.log(one @ inverse @ one) + (t - 1) * math.log(square))), ridge * square / (
        t - 1
    )


@pytest.mark.parametrize("size", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("t", [2, 3, 12, 40])
def test_averages_are_those_of_dense_formulas(t: int, size: float) -> None:
    gram, rewards = _problem(t, t, size=size)
    ridges = gram.trace() / t / RATIOS
    log_p, noise2 = np.array([_log_p(gram, rewards, ridge) for ridge in ridges]).T
    noise2 = np.maximum(noise2, SMALLEST_NOISE * ((rewards - rewards.mean()) ** 2).sum() / (t - 1))
    total = np.exp(log_p + LOG_PRIOR)
    share = total / total.sum()
    found = estimate_scales(gram, rewards)
    assert found is not None
    assert found.ridge == pytest.approx((share @ noise2) / (share @ (noise2 / ridges)), rel=1e-6)
    assert found.noise2 == pytest.approx(share @ noise2, rel=1e-6)
    assert found.log_evidence == pytest.approx(math.log(total.sum()), abs=1e-6)


@pytest.mark.parametrize("t", [2, 12])
def test_gamma_is_the_trace_of_the_matrix_that_smooths_rewards(t: int) -> None:
    gram, rewards = _problem(t, 1)
    found = estimate_scales(gram, rewards)
    assert found is not None
    one, inverse = np.ones(t), np.linalg.inv(gram + found.ridge * np.eye(t))
    level = np.outer(one, one @ inverse) / (one @ inverse @ one)
    smooth = level + gram @ inverse @ (np.eye(t) - level)
    assert found.gamma == pytest.approx(smooth.trace(), rel=1e-9)
    assert 1.0 <= found.gamma <= t


@pytest.mark.parametrize("factor", [1e-120, 1e-6, 1e6, 1e120])
def test_units_and_zero_point_of_rewards_do_not_matter(factor: float) -> None:
    gram, rewards = _problem(15, 2)
    plain, moved = estimate_scales(gram, rewards), estimate_scales(gram, factor * (rewards + 100.0))
    assert plain is not None
    assert moved is not None
    assert moved.ridge == pytest.approx(plain.ridge, rel=1e-9)
    assert moved.gamma == pytest.approx(plain.gamma, rel=1e-9)
    assert math.sqrt(moved.noise2) == pytest.approx(factor * math.sqrt(plain.noise2), rel=1e-9)


def test_a_factor_of_the_kernel_is_one_of_the_ridge() -> None:
    gram, rewards = _problem(15, 3)
    plain, scaled = estimate_scales(gram, rewards), estimate_scales(7.0 * gram, rewards)
    assert plain is not None
    assert scaled is not None
    assert scaled.ridge == pytest.approx(7.0 * plain.ridge, rel=1e-9)
    assert scaled.noise2 == pytest.approx(plain.noise2, rel=1e-9)


@pytest.mark.parametrize("noise", [0.1, 0.3, 1.0])
def test_scales_of_a_known_process_are_found(noise: float) -> None:
    """The means of the logarithms over 20 seeds lie within 0.35. Over 300 other seeds, such a mean has a bias of up to
    0.02 (noise) and 0.07 (signal) and an error of 0.03 and 0.06, so that chance breaks this less than once in 1,000."""
    found = [estimate_scales(*_problem(120, seed, noise)) for seed in range(20)]
    noises = [0.5 * math.log(one.noise2) for one in found if one is not None]
    signals = [0.5 * math.log(one.noise2 / one.ridge) for one in found if one is not None]
    assert abs(np.mean(noises) - math.log(noise)) < 0.35
    assert abs(np.mean(signals)) < 0.35


def test_equal_rewards_and_empty_kernels_tell_nothing() -> None:
    gram, rewards = _problem(5, 0)
    assert estimate_scales(gram, np.full(5, 3.7)) is None
    assert estimate_scales(gram, np.zeros(5)) is None
    assert estimate_scales(gram[:1, :1], rewards[:1]) is None
    assert estimate_scales(np.zeros((5, 5)), rewards) is None
