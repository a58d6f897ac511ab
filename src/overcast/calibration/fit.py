"""Fit the correction of one dimension to forecasts and their outcomes.

The model is y = m + bias + slope (m - centre) + error, where m is the forecast's mean. The error's standard deviation
is factor * sqrt((1 - trust) usual^2 + trust s^2), where s is the forecast's spread and usual its root mean square. A
factor alone is not enough: uninformative spreads still vary from day to day, and stretching them stretches that
variation too. The regression is Huber's, the factor comes from a quantile of the errors, and trust from the likelihood
of Student's t. Outliers change them little while they are fewer than a fifth, or one of the first three to five. The
fit does not depend on the unit of the numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from overcast._check import Array

# Weight of the prior, which is no correction, in numbers of outcomes: slopes and spreads take longer than biases.
PRIOR_BIAS, PRIOR_SLOPE, PRIOR_FACTOR = 3.0, 10.0, 5.0
# Huber's threshold in standard deviations. A lower one would take skewed errors, such as those of rain, for outliers,
# and move the mean towards the median.
HUBER = 3.0
# The factor makes this share of errors fall within this many standard deviations, as for a normal distribution.
SHARE, QUANTILE = 0.8, 1.2815515655446004
# Weights of the stated spread, from 0 to 1, which has half of the prior probability.
TRUST = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
PRIOR_TRUST = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.5])
DEGREES = 5.0  # degrees of freedom of Student's t
# A spread below this share of the usual one counts as this share: members may agree by accident.
FLOOR = 0.1
# Outliers cannot be detected among FEW errors: each is clipped to LIMIT times the larger spread.
FEW, LIMIT = 2, 30.0
ITERATIONS = 5
TRUST_AT = (0, 2)  # iterations that update trust, which is costly and converges soon


class Correction(NamedTuple):
    """The correction of one dimension's forecasts; the defaults change nothing."""

    bias: float = 0.0  # added to the usual forecast
    slope: float = 0.0  # added per unit that a forecast lies above the usual one
    centre: float = 0.0  # the usual forecast
    extent: float = 0.0  # the slope applies up to this distance from the centre, that of the fitted forecasts
    factor: float = 1.0  # multiplies the spread
    usual: float = 0.0  # the usual spread
    trust: float = 1.0  # the weight of the stated spread against the usual one, from 0 to 1

    def mean(self, m: float) -> float:
        """Return the corrected mean for a forecast with the mean `m`."""
        return m + self.bias + self.slope * min(max(m - self.centre, -self.extent), self.extent)

    def deviation(self, s: float) -> float:
        """Return the corrected standard deviation for a forecast with the spread `s`."""
        floored = max(s, FLOOR * self.usual)
        return self.factor * float(np.sqrt((1.0 - self.trust) * self.usual**2 + self.trust * floored**2))


def fit(means: Array, spreads: Array, outcomes: Array) -> Correction:
    """Fit the correction to means, spreads and outcomes, all (n,); a prior shrinks it while there are few."""
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
    """Return the normal standard deviation at which `SHARE` of the errors along the last axis lie within `QUANTILE`.

    Of three to five errors the largest is left out, and the next one is matched to its expected quantile.
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
