"""Where a forecast is centred, and how large it says its own error will be."""

from __future__ import annotations

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Independent, NoClosedForm

#: effective members from which on an ensemble is a sample of what may happen; below, it is a distribution of its own
SAMPLE = 2.0
# Less spread than this, relative to the mean, is rounding: members that were meant to be the same number.
ROUNDING = 1e-12


def centre_and_spread(belief: Belief, owner: str = "Recalibrated") -> Array:
    """Return mean and expected size of the error of each dimension, shape (2, c).

    The size is the standard deviation, and for n members that are as good as draws of the truth's distribution that of
    the truth about their mean, sqrt((n + 1) / (n - 1)) times theirs: good ensembles need no correction.
    """
    if isinstance(belief, Independent):
        return np.concatenate([centre_and_spread(part, owner) for part in belief.beliefs], axis=1)
    try:
        mean, deviation = np.asarray(belief.mean()), np.sqrt(np.clip(belief.variance(), 0.0, None))
    except NoClosedForm:
        raise ValueError(f"{owner}: belief must have a mean and a variance, got {_check.short(belief)}") from None
    sure = deviation <= ROUNDING * np.abs(mean)
    if isinstance(belief, Ensemble):
        points, weights = belief.support()
        mean = np.where(sure, points[np.argmax(weights)], mean)  # the number itself: averaging it rounds
        n = members(belief)
        if n >= SAMPLE:
            deviation = deviation * np.sqrt((n + 1) / (n - 1))
    return np.stack([mean, np.where(sure, 0.0, deviation)])


def members(ensemble: Ensemble) -> float:
    """Return the number of members, the effective one 1 / sum of squares where they are weighted."""
    weights = ensemble.support()[1]
    return float(1.0 / (weights @ weights))
