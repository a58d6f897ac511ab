"""Proper scores of beliefs, by the library scoringrules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.beliefs import Belief, NoClosedForm
from overcast.beliefs.base import STAND_IN_DRAWS


def crps(beliefs: Sequence[Belief], outcomes: Array) -> Array:
    """Return the continuous ranked probability score of each outcome, shape (t, c); lower is better.

    E|X - y| - E|X - X'| / 2, in the unit of the outcome: the absolute error if the belief is a point. It is exact for
    normal beliefs and finite supports. Other beliefs are replaced by equally likely quantiles, or by draws if they have
    no quantiles.
    """
    sr = _library()
    out = np.empty_like(outcomes)
    for row, belief, y in zip(out, beliefs, outcomes, strict=True):
        if belief.normal:
            mean, deviation = belief.mean(), np.sqrt(belief.variance())
            certain = deviation == 0.0
            with np.errstate(over="ignore"):  # far out, the density is zero
                scores = sr.crps_normal(y, mean, np.where(certain, 1.0, deviation))
            row[:] = np.where(certain, np.abs(y - mean), scores)
        else:
            points, weights = belief.support() or _quantiles(belief)
            row[:] = sr.crps_ensemble(y, points.T, ens_w=np.tile(weights, (len(y), 1)), estimator="nrg")
    return out


def fair_crps(beliefs: Sequence[Belief], outcomes: Array) -> Array:
    """Return the fair CRPS of each outcome, shape (t, c), which scores the distribution that members are drawn from.

    E|X - X'| is the mean over pairs of different members (Ferro 2014), so that ensembles of different sizes are
    comparable. Weighted and single members have no such score and get nan; other beliefs keep their CRPS.
    """
    sr = _library()
    out = crps(beliefs, outcomes)
    for row, belief, y in zip(out, beliefs, outcomes, strict=True):
        if belief.members is None or (finite := belief.support()) is None:
            continue
        points, weights = finite
        fair = len(points) > 1 and bool((weights == weights[0]).all())
        row[:] = sr.crps_ensemble(y, points.T, estimator="fair") if fair else np.nan
    return out


def pinball(values: Array, levels: Array, outcomes: Array) -> Array:
    """Return the pinball score of each quantile (t, q, c) at its level (q,), given outcomes (t, c); lower is better.

    (1{y <= value} - level) (value - y): twice its mean over all levels is the CRPS.
    """
    y = np.broadcast_to(outcomes[:, None, :], values.shape)
    return np.asarray(_library().quantile_score(y, values, np.broadcast_to(levels[:, None], values.shape)))


def interval(low: Array, high: Array, outcomes: Array, level: float) -> Array:
    """Return the interval score of central intervals of a nominal level, all arrays (t, c); lower is better.

    It is the width plus 2 / (1 - level) times the distance of the outcome outside the interval, which equals
    2 / (1 - level) times the sum of the pinball scores of the ends.
    """
    flat = _library().interval_score(outcomes.ravel(), low.ravel(), high.ravel(), 1.0 - level)
    return np.asarray(flat).reshape(outcomes.shape)


def brier(probabilities: Array, happened: NDArray[np.bool_]) -> Array:
    """Return the Brier score (probability - 1{happened})^2 of each forecast of an event, shape (t,)."""
    return np.asarray(_library().brier_score(happened.astype(np.float64), probabilities))


def energy(beliefs: Sequence[Belief], outcomes: Array) -> Array:
    """Return the energy score E||X - y|| - E||X - X'|| / 2 of each outcome over all dimensions, shape (t,).

    It is exact for finite supports; other beliefs are replaced by draws. Dimensions are not rescaled.
    """
    sr = _library()
    pairs = zip(outcomes, (belief.support() or belief.stand_in() for belief in beliefs), strict=True)
    return np.array([sr.es_ensemble(y, points, ens_w=weights) for y, (points, weights) in pairs])


def _quantiles(belief: Belief) -> tuple[Array, Array]:
    """Return equally likely quantiles of each coordinate, (n, c), with their weights (n,)."""
    try:
        points = belief.quantile((np.arange(STAND_IN_DRAWS) + 0.5) / STAND_IN_DRAWS)
    except NoClosedForm:
        return belief.stand_in()
    return points, np.full(STAND_IN_DRAWS, 1.0 / STAND_IN_DRAWS)


def _library() -> Any:
    try:
        import scoringrules  # type: ignore[import-untyped]
    except ImportError:
        install = "install it with pip install 'overcast[scores]'"
        raise ImportError(f"calibration: scores need scoringrules; {install}") from None
    return scoringrules
