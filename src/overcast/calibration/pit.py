"""The probability integral transform: where in its forecast an outcome fell, from 0 to 1.

If forecasts are right, these values are uniform. Forecasts with jumps give an interval instead of a value, to be
spread evenly or drawn from. Among n members as good as draws of the truth's distribution, each of the n + 1 places that
the truth can take is as likely: the interval of a place is its share. Of effectively fewer than two members, the
truth's places would say nothing: their weights are taken for the forecast itself, and one member for a point.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Frozen, Gaussian, Independent, Mixture, Moved, PointMass, Quantiles
from overcast.calibration.spread import SAMPLE, members

#: draws of a belief of which no distribution function is known
DRAWS = 1000


def pit(belief: Belief, outcome: Array) -> Array:
    """Return the interval in which each dimension of an outcome (c,) fell, as lower and upper ends (2, c).

    Beliefs without a distribution function go by 1000 draws from a fixed seed.
    """
    if isinstance(belief, Ensemble):
        return _ranked(*belief.support(), members(belief), outcome)
    if isinstance(belief, (Gaussian, PointMass)):
        return _normal(belief.mean(), np.sqrt(belief.variance()), outcome)
    if isinstance(belief, Quantiles):
        columns = zip(belief.values.T, outcome, strict=True)
        return np.array([_published(belief.levels, values, y) for values, y in columns]).T
    if isinstance(belief, Mixture):
        each = [pit(part, outcome) for part in belief.beliefs]
        return np.asarray(np.einsum("j,jkc->kc", belief.weights, each))
    if isinstance(belief, Independent):
        pieces = np.split(outcome, np.cumsum([part.dim for part in belief.beliefs])[:-1])
        return np.concatenate([pit(part, y) for part, y in zip(belief.beliefs, pieces, strict=True)], axis=1)
    if isinstance(belief, Moved) and belief.scale.all():
        return pit(belief.belief, (outcome - belief.shift) / belief.scale)
    if isinstance(belief, Frozen):
        known = belief.below(float(outcome[0]))
        if known is not None:
            return np.array(known)[:, None]
    draws = belief.sample(DRAWS, np.random.default_rng(0))
    return _ranked(draws, np.full(DRAWS, 1.0 / DRAWS), float(DRAWS), outcome)


def reach(belief: Belief) -> Array:
    """Return the largest nominal level of which the belief bounds a central interval, shape (c,).

    (n - 1) / (n + 1) for n members, that between the outermost levels for quantiles, 1 for beliefs that say all.
    """
    if isinstance(belief, Ensemble):
        n = members(belief)
        return np.full(belief.dim, (n - 1.0) / (n + 1.0) if n >= SAMPLE else 1.0)
    if isinstance(belief, Quantiles):
        return np.full(belief.dim, max(0.0, 1.0 - 2.0 * max(belief.levels[0], 1.0 - belief.levels[-1])))
    if isinstance(belief, Mixture):
        return np.asarray(belief.weights @ np.array([reach(part) for part in belief.beliefs]))
    if isinstance(belief, Independent):
        return np.concatenate([reach(part) for part in belief.beliefs])
    return reach(belief.belief) if isinstance(belief, Moved) else np.ones(belief.dim)


def beyond(belief: Belief, outcome: Array) -> NDArray[np.bool_]:
    """Return which dimensions of an outcome (c,) lie outside all members or published values, shape (c,)."""
    if isinstance(belief, Ensemble):
        points = belief.support()[0][belief.support()[1] > 0.0]
        return np.asarray((outcome < points.min(axis=0)) | (outcome > points.max(axis=0)))
    if isinstance(belief, Quantiles):
        return np.asarray((outcome < belief.values[0]) | (outcome > belief.values[-1]))
    if isinstance(belief, Mixture):
        return np.asarray(np.all([beyond(part, outcome) for part in belief.beliefs], axis=0))
    if isinstance(belief, Independent):
        pieces = np.split(outcome, np.cumsum([part.dim for part in belief.beliefs])[:-1])
        return np.concatenate([beyond(part, y) for part, y in zip(belief.beliefs, pieces, strict=True)])
    if isinstance(belief, Moved) and belief.scale.all():
        return beyond(belief.belief, (outcome - belief.shift) / belief.scale)
    return np.zeros(belief.dim, dtype=np.bool_)


def _ranked(points: Array, weights: Array, n: float, outcome: Array) -> Array:
    lower, upper = weights @ (points < outcome), weights @ (points <= outcome)
    if n < SAMPLE:
        return np.clip(np.stack([lower, upper]), 0.0, 1.0)
    return np.stack([n * lower, n * upper + 1.0]) / (n + 1.0)


def _normal(mean: Array, deviation: Array, outcome: Array) -> Array:
    certain = deviation == 0.0
    value = ndtr((outcome - mean) / np.where(certain, 1.0, deviation))
    lower = np.where(certain, outcome > mean, value)
    return np.stack([lower, np.where(certain, outcome >= mean, value)]).astype(np.float64)


def _published(levels: Array, values: Array, y: float) -> tuple[float, float]:
    """Return the interval of one dimension; what lies beyond the outermost values shares what they leave over."""
    left, right = np.searchsorted(values, y, "left"), np.searchsorted(values, y, "right")
    if left < right:  # y is one of the values
        low = 0.0 if left == 0 else levels[left]
        return low, 1.0 if right == len(values) else levels[right - 1]
    if right == 0:
        return 0.0, levels[0]
    if right == len(values):
        return levels[-1], 1.0
    a, b = values[right - 1], values[right]
    at = levels[right - 1] + (levels[right] - levels[right - 1]) * (y - a) / (b - a)
    return at, at
