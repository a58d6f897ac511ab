"""The correction of one dimension, from forecasts and what came of them.

Outcomes are taken as y = m + bias + slope (m - centre) + error, where m is the forecast's mean, and the error's
standard deviation as factor * sqrt((1 - trust) usual^2 + trust s^2), where s is the forecast's spread and usual its
root mean square. A factor alone would not do: spreads that say little of the error still differ from day to day, and
stretching them stretches that too. The regression is Huber's, the factor comes from a quantile of the errors, and
trust from the likelihood of Student's t: wild outcomes do little to any of them while they are fewer than a fifth, or
one of the first three to five. All is relative to the size of the numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from overcast._check import Array

# No correction counts as much as this many outcomes: a bias shows soon; slopes and spreads take longer to tell.
PRIOR_BIAS, PRIOR_SLOPE, PRIOR_FACTOR = 3.0, 10.0, 5.0
# Errors beyond so many standard deviations pull no harder than one at it. Lower values would mistake skewed errors,
# such as those of rain, for outliers, and move the mean towards the median.
HUBER = 3.0
# The share of errors that the factor goes by, and the standard normal's quantile for it.
SHARE, QUANTILE = 0.8, 1.2815515655446004
# What spreads may be worth, from nothing to what they say, which has half of the probability beforehand.
TRUST = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
PRIOR_TRUST = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.5])
DEGREES = 5.0  # of freedom of Student's t
# A forecast with less than this share of the usual spread is taken to have as much: members agree by accident, too.
FLOOR = 0.1
# Of one or two errors none can be told for wild: they count at most as so many spreads, the larger of theirs.
FEW, LIMIT = 2, 30.0
ITERATIONS = 5
TRUST_AT = (0, 2)  # it costs more than the rest, and settles soon


class Correction(NamedTuple):
    """What is to be done to the forecasts of one dimension; the defaults leave them as they are."""

    bias: float = 0.0  # added at the usual forecast
    slope: float = 0.0  # added for each unit that a forecast lies above the usual one
    centre: float = 0.0  # the usual forecast
    reach: float = 0.0  # how far from it the slope goes: not beyond the forecasts that it was learnt from
    factor: float = 1.0  # of the spread
    usual: float = 0.0  # spread, that which the factor multiplies where trust is zero
    trust: float = 1.0  # in the differences between spreads

    def mean(self, m: float) -> float:
        """Return the mean for a forecast with the mean `m`."""
        return m + self.bias + self.slope * min(max(m - self.centre, -self.reach), self.reach)

    def deviation(self, s: float) -> float:
        """Return the standard deviation for a forecast with the spread `s`."""
        floored = max(s, FLOOR * self.usual)
        return self.factor * float(np.sqrt((1.0 - self.trust) * self.usual**2 + self.trust * floored**2))


def fit(means: Array, spreads: Array, outcomes: Array) -> Correction:
    """Return the correction that forecasts (n,) and their outcomes (n,) call for, drawn to none where n is small."""
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
    if not informative:
        usual = 1.0
    floored = np.maximum(s, FLOOR * usual)
    trust = 0.5 if informative else 0.0
    bias, slope = float(np.median(e)) * n / (n + PRIOR_BIAS), 0.0
    for iteration in range(ITERATIONS):
        r = e - bias - slope * x
        if informative and iteration in TRUST_AT:
            trust = _trust(r, usual, floored)
        u = np.sqrt((1.0 - trust) * usual**2 + trust * floored**2)
        factor = _factor(np.abs(r) / u)
        if factor == 0.0:
            break  # the errors are all the same
        z = np.abs(r) / (factor * u)
        weights = np.minimum(1.0, HUBER / np.maximum(z, HUBER)) * np.exp(2.0 * (np.log(u).mean() - np.log(u)))
        total, cross = weights.sum() + PRIOR_BIAS, weights @ x
        square = weights @ (x * x) + PRIOR_SLOPE
        left, right = weights @ e, weights @ (x * e)
        determinant = total * square - cross * cross
        bias = float((square * left - cross * right) / determinant)
        slope = float((total * right - cross * left) / determinant)
    if n > 1:
        factor *= np.sqrt((n + 1) / (n - 1))  # the errors are about a line through themselves
    if informative:
        factor = np.sqrt((n * factor**2 + PRIOR_FACTOR) / (n + PRIOR_FACTOR))
    reach = width * float(np.abs(x).max())
    return Correction(bias * unit, slope * unit / width, centre, reach, float(factor), usual * unit, float(trust))


def _standardised(means: Array) -> tuple[float, Array, float]:
    """Return the centre of the forecasts, the forecasts with mean 0 and variance 1, and their standard deviation."""
    centre = float(means.mean())
    x = means - centre
    width = float(x.std())
    if width <= 1e-12 * float(np.abs(means).max()):
        return centre, np.zeros_like(x), 1.0
    return centre, x / width, width


def _scale(ratios: Array) -> Array:
    """Return what makes `SHARE` of the errors along the last axis fall within as much of the normal distribution.

    The largest of three to five errors is left aside, and the next one counts as the quantile that it is.
    """
    n = ratios.shape[-1]
    at, quantile = min(int(SHARE * n), n - 1), QUANTILE
    if at == n - 1 and n > FEW:
        at = n - 2
        quantile = float(ndtri(0.5 + 0.5 * (at + 0.5) / n))
    return np.asarray(np.partition(ratios, at)[..., at] / quantile)  # numpy's quantile costs thrice as much


def _factor(ratios: Array) -> float:
    """Return the factor for errors (n,) in units of the spread."""
    scale = float(_scale(ratios))
    # Where nearly all errors are zero, the others count.
    return scale if scale > 0.0 else float(np.sqrt(np.mean(ratios**2)))


def _trust(r: Array, usual: float, spreads: Array) -> float:
    """Return the mean of trust given the errors, (n,)."""
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
