"""The correction of one dimension with a learnt memory: experts with many memories, weighted by their likelihoods.

An expert has the model of `fit`, y = m + bias + slope (m - centre) + error, with the deviation
factor * sqrt((1 - trust) usual^2 + trust s^2). It forgets exponentially, with one of the `MEMORIES`, and has one
`STIFFNESS` of slopes and one value of `TRUST`. Its state is a few sums:

- bias and slope minimise the weighted squares of errors, plus a penalty for departing from those of the next longer
  memory; the longest memory is shrunk to no correction. Outliers count like errors of three deviations.
- the factor is the root mean square of its forecast errors, in units of the spread.

Experts are weighted by the predictive likelihoods of past outcomes under Student's t. A small share of all weight goes
back to every expert each time (Herbster & Warmuth 1998), so that another one can take over when forecasts change. The
correction's mean and deviation are the weighted means of the experts'. As the mixture errs less than each expert, the
mean size of its errors scales the deviation, unless outcomes have bounds.

If outcomes have bounds, they are a censored normal variable (Tobin's model): an outcome on a bound counts by the
conditional expectations of its error and of the error's square.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from overcast._check import Array
from overcast.calibration.fit import DEGREES, FLOOR, HUBER, PRIOR_BIAS, PRIOR_FACTOR, PRIOR_SLOPE, Correction

#: memories of the experts in numbers of outcomes
MEMORIES = np.array([4.0, 12.0, 36.0, 108.0, 324.0, np.inf])
#: weight of the next longer memory's slope, in numbers of outcomes; TIE is the weight of its bias
STIFFNESS, TIE = (0.5, 20.0), 0.5
#: weights of the stated spread against the usual spread
TRUST = np.array([0.0, 0.1, 0.3, 0.6, 1.0])
# The shortest memory of factors, which take longer to learn than biases.
LEAST = 60.0
#: the share of all weight that each outcome redistributes
SHARE = 0.002
# Forecasts are clipped to so many standard deviations from the usual one.
EXTENT = 4.0
# Memory of the usual forecast and spread, in numbers of outcomes.
USUAL = 512.0
# The usual spread takes spreads in at no more than WILD times itself; a factor is never below SMALLEST.
WILD, SMALLEST = 10.0, 1e-6
# If the share MOST of the first errors has a deviation AMISS times smaller than all of them, the others are outliers. A
# standard normal variable lies within BELOW with probability MOST.
MOST, BELOW, AMISS = 0.6, 0.8416212335729143, 50.0
# The mean absolute value of a standard normal variable; the weight of the prior at this value; the memory of sizes.
SIZE, PRIOR_SIZE, SIZES = math.sqrt(2.0 / math.pi), 20.0, 1000.0

UNBOUNDED = (-np.inf, np.inf)
_PER_FAMILY = len(MEMORIES)
EXPERTS = _PER_FAMILY * len(STIFFNESS)
_DECAY = np.tile(1.0 - 1.0 / MEMORIES, len(STIFFNESS))[:, None]
_DECAY_FACTOR = np.tile(1.0 - 1.0 / np.maximum(MEMORIES, LEAST), len(STIFFNESS))[:, None]
# Longer memories start with more weight.
_SHARES = np.repeat(np.tile(np.arange(1.0, _PER_FAMILY + 1.0), len(STIFFNESS))[:, None], len(TRUST), axis=1)
_SHARES /= _SHARES.sum()
#: sizes of the arrays of a bank
SHAPES = {"sums": (EXPERTS, 5), "squares": (EXPERTS, len(TRUST)), "counts": (EXPERTS, 1), "weights": _SHARES.shape}


@dataclass(frozen=True, eq=False)
class Bank:
    """The state of all experts, in units of `unit`, forecasts counted from `origin`; see the module.

    unit, origin : scale and zero of the numbers below
    centre, variance : mean and variance of the forecasts
    usual : the usual spread, squared
    stated : whether forecasts have a spread at all
    n : number of outcomes
    first : the factor of the first outcomes, squared, to which that of the longest memory is shrunk
    sizes, sized : decayed sum of the mixture's absolute errors, in units of its deviation, and of their number
    sums : (k, 5) sums over the past of 1, x, x^2, e and x e, where x is the forecast and e its error
    squares, counts : (k, j) and (k, 1) sums of squared errors in units of the spread, and of ones
    weights : (k, j) weights of the experts
    """

    unit: float
    origin: float
    centre: float
    variance: float
    usual: float
    stated: bool
    n: int
    first: float
    sizes: float
    sized: float
    sums: Array
    squares: Array
    counts: Array
    weights: Array

    def mean(self, m: float) -> float:
        """Return the corrected mean for a forecast with the mean `m`."""
        return m + self.unit * float(self.weights.sum(axis=1) @ self._added(self._x(m)))

    def deviation(self, s: float) -> float:
        """Return the corrected standard deviation for a forecast with the spread `s`."""
        factors = (self.weights * self._factors).sum(axis=0)
        return self._scale * self.unit * float(factors @ self._spreads(s / self.unit))

    @property
    def bias(self) -> float:
        """The amount added to the usual forecast."""
        return self.unit * float(self.weights.sum(axis=1) @ self._added(self.centre))

    @property
    def slope(self) -> float:
        """The amount added per unit that a forecast lies above the usual one."""
        return float(self.weights.sum(axis=1) @ self._lines[:, 1])

    @property
    def factor(self) -> float:
        """The ratio of the corrected deviation to the usual spread; infinite if forecasts have no spread."""
        usual = self.unit * math.sqrt(self.usual)
        return self.deviation(usual) / usual if self.stated else np.inf

    @property
    def memory(self) -> float:
        """The weighted harmonic mean of the experts' memories, each at most the number of outcomes."""
        ages = 1.0 / np.minimum(np.tile(MEMORIES, len(STIFFNESS)), max(self.n, 1))
        return float(1.0 / (self.weights.sum(axis=1) @ ages))

    def after(self, row: tuple[float, float, float], bounds: tuple[float, float]) -> Bank:
        """Return the bank after another mean, spread and outcome; an outcome on one of the bounds is censored."""
        m, s, y = row
        x, spreads = self._x(m), self._spreads(s / self.unit)
        added, deviations = self._added(x), self._factors * spreads
        errors = (y - m) / self.unit - added
        squares, overall = errors * errors, float((self.weights * deviations).sum())
        sizes, sized = self.sizes, self.sized
        if bounds == UNBOUNDED:
            size = abs(float(self.weights.sum(axis=1) @ errors)) / overall
            kept = 1.0 - 1.0 / SIZES
            sizes, sized = kept * sizes + min(size, HUBER * self._scale) / SIZE, kept * sized + 1.0
        elif y in bounds:
            errors, squares = _beyond(errors, overall, -1.0 if y == bounds[0] else 1.0)
        z = errors[:, None] / deviations
        weights = self.weights * _likelihoods(z, deviations)
        weights = (1.0 - SHARE) / weights.sum() * weights + SHARE * _SHARES
        shares = weights / weights.sum(axis=1, keepdims=True)
        pull = np.minimum(1.0, HUBER / np.maximum(np.abs((shares * z).sum(axis=1)), HUBER))
        pull *= self.usual / (shares @ (spreads * spreads))
        total = errors + added
        terms = np.stack([pull, pull * x, pull * (x * x), pull * total, pull * (x * total)], axis=1)
        limited = np.minimum(squares[:, None], (HUBER * deviations) ** 2) / spreads**2
        return replace(
            self,
            **self._usual_after(m, s),
            sums=_DECAY * self.sums + terms,
            squares=_DECAY_FACTOR * self.squares + limited,
            counts=_DECAY_FACTOR * self.counts + 1.0,
            weights=weights,
            n=self.n + 1,
            sizes=sizes,
            sized=sized,
        )

    def joined(self, other: Bank) -> Bank:
        """Merge two banks."""
        ratio, by = other.unit / self.unit, (other.origin - self.origin) / self.unit
        one, x, xx, e, xe = (other.sums * [1.0, ratio, ratio**2, ratio, ratio**2]).T
        moved = np.stack([one, x + by * one, xx + 2.0 * by * x + by**2 * one, e, xe + by * e], axis=1)
        share = self.n / (self.n + other.n)
        centre = by + ratio * other.centre
        return replace(
            self,
            n=self.n + other.n,
            centre=share * self.centre + (1.0 - share) * centre,
            variance=share * self.variance
            + (1.0 - share) * ratio**2 * other.variance
            + share * (1.0 - share) * (self.centre - centre) ** 2,
            usual=share * self.usual + (1.0 - share) * ratio**2 * other.usual,
            stated=self.stated or other.stated,
            first=share * self.first + (1.0 - share) * other.first,
            sizes=self.sizes + other.sizes,
            sized=self.sized + other.sized,
            sums=self.sums + moved,
            squares=self.squares + other.squares,
            counts=self.counts + other.counts,
            weights=share * self.weights + (1.0 - share) * other.weights,
        )

    @property
    def _scale(self) -> float:
        """The ratio of the mixture's errors to its deviation."""
        return (self.sizes + PRIOR_SIZE) / (self.sized + PRIOR_SIZE)

    def _x(self, m: float) -> float:
        """Return a forecast in units of the bank, clipped to `EXTENT` deviations."""
        x, reach = (m - self.origin) / self.unit, EXTENT * math.sqrt(self.variance)
        return min(max(x, self.centre - reach), self.centre + reach)

    def _spreads(self, s: float) -> Array:
        """Return the spread (j,) for each value of trust."""
        s2 = max(s * s, FLOOR**2 * self.usual) if self.stated else self.usual
        return np.asarray(np.sqrt((1.0 - TRUST) * self.usual + TRUST * s2))

    def _added(self, x: float) -> Array:
        """Return the amount that each expert adds to a forecast, (k,)."""
        lines = self._lines
        return np.asarray(lines[:, 0] + lines[:, 1] * x)

    @cached_property
    def _lines(self) -> Array:
        """Return intercepts and slopes (k, 2): each family of experts from the longest memory to the shortest."""
        out, sums, c = np.empty((EXPERTS, 2)), self.sums.tolist(), self.centre
        for family, stiffness in enumerate(STIFFNESS):
            level, slope, tie, hold = 0.0, 0.0, PRIOR_BIAS, PRIOR_SLOPE * self.variance
            for k in range(_PER_FAMILY * (family + 1) - 1, _PER_FAMILY * family - 1, -1):
                one, x, xx, e, xe = sums[k]
                cross, square = x - c * one, xx - 2.0 * c * x + c * c * one + hold  # about the centre
                right, left, one = xe - c * e + hold * slope, e + tie * level, one + tie
                determinant = one * square - cross * cross
                level, slope = (square * left - cross * right) / determinant, (one * right - cross * left) / determinant
                out[k] = level - slope * c, slope
                tie, hold = TIE, stiffness * self.variance
        return out

    @cached_property
    def _factors(self) -> Array:
        """Return the factors (k, j)."""
        out = np.empty((len(STIFFNESS), _PER_FAMILY, len(TRUST)))
        squares, counts = (
            self.squares.reshape(out.shape),
            self.counts.reshape(len(STIFFNESS), _PER_FAMILY, 1) + PRIOR_FACTOR,
        )
        towards: Array | float = self.first
        for k in range(_PER_FAMILY - 1, -1, -1):
            out[:, k] = towards = (squares[:, k] + PRIOR_FACTOR * towards) / counts[:, k]
        return np.sqrt(np.maximum(out, SMALLEST**2)).reshape(self.squares.shape)

    def _usual_after(self, m: float, s: float) -> dict[str, Any]:
        """Return the usual forecast and spread after another one."""
        gain = max(1.0 / (self.n + 1.0), 1.0 / USUAL)
        step = self._x(m) - self.centre
        s2 = min((s / self.unit) ** 2, WILD**2 * self.usual) if self.stated else self.usual
        return {
            "centre": self.centre + gain * step,
            "variance": self.variance + gain * (step * step - self.variance),
            "usual": self.usual + gain * (s2 - self.usual),
        }


def start_bank(rows: Array, correction: Correction) -> Bank:
    """Start a bank from the first means, spreads and outcomes (n, 3), and the correction fitted to them."""
    m, s, y = rows.T
    n, stated, origin = len(rows), bool(s.any()), float(m.mean())
    unit = max(float(np.abs(y - m).max()), float(s.max()))
    x, e, s = (m - origin) / unit, (y - m) / unit, s / unit
    usual = float(np.mean(s * s if stated else e * e))
    spreads = np.sqrt((1.0 - TRUST) * usual + TRUST * np.maximum(s * s, FLOOR**2 * usual)[:, None])  # (n, j)
    if not stated:
        spreads = np.full_like(spreads, math.sqrt(usual))
    errors = (y - np.array([correction.mean(forecast) for forecast in m.tolist()])) / unit
    deviations = np.array([correction.deviation(spread) for spread in rows[:, 1].tolist()]) / unit
    middle = e - np.median(e)
    most = float(np.quantile(np.abs(middle), MOST)) / BELOW
    if 0.0 < AMISS * most < np.median(deviations):  # too many outliers for the correction
        errors, deviations = middle, np.full(n, most)
    deviations = np.maximum(deviations, SMALLEST * math.sqrt(usual))
    pull = HUBER / np.maximum(np.abs(errors) / deviations, HUBER)
    limited = np.minimum(errors**2, (HUBER * deviations) ** 2)[:, None] / spreads**2
    ages = np.arange(n - 1.0, -1.0, -1.0)
    return Bank(
        unit=unit,
        origin=origin,
        centre=0.0,
        variance=max(float(x.var()), SMALLEST**2),
        usual=usual,
        stated=stated,
        n=n,
        first=float(np.median(deviations / spreads.mean(axis=1))) ** 2,
        sizes=0.0,
        sized=0.0,
        sums=_DECAY**ages @ np.stack([pull, pull * x, pull * x * x, pull * e, pull * x * e], axis=1),
        squares=_DECAY_FACTOR**ages @ limited,
        counts=(_DECAY_FACTOR**ages).sum(axis=1, keepdims=True),
        weights=_SHARES,
    )


def _beyond(errors: Array, deviation: float, side: float) -> tuple[Array, Array]:
    """Return the conditional means of errors (k,) and of their squares, for outcomes beyond a bound on this side.

    The error of the bound itself is `errors`; with h the normal hazard there, the mean is side * deviation * h.
    """
    at = np.maximum(side * errors / deviation, -8.0)
    tail = np.maximum(ndtr(-at), 1e-300)
    hazard = np.where(
        at < 30.0, np.exp(-0.5 * at * at) / math.sqrt(2.0 * math.pi) / tail, at + 1.0 / np.maximum(at, 1.0)
    )
    return side * deviation * hazard, deviation**2 * np.maximum(1.0 + at * hazard, SMALLEST)


def _likelihoods(z: Array, deviations: Array) -> Array:
    """Return likelihoods under Student's t (k, j), scaled to a maximum of 1."""
    score = -np.log(deviations) - 0.5 * (DEGREES + 1.0) * np.log1p(z * z / DEGREES)
    return np.asarray(np.exp(score - score.max()))
