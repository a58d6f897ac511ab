"""A sentence on how forecasts are wrong, and a test of whether they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from overcast._check import Array

if TYPE_CHECKING:
    from overcast.calibration.check import Calibration

#: the probability that calibrated forecasts are called wrong
FALSE_ALARM = 0.01
#: outcomes needed for a verdict; so many reveal errors 1.5 times as large as forecast in four of five cases
ENOUGH = 50
# Factors nearer to one than this are not mentioned.
NEAR = 1.1
# Legendre polynomials in the test of uniformity.
ORDER = 4


def sentence(calibration: Calibration, i: int) -> str:
    """Return the verdict on dimension `i`."""
    name, t = calibration.names[i], len(calibration)
    if calibration.sure[i] and not calibration.errors[:, i].any():
        return f"{name}: a constant, known exactly."
    if t < ENOUGH:
        return f"{name}: {t} outcomes are too few to judge by; come back with {ENOUGH} or more."
    p = float(calibration.p_values[i])
    if p >= FALSE_ALARM:
        test = f"p = {p:.2f}, a test with a false-alarm probability of {_percent(FALSE_ALARM)}"
        return f"{name}: your forecasts look right: {_evidence(calibration, i)} ({test})."
    faults = [*_bias_phrases(calibration, i), *_spread_phrases(float(calibration.factor[i]))]
    fault_text = " and ".join(faults) if faults else "of the wrong shape, though their mean and spread are about right"
    return f"{name}: your forecasts are {fault_text}: {_evidence(calibration, i)}."


def _bias_phrases(calibration: Calibration, i: int) -> list[str]:
    bias, errors = float(calibration.bias[i]), calibration.errors[:, i]
    if abs(bias) <= 2.0 * errors.std() / np.sqrt(len(errors)):
        return []
    return [f"too {'low' if bias > 0 else 'high'} by {abs(bias):.2g}"]


def _spread_phrases(factor: float) -> list[str]:
    if 1.0 / NEAR < factor < NEAR:
        return []
    if factor == np.inf:
        return ["over-confident: too often they leave no room for error"]
    if factor == 0.0:
        return ["under-confident: hardly any error occurs"]
    return [f"{'over' if factor > 1 else 'under'}-confident by a factor {max(factor, 1 / factor):.1f}"]


def _evidence(calibration: Calibration, i: int) -> str:
    level = float(calibration.level[i])
    cover = f"nominal {_percent(level)} intervals cover {_percent(float(calibration.coverage(level)[i]))}"
    if (outside := calibration.outside) is None or calibration.sure[i]:
        return cover
    expected = _percent(1.0 - float(calibration.reaches[:, i].mean()))
    return f"{_percent(float(outside[i]))} of outcomes fall outside the ensemble, {expected} expected; {cover}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def p_value(values: Array) -> float:
    """Return the p-value of a test that values (t,) are uniform on [0, 1].

    This is Neyman's smooth test on the first four Legendre polynomials: bias shows in the first, over- and
    under-confidence in the second, skewed and heavy tails in the others. With N_j the sum of polynomial j over sqrt(t)
    and v_j its long-run variance (Newey-West over t^(1/3) lags, and never below that of independent values), the sum of
    N_j^2 / v_j is compared with chi-square of four degrees of freedom. At 1 %, one in 100 series of independent values
    raises a false alarm, and four in 100 do if neighbours have a correlation of 0.6.
    """
    t = len(values)
    x = 2.0 * values - 1.0
    terms = np.polynomial.legendre.legvander(x, ORDER)[:, 1:] * np.sqrt(2.0 * np.arange(1, ORDER + 1) + 1.0)
    scores = terms.sum(axis=0) ** 2 / t
    return float(chdtrc(ORDER, float((scores / _long_run_variance(terms)).sum())))


def _long_run_variance(terms: Array) -> Array:
    """Return the long-run variance of each polynomial, at least 1 (Newey-West)."""
    t = len(terms)
    lags = int(np.cbrt(t))
    # Centred by the sample mean: about zero, the mean of uniform values, a lasting bias would look like correlation.
    centred = terms - terms.mean(axis=0)
    variance = np.mean(centred**2, axis=0)
    total = np.ones(ORDER)
    for lag in range(1, min(lags, t - 1) + 1):
        correlation = (centred[lag:] * centred[:-lag]).mean(axis=0) / np.where(variance > 0.0, variance, 1.0)
        total += 2.0 * (1.0 - lag / (lags + 1)) * correlation
    return np.asarray(np.maximum(total, 1.0))
