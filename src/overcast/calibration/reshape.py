"""Ensembles with corrected margins, in the order of the members (ensemble copula coupling, Schefzik et al. 2013)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from overcast._check import Array
from overcast.beliefs import Belief
from overcast.calibration.bounds import Range

#: smallest number of points; an ensemble of fewer members gets several for each member
POINTS = 50
#: up to so many members, the shape of an ensemble says less than past errors
FEW_MEMBERS = 200

Margin = tuple[float, float, Range]


def is_reshaped(belief: Belief, ranges: Sequence[Range]) -> bool:
    """Return whether the correction replaces the shape of a belief: it has bounds, or few members."""
    few = belief.members is not None and belief.members <= FEW_MEMBERS
    return few or any(not bounds.free for bounds in ranges)


def members(belief: Belief, margins: Sequence[Margin | None]) -> Array:
    """Return the points (n, c) of the corrected ensemble.

    Each dimension with a margin (mean, deviation, range) gets equally likely quantiles of the normal distribution,
    converted by its range, in the rank order of the members. Other dimensions keep their values.
    """
    finite = belief.support()
    if finite is None:
        points, weights = belief.sample(POINTS, np.random.default_rng(0)), np.full(POINTS, 1.0 / POINTS)
    else:
        seen = finite[1] > 0.0
        points, weights = finite[0][seen], finite[1][seen]
    copies = -(-POINTS // len(points))
    points, weights = np.repeat(points, copies, axis=0), np.repeat(weights / copies, copies)
    for i, margin in enumerate(margins):
        if margin is None:
            continue
        mean, deviation, bounds = margin
        # Ties are broken at random in each dimension, so that equal members create no dependence.
        order = np.lexsort((np.random.default_rng(i).permutation(len(points)), points[:, i]))
        total = weights[order].cumsum() - 0.5 * weights[order]
        nodes = ndtri(np.clip(total, 1e-12, 1.0 - 1e-12))
        nodes -= weights[order] @ nodes
        nodes /= np.sqrt(weights[order] @ nodes**2) or 1.0
        points[order, i] = bounds.outward(mean + deviation * nodes)
    return points
