"""The correction of one dimension, from forecasts and their outcomes.

The model is y = m + bias + slope (m - centre) + error, where m is the forecast's mean. The error's standard deviation
is factor * sqrt((1 - trust) usual^2 + trust s^2), where s is the forecast's spread and usual its root mean square. A
factor alone is not enough: spreads that say little about the error still vary from day to day, and stretching them
stretches that variation too. The regression is Huber's, the factor comes from a quantile of the errors, and trust from
the likelihood of Student's t. Wild outcomes change them little while they are fewer than a fifth, or one of the first
three to five. The unit of the numbers does not matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from overcast._check import Array

# No correction counts as much as this many outcomes: a bias shows soon; slopes and spreads take longer.
PRIOR_BIAS, PRIOR_SLOPE, PRIOR_FACTOR = 3.0, 10.0, 5.0
# Errors beyond so many standard deviations pull no harder than an error at that distance. Lower values would mistake
# skewed errors, such as those of rain, for outliers, and move the mean towards the median.
HUBER = 3.0
# The factor makes this share of errors fall within this many standard deviations, as for a normal distribution.
SHARE, QUANTILE = 0.8, 1.2815515655446004
# How far spreads may be trusted, from not at all to fully, which has half of the prior probability.
TRUST = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
PRIOR_TRUST = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.5])
DEGREES = 5.0  # degrees of freedom of Student's t
# A spread below this share of the usual one counts as this share: members may agree by accident.
FLOOR = 0.1
# Among one or two errors none can be called wild: each counts at most as so many times the larger spread.
FEW, LIMIT = 2, 30.0
ITERATIONS = 5
TRUST_AT = (0, 2)  # iterations that renew trust, which costs more than the rest and settles soon


class Correction(NamedTuple):
    """How to correct the forecasts of one dimension; the defaults leave them as they are."""

    bias: float = 0.0  # added to the usual forecast
    slope: float = 0.0  # added per unit that a forecast lies above the usual one
    centre: float = 0.0  # the usual forecast
    extent: float = 0.0  # how far from it the slope goes: not beyond the forecasts that it was learnt from
    factor: float = 1.0  # multiplies the spread
    usual: float = 0.0  # the spread that the factor multiplies if trust is zero
    trust: float = 1.0  # from 0 to 1, in the differences between spreads

    def mean(self, m: float) -> float:
        """Return the mean for a forecast with the mean `m`."""
        return m + self.bias + self.slope * min(max(m - self.centre, -self.extent), self.extent)

    def deviation(self, s: float) -> float:
        """Return the standard deviation for a forecast with the spread `s`."""
        floored = max(s, FLOOR * self.usual)
        return self.factor * float(np.sqrt((1.0 - self.trust) * self.usual**2 + self.trust * floored**2))


def fit(means: Array, spreads: Array, outcomes: Array) -> Correction:
    """Return the correction for means, spreads and outcomes, all (n,); few outcomes correct little."""
    n = len(means)
    errors = outcomes - means
    if n <= FEW and spreads.any():
        limit = LIMIT * float(spreads.max())
        errors = np.clip(errors, -limit, limit)
    unit = max(float(np.abs(errors).max()), float(spreads.max()))
    if unit == 0.0:
        return Correction()  # a constant
    e, s = errors / unit, spreads / unit
    centre, x, width = _standardised(means)
    usual = float(np.sqrt(np.mean(s * s)))
    informative = usual > 0.0
    usual, trust = (usual, 0.5) if informative else (1.0, 0.0)
    floored = np.maximum(s, FLOOR * usual)
    bias, slope = float(np.median(e)) * n / (n + PRIOR_BIAS), 0.0
    for iteration in range(ITERATIONS):
        r = e - bias - slope * x
        if informative and iteration in TRUST_AT:
            trust = _trust(r, usual, floored)
        u = np.sqrt((1.0 - trust) * usual**2 + trust * floored**2)
        factor = _factor(np.abs(r) / u)
        if factor == 0.0:
            break  # all errors are equal
        z = np.abs(r) / (factor * u)
        weights = np.minimum(1.0, HUBER / np.maximum(z, HUBER)) * np.exp(2.0 * (np.log(u).mean() - np.log(u)))
        total, cross = weights.sum() + PRIOR_BIAS, weights @ x
        square = weights @ (x * x) + PRIOR_SLOPE
        left, right = weights @ e, weights @ (x * e)
        determinant = total * square - cross * cross
        bias = float((square * left - cross * right) / determinant)
        slope = float((total * right - cross * left) / determinant)
    if n > 1:
        factor *= np.sqrt((n + 1) / (n - 1))  # the line was fitted to the same errors
    if informative:
        factor = np.sqrt((n * factor**2 + PRIOR_FACTOR) / (n + PRIOR_FACTOR))
    extent = width * float(np.abs(x).max())
    return Correction(bias * unit, slope * unit / width, centre, extent, float(factor), usual * unit, float(trust))


def _standardised(means: Array) -> tuple[float, Array, float]:
    """Return the centre of the forecasts, the forecasts with mean 0 and variance 1, and their standard deviation."""
    centre = float(means.mean())
    x = means - centre
    width = float(x.std())
    if width <= 1e-12 * float(np.abs(means).max()):
        return centre, np.zeros_like(x), 1.0
    return centre, x / width, width


def _scale(ratios: Array) -> Array:
    """Return the scale at which `SHARE` of the errors along the last axis lie where a normal distribution has them.

    Of three to five errors the largest is left out, and the next one counts as the quantile that it is.
    """
    n = ratios.shape[-1]
    at, quantile = min(int(SHARE * n), n - 1), QUANTILE
    if at == n - 1 and n > FEW:
        at, quantile = n - 2, float(ndtri(0.5 + 0.5 * (n - 2 + 0.5) / n))
    return np.asarray(np.partition(ratios, at)[..., at] / quantile)  # numpy's quantile costs thrice as much


def _factor(ratios: Array) -> float:
    """Return the factor for errors (n,) in units of the spread."""
    scale = float(_scale(ratios))
    # If nearly all errors are zero, the others count.
    return scale if scale > 0.0 else float(np.sqrt(np.mean(ratios**2)))


def _trust(r: Array, usual: float, spreads: Array) -> float:
    """Return the posterior mean of trust, given the errors (n,)."""
    u = np.sqrt((1.0 - TRUST[:, None]) * usual**2 + TRUST[:, None] * spreads**2)
    ratios = np.abs(r) / u
    factors = _scale(ratios)
    if not factors.all():
        return 1.0
    z = ratios / factors[:, None]
    tails = np.log1p(z * z / DEGREES).sum(axis=1)
    score = np.log(PRIOR_TRUST) - np.log(u).sum(axis=1) - len(r) * np.log(factors) - 0.5 * (DEGREES + 1.0) * tails
    posterior = np.exp(score - score.max())
    return float(posterior @ TRUST / posterior.sum())
