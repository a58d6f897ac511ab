"""Proper scores of beliefs, by the library scoringrules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from overcast._check import Array
from overcast.beliefs import Belief, Gaussian, Quantiles

#: draws of a belief that is neither normal nor a finite set of points; the energy score's cost grows with their square
DRAWS = 300


def crps(beliefs: Sequence[Belief], outcomes: Array) -> Array:
    """Return the continuous ranked probability score of each outcome, shape (t, c); lower is better.

    E|X - y| - E|X - X'| / 2, in the unit of the outcome: for a belief that is a point, the absolute error. Exact for
    normal beliefs and finite supports; by 300 draws or quantiles else.
    """
    sr = _library()
    out = np.empty_like(outcomes)
    for row, belief, y in zip(out, beliefs, outcomes, strict=True):
        if isinstance(belief, Gaussian):
            mean, deviation = belief.mean(), np.sqrt(belief.variance())
            certain = deviation == 0.0
            with np.errstate(over="ignore"):  # far out, the density is zero
                scores = sr.crps_normal(y, mean, np.where(certain, 1.0, deviation))
            row[:] = np.where(certain, np.abs(y - mean), scores)
        else:
            points, weights = _points(belief)
            row[:] = sr.crps_ensemble(y, points.T, ens_w=np.tile(weights, (len(y), 1)), estimator="nrg")
    return out


def energy(beliefs: Sequence[Belief], outcomes: Array) -> Array:
    """Return the energy score E||X - y|| - E||X - X'|| / 2 of each outcome, shape (t,), all dimensions together.

    Exact for finite supports; by 300 draws else. Dimensions count in their units.
    """
    sr = _library()
    out = np.empty(len(outcomes))
    for i, (belief, y) in enumerate(zip(beliefs, outcomes, strict=True)):
        points, weights = _points(belief)
        out[i] = sr.es_ensemble(y, points, ens_w=weights)
    return out


def _points(belief: Belief) -> tuple[Array, Array]:
    finite = belief.support()
    if finite is not None:
        return finite
    weights = np.full(DRAWS, 1.0 / DRAWS)
    if isinstance(belief, Quantiles) and belief.dim == 1:
        return np.interp((np.arange(DRAWS) + 0.5) / DRAWS, belief.levels, belief.values[:, 0])[:, None], weights
    return belief.sample(DRAWS, np.random.default_rng(0)), weights


def _library() -> Any:
    try:
        import scoringrules  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(
            "calibration: scores need scoringrules; install it with pip install 'overcast[experiments]'"
        ) from None
    return scoringrules
