"""The opponent's scores and fits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from scipy.optimize import check_grad

from overcast._check import Array
from recalibration import emos
from recalibration.records import generated

P = np.array([0.3, 0.9, 0.7, 0.5])


def drawn(n: int = 40) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    m, s = rng.normal(size=n), rng.gamma(2.0, 1.0, n)
    return m, s, m + rng.normal(size=n)


def test_the_normal_score() -> None:
    sr = pytest.importorskip("scoringrules")
    m, s, y = drawn()
    expected = sr.crps_normal(y, 0.3 + 0.9 * m, np.sqrt(0.49 + 0.25 * s**2 + 1e-6))
    np.testing.assert_allclose(emos.normal(P, m, s, y), expected)


@pytest.mark.parametrize("form", ["censored normal", "censored gamma"])
def test_censored_scores_by_integration(form: str) -> None:
    """The integral of (F(x) - 1{x >= y})^2 from zero on, where F begins with its jump."""
    x = np.linspace(0.0, 120.0, 600_001)
    m, s = np.array([0.5, 2.0, 5.0]), np.array([0.4, 1.0, 3.0])
    y = np.array([0.0, 1.0, 4.0])
    p = P if form == "censored normal" else np.array([0.8, 0.9, 1.0, 1.5, 0.7])
    for i in range(3):
        if form == "censored normal":
            below = scipy.stats.norm.cdf(x, 0.3 + 0.9 * m[i], np.sqrt(0.49 + 0.25 * s[i] ** 2 + 1e-6))
        else:
            mean, variance = 0.64 + 0.81 * m[i] + 1e-3, 1.0 + 2.25 * m[i] + 1e-3
            below = scipy.stats.gamma.cdf(x + 0.49, mean**2 / variance, scale=variance / mean)
        expected = float(np.trapezoid((below - (x >= y[i])) ** 2, x))
        found = emos.FORMS[form](p, m[i : i + 1], s[i : i + 1], y[i : i + 1])
        assert found[0] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("form", ["normal", "censored normal"])
def test_gradients(form: str) -> None:
    m, s, y = drawn()
    y = np.maximum(y, 0.0) if form == "censored normal" else y
    loss = emos.LOSSES[form]

    def value(p: Array) -> float:
        return loss(p, m, s, y)[0]

    def gradient(p: Array) -> Array:
        return loss(p, m, s, y)[1]

    assert check_grad(value, gradient, P) < 1e-6


def test_a_window_learns_the_bias() -> None:
    """A lasting bias is corrected from thirty days, to within a tenth of the best constant in hindsight."""
    record = generated("constant bias", 3)
    found = emos.scores(record, 30, "normal", len(record) - 60)
    errors = (record.outcomes - record.members.mean(axis=1))[-60:]
    sr = pytest.importorskip("scoringrules")
    best = sr.crps_normal(errors, errors.mean(), errors.std()).mean()
    assert found.mean() < 1.1 * best
