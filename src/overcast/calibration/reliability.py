"""Reliability of forecast probabilities of an event (Dimitriadis, Gneiting & Jordan 2021).

Isotonic regression estimates the frequency of an event at each forecast probability, as an increasing function and
without bins. With r the frequencies, p the probabilities, y the outcomes and b the Brier score,

    miscalibration = b(p, y) - b(r, y),  discrimination = b(mean y, y) - b(r, y),  uncertainty = b(mean y, y)

are never negative, and b(p, y) = miscalibration - discrimination + uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array

#: probability that the frequency lies within the band, at each forecast probability, if forecasts are calibrated
LEVEL = 0.9
# Number of simulated records of calibrated forecasts behind the band.
RESAMPLES = 200


@dataclass(frozen=True, eq=False)
class Reliability:
    """The reliability of t forecast probabilities of an event.

    text : description of the event
    probabilities, happened : (t,) the forecasts, and whether it happened
    values, frequencies, counts : (v,) the distinct probabilities, the event's frequency at each, and their counts
    low, high : (v,) the band of frequencies of calibrated forecasts

    Examples
    --------
    >>> import overcast as oc
    >>> forecasts = [oc.Gaussian([mean], sd=1.0) for mean in (-2.0, -1.0, 1.0, 2.0)]
    >>> event = oc.calibration.verify(forecasts, [-1.5, -2.0, 0.5, 3.0], ["temp"], event="temp < 0").event
    >>> event.probabilities.round(2), event.happened
    (array([0.98, 0.84, 0.16, 0.02]), array([ True,  True, False, False]))
    """

    text: str
    probabilities: Array
    happened: NDArray[np.bool_]
    values: Array
    frequencies: Array
    counts: NDArray[np.intp]
    low: Array
    high: Array

    @property
    def brier(self) -> float:
        """The mean Brier score; lower is better."""
        return float(np.mean((self.probabilities - self.happened) ** 2))

    @property
    def uncertainty(self) -> float:
        """The Brier score of the overall frequency as a constant forecast."""
        rate = float(self.happened.mean())
        return rate * (1.0 - rate)

    @property
    def miscalibration(self) -> float:
        """The score gained by replacing probabilities by the frequencies at them."""
        return self.brier - self._best

    @property
    def discrimination(self) -> float:
        """The score gained by these frequencies over a constant forecast."""
        return self.uncertainty - self._best

    @property
    def skill(self) -> float:
        """1 - score / uncertainty; nan if it happened always or never."""
        return 1.0 - self.brier / self.uncertainty if self.uncertainty > 0.0 else np.nan

    @property
    def _best(self) -> float:
        calibrated = self.frequencies[np.searchsorted(self.values, self.probabilities)]
        return float(np.mean((calibrated - self.happened) ** 2))


def reliability(text: str, probabilities: Array, happened: NDArray[np.bool_], seed: int = 0) -> Reliability:
    """Compare forecast probabilities (t,) with whether the event happened, (t,)."""
    from scipy.optimize import isotonic_regression  # here, since it takes longer to import than all the rest

    values, at, counts = np.unique(probabilities, return_inverse=True, return_counts=True)

    def rising(outcomes: Array) -> Array:
        means = np.bincount(at, weights=outcomes, minlength=len(values)) / counts
        return np.asarray(isotonic_regression(means, weights=counts.astype(float)).x)

    rng = np.random.default_rng(seed)
    drawn = np.stack([rising((rng.random(len(at)) < probabilities).astype(float)) for _ in range(RESAMPLES)])
    low, high = np.quantile(drawn, [0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL], axis=0)
    frequencies = rising(happened.astype(float))
    return Reliability(text, probabilities, happened, values, frequencies, counts, low, high)
