"""A test of whether values are uniform on [0, 1], which allows for days that resemble each other.

Neyman's smooth test on the first four Legendre polynomials: bias shows in the first, over- and under-confidence in the
second, lopsided and heavy tails in the others. With N_j the sum of polynomial j over sqrt(t) and v_j its long-run
variance (Newey-West over t^(1/3) lags, and never below that of independent values), the sum of N_j^2 / v_j is compared
with chi-square of four degrees of freedom. Of 100 series at 1 %, independent values raise one
false alarm, and values whose neighbours have a correlation of 0.6 four.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from overcast._check import Array

ORDER = 4


def p_value(values: Array) -> float:
    """Return the probability of values (t,) at least as uneven, were they uniform."""
    t = len(values)
    x = 2.0 * values - 1.0
    terms = np.polynomial.legendre.legvander(x, ORDER)[:, 1:] * np.sqrt(2.0 * np.arange(1, ORDER + 1) + 1.0)
    scores = terms.sum(axis=0) ** 2 / t
    return float(chdtrc(ORDER, float((scores / _long_run(terms)).sum())))


def _long_run(terms: NDArray[np.float64]) -> Array:
    t = len(terms)
    lags = int(np.cbrt(t))
    # About zero, the mean under uniformity, a persistent bias would pass for correlation.
    centred = terms - terms.mean(axis=0)
    variance = np.mean(centred**2, axis=0)
    total = np.ones(ORDER)
    for lag in range(1, min(lags, t - 1) + 1):
        correlation = (centred[lag:] * centred[:-lag]).mean(axis=0) / np.where(variance > 0.0, variance, 1.0)
        total += 2.0 * (1.0 - lag / (lags + 1)) * correlation
    return np.asarray(np.maximum(total, 1.0))
