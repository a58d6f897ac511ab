from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from overcast._check import Array
from overcast.confidence import Confidence, Expected, Kernel, Observed, Sampled
from overcast.models import Progress

CLASSES: list[type[Any]] = [Expected, Sampled, Observed, Kernel]

# The formulas of the paper, from real matrices: V is V_t, V0 is V_0 = lambda I.


def lemma_1(V: Array, V0: Array, rho: float, delta: float, norm: float) -> float:
    """beta_t(rho, delta) of the background section."""
    ratio = math.sqrt(np.linalg.det(V)) / (delta * math.sqrt(np.linalg.det(V0)))
    return rho * math.sqrt(2 * math.log(ratio)) + math.sqrt(V0[0, 0]) * norm


def lemma_2(V: Array, V0: Array, beta: float, T: int) -> float:
    """The regret of UCB on the expected features."""
    return beta * math.sqrt(8 * T * math.log(np.linalg.det(V) / np.linalg.det(V0)))


def beta_tilde(V: Array, V0: Array, sigma: float, delta: float, t: int, k: int) -> float:
    """Equation (tilde beta) of the appendix with its last term lambda^{1/2} and 1 + log t for the harmonic sum."""
    ratio = 2 * math.sqrt(np.linalg.det(V)) / (delta * math.sqrt(np.linalg.det(V0)))
    noise = math.sqrt(2 * (4 + sigma**2) * math.log(ratio))
    bias = math.sqrt(8 * (1 + math.log(t)) * math.log(math.pi**2 * t**2 * k / (3 * delta)))
    return noise + bias + math.sqrt(V0[0, 0])


def designs(ridge: float, t: int, d: int = 4, seed: int = 0) -> tuple[Array, Array]:
    """Return V_t and V_0 after t features of the unit ball."""
    psi = np.random.default_rng(seed).normal(size=(t, d))
    psi /= np.maximum(1.0, np.linalg.norm(psi, axis=1, keepdims=True))
    V0 = ridge * np.eye(d)
    V = V0.copy()
    for row in psi:
        V += np.outer(row, row)
    return V, V0


def progress_of(V: Array, V0: Array, t: int, k: int) -> Progress:
    return Progress(t, math.log(np.linalg.det(V) / np.linalg.det(V0)), float(V0[0, 0]), k)


SITUATIONS = pytest.mark.parametrize(
    ("delta", "sigma", "ridge", "t", "k"),
    [(0.05, 0.1, 1.0, 1, 10), (0.1, 0.0, 1.0, 7, 2), (0.5, 2.0, 3.5, 40, 1), (0.001, 0.3, 0.25, 200, 500)],
)


@SITUATIONS
def test_expected_is_theorem_1(delta: float, sigma: float, ridge: float, t: int, k: int) -> None:
    V, V0 = designs(ridge, t)
    confidence, progress = Expected(delta, sigma), progress_of(V, V0, t, k)
    beta = lemma_1(V, V0, math.sqrt(4 + sigma**2), delta / 2, norm=1.0)
    assert float(confidence.beta(progress)) == pytest.approx(beta, rel=1e-12)
    bound = lemma_2(V, V0, beta, t) + 4 * math.sqrt(2 * t * math.log(4 / delta))
    assert float(confidence.regret_bound(progress, confidence.beta(progress))) == pytest.approx(bound, rel=1e-12)


@SITUATIONS
def test_sampled_is_theorem_1_with_beta_tilde(delta: float, sigma: float, ridge: float, t: int, k: int) -> None:
    V, V0 = designs(ridge, t)
    confidence, progress = Sampled(delta, sigma), progress_of(V, V0, t, k)
    beta = beta_tilde(V, V0, sigma, delta, t, k)
    assert float(confidence.beta(progress)) == pytest.approx(beta, rel=1e-12)
    bound = lemma_2(V, V0, beta, t) + 4 * math.sqrt(2 * t * math.log(2 * k * math.pi * t / (3 * delta)))
    assert float(confidence.regret_bound(progress, confidence.beta(progress))) == pytest.approx(bound, rel=1e-12)


@SITUATIONS
def test_observed_is_theorem_2(delta: float, sigma: float, ridge: float, t: int, k: int) -> None:
    V, V0 = designs(ridge, t)
    confidence, progress = Observed(delta, sigma), progress_of(V, V0, t, k)
    beta = lemma_1(V, V0, sigma, delta / 3, norm=1.0)
    assert float(confidence.beta(progress)) == pytest.approx(beta, rel=1e-12)
    luck = 4 * (1 + beta / math.sqrt(ridge)) * math.sqrt(2 * t * math.log(3 / delta))
    bound = lemma_2(V, V0, beta, t) + luck
    assert float(confidence.regret_bound(progress, confidence.beta(progress))) == pytest.approx(bound, rel=1e-12)


@SITUATIONS
def test_kernel_is_theorem_3(delta: float, sigma: float, ridge: float, t: int, k: int) -> None:
    """From a Gram matrix of t features: the determinant of I + K / lambda is that of V_t / lambda."""
    psi = np.random.default_rng(0).normal(size=(t, 4))
    psi /= np.maximum(1.0, np.linalg.norm(psi, axis=1, keepdims=True))
    log_det = float(np.linalg.slogdet(np.eye(t) + psi @ psi.T / ridge)[1])
    confidence, progress = Kernel(delta, sigma, 1.3), Progress(t, log_det, ridge, k)
    rho = math.sqrt((2 * 1.3) ** 2 + sigma**2)
    beta = rho * math.sqrt(2 * (log_det / 2 - math.log(delta))) + math.sqrt(ridge) * 1.3
    assert float(confidence.beta(progress)) == pytest.approx(beta, rel=1e-12)
    luck = 4 * 1.3 * math.sqrt(2 * t * math.log(2 / delta))
    bound = beta * math.sqrt(8 * t * log_det) + luck
    assert float(confidence.regret_bound(progress, confidence.beta(progress))) == pytest.approx(bound, rel=1e-12)

    V, V0 = designs(ridge, t)
    assert progress_of(V, V0, t, k).log_det == pytest.approx(log_det, rel=1e-9)
    assert float(confidence.beta(progress)) == pytest.approx(lemma_1(V, V0, rho, delta, 1.3), rel=1e-9)


@SITUATIONS
def test_kernel_spends_all_of_delta_on_the_band(delta: float, sigma: float, ridge: float, t: int, k: int) -> None:
    """Theorem 1 spends half of delta, so twice the delta gives the same widths and the same bound."""
    progress, delta = Progress(t, 0.7 * t, ridge, k), min(delta, 0.4)
    kernel, linear = Kernel(delta, sigma, 1.3, 0.9), Expected(2 * delta, sigma, 1.3, 0.9)
    assert float(kernel.beta(progress)) == pytest.approx(float(linear.beta(progress)), rel=1e-14)
    bounds = [float(one.regret_bound(progress, one.beta(progress))) for one in (kernel, linear)]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-14)


def test_the_bound_uses_the_beta_it_is_given() -> None:
    V, V0 = designs(1.0, 30)
    progress = progress_of(V, V0, 30, 5)
    for cls in CLASSES:
        near, far = (cls().regret_bound(progress, np.asarray(beta)) for beta in (0.0, 2.0))
        more = lemma_2(V, V0, 2.0, 30)
        if cls is Observed:
            more += 4 * 2.0 * math.sqrt(2 * 30 * math.log(3 / 0.05))
        assert float(far - near) == pytest.approx(more, rel=1e-12)


def test_first_round_is_covered_without_data() -> None:
    """At t = 1 there is no data: theta-hat = 0, and its distance to theta is lambda^{1/2} ||theta||."""
    nothing = Progress(1, 0.0, 2.0, 10)
    for cls in CLASSES:
        assert float(cls(norm=3.0).beta(nothing)) >= math.sqrt(2.0) * 3.0


@pytest.mark.parametrize("cls", [Expected, Sampled, Kernel])
def test_proxy_as_printed_and_from_a_range(cls: type[Expected] | type[Sampled] | type[Kernel]) -> None:
    assert cls(noise=0.3).norm == 1.0
    assert cls(noise=0.3).reward_range is None
    assert cls(noise=0.3).proxy == pytest.approx(math.sqrt(4 + 0.3**2), rel=1e-15)
    assert cls(noise=0.3, norm=2.5).proxy == pytest.approx(math.sqrt(5.0**2 + 0.3**2), rel=1e-15)
    assert cls(noise=0.3, reward_range=2.0).proxy == pytest.approx(math.sqrt(1 + 0.3**2), rel=1e-15)
    assert cls(noise=0.3, norm=2.5, reward_range=0.8).proxy == pytest.approx(math.sqrt(0.4**2 + 0.3**2), rel=1e-15)


@pytest.mark.parametrize("reward_range", [0.5, 2.0, 6.0])
def test_reward_range_in_every_formula(reward_range: float) -> None:
    """R = 2 is the range of the paper's rewards: |xi| <= R, |D_t| <= 2 R and |b_t| as printed follow from it."""
    V, V0 = designs(1.5, 20)
    progress, T, R, norm = progress_of(V, V0, 20, 7), 20, reward_range, 1.7
    rho = math.sqrt((R / 2) ** 2 + 0.2**2)

    expected = Expected(0.1, 0.2, norm, R)
    beta = lemma_1(V, V0, rho, 0.05, norm)
    assert float(expected.beta(progress)) == pytest.approx(beta, rel=1e-12)
    bound = lemma_2(V, V0, beta, T) + 2 * R * math.sqrt(2 * T * math.log(40))
    assert float(expected.regret_bound(progress, np.asarray(beta))) == pytest.approx(bound, rel=1e-12)

    sampled = Sampled(0.1, 0.2, norm, R)
    beta = lemma_1(V, V0, rho, 0.05, norm) + R * math.sqrt(
        2 * (1 + math.log(T)) * math.log(math.pi**2 * T**2 * 7 / 0.3)
    )
    assert float(sampled.beta(progress)) == pytest.approx(beta, rel=1e-12)
    bound = lemma_2(V, V0, beta, T) + 2 * R * math.sqrt(2 * T * math.log(14 * math.pi * T / 0.3))
    assert float(sampled.regret_bound(progress, np.asarray(beta))) == pytest.approx(bound, rel=1e-12)

    observed = Observed(0.1, 0.2, norm, R)
    beta = lemma_1(V, V0, 0.2, 0.1 / 3, norm)
    assert float(observed.beta(progress)) == pytest.approx(beta, rel=1e-12)
    luck = (2 * R + 4 * beta / math.sqrt(1.5)) * math.sqrt(2 * T * math.log(30))
    bound = lemma_2(V, V0, beta, T) + luck
    assert float(observed.regret_bound(progress, np.asarray(beta))) == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize("cls", CLASSES)
def test_arrays_of_rounds_equal_one_round_at_a_time(cls: type[Confidence]) -> None:
    confidence = cls(0.1, 0.2, 1.3)
    rounds = np.arange(1, 9)
    log_det = np.sort(np.random.default_rng(1).gamma(2.0, size=(3, 8)), axis=1)
    along = Progress(rounds, log_det, 1.4, 6)
    beta = confidence.beta(along)
    bound = confidence.regret_bound(along, beta)
    assert beta.shape == bound.shape == (3, 8)
    for i, j in np.ndindex(3, 8):
        one = Progress(int(rounds[j]), float(log_det[i, j]), 1.4, 6)
        assert float(confidence.beta(one)) == pytest.approx(beta[i, j], rel=1e-14)
        assert float(confidence.regret_bound(one, confidence.beta(one))) == pytest.approx(bound[i, j], rel=1e-14)


@pytest.mark.parametrize("cls", CLASSES)
def test_wider_with_more_data_rounds_confidence_noise_and_norm(cls: type[Confidence]) -> None:
    base = Progress(10, 2.0, 1.0, 5)

    def both(confidence: Confidence, progress: Progress) -> tuple[float, float]:
        beta = confidence.beta(progress)
        return float(beta), float(confidence.regret_bound(progress, beta))

    beta, bound = both(cls(0.1, 0.2), base)
    for confidence, progress in [
        (cls(0.1, 0.2), base._replace(log_det=2.1)),
        (cls(0.09, 0.2), base),
        (cls(0.1, 0.21), base),
        (cls(0.1, 0.2, 1.1), base),
    ]:
        wider, higher = both(confidence, progress)
        assert wider > beta
        assert higher > bound
    later, higher = both(cls(0.1, 0.2), base._replace(round=11))
    assert higher > bound
    assert later > beta if cls is Sampled else later == beta


def test_what_each_theorem_speaks_of() -> None:
    expected = [("hidden", None), ("hidden", "t"), ("observed", None), ("hidden", None)]
    assert [(cls.setting, cls.samples) for cls in CLASSES] == expected


def test_equal_by_value() -> None:
    assert Expected(0.1, 0.2) == Expected(0.1, 0.2)
    assert Expected(0.1, 0.2) != Expected(0.1, 0.2, reward_range=2.0)
    other: object = Sampled(0.1, 0.2)
    assert Expected(0.1, 0.2) != other
    assert hash(Observed(0.1, 0.2)) == hash(Observed(0.1, 0.2))


OUT_OF_RANGE: list[tuple[str, float]] = [
    ("delta", 0.0),
    ("delta", 1.0),
    ("delta", -0.1),
    ("delta", 1.5),
    ("delta", math.nan),
    ("noise", -1e-9),
    ("noise", math.inf),
    ("norm", 0.0),
    ("norm", -1.0),
    ("norm", math.nan),
    ("reward_range", 0.0),
    ("reward_range", -2.0),
    ("reward_range", math.inf),
]
NOT_A_NUMBER: list[tuple[str, object]] = [
    *[(name, "0.1") for name in ("delta", "noise", "norm", "reward_range")],
    *[(name, True) for name in ("delta", "noise", "norm", "reward_range")],
    *[(name, [0.1, 0.2]) for name in ("delta", "noise", "norm", "reward_range")],
    *[(name, None) for name in ("delta", "noise", "norm")],
]


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE)
def test_out_of_range(cls: type[Any], name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{cls.__name__}: {name} must be .*, got ") as caught:
        cls(**{name: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize(("name", "value"), NOT_A_NUMBER)
def test_not_a_number(cls: type[Any], name: str, value: object) -> None:
    with pytest.raises(TypeError, match=f"^{cls.__name__}: {name} must be a number, got ") as caught:
        cls(**{name: value})
    assert "\n" not in str(caught.value)
