"""Proper scores of beliefs, by the library scoringrules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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


def energy(beliefs: Sequence[Belief], outcomes: Array) -> Array:
    """Return the energy score E||X - y|| - E||X - X'|| / 2 of each outcome, shape (t,), all dimensions together.

    It is exact for finite supports; other beliefs are replaced by draws. Dimensions count in their units.
    """
    sr = _library()
    both = zip(outcomes, (belief.support() or belief.stand_in() for belief in beliefs), strict=True)
    return np.array([sr.es_ensemble(y, points, ens_w=weights) for y, (points, weights) in both])


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
