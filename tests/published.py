"""Levels that forecasters publish, and the spread of beliefs made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats

from overcast.beliefs import Quantiles

#: levels that forecasters publish
PUBLISHED: dict[str, list[float]] = {
    "q10, q50, q90, or an 80 % interval with a median": [0.1, 0.5, 0.9],
    "deciles": [i / 10 for i in range(1, 10)],
    "99 % interval with a median": [0.005, 0.5, 0.995],
    "95 % interval with a median": [0.025, 0.5, 0.975],
    "90 % interval with a median": [0.05, 0.5, 0.95],
    "80 and 95 % intervals with a median": [0.025, 0.1, 0.5, 0.9, 0.975],
    "80 % interval": [0.1, 0.9],
    "hubverse, 7 levels": [0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975],
    "hubverse, 9 levels": [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99],
    "hubverse, 23 levels": [0.01, 0.025, *(i / 20 for i in range(1, 20)), 0.975, 0.99],
    "percentiles": [i / 100 for i in range(1, 100)],
}

#: true distributions
LAWS: dict[str, Any] = {"normal": scipy.stats.norm(), "gamma(2)": scipy.stats.gamma(2.0), "t(5)": scipy.stats.t(5)}


def spread(name: str, law: str) -> float:
    """Return the standard deviation of the belief of a published set, divided by that of the truth."""
    levels, truth = PUBLISHED[name], LAWS[law]
    return float(np.sqrt(Quantiles(levels, truth.ppf(levels)).variance()[0]) / truth.std())
