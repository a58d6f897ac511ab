"""Intervals whose long-run coverage holds for any forecasts: adaptive conformal inference."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from overcast import _check
from overcast._check import Array
from overcast.adapters import as_belief
from overcast.beliefs import Quantiles

#: the default levels of the quantiles
LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
# A step is the share RATE of the largest of the last WINDOW errors.
RATE, WINDOW = 0.05, 100


class Conformal:
    """Quantiles of the outcome that move with each outcome: adaptive conformal inference by quantile tracking.

    The quantile of the level p lies at the forecast's mean plus an offset. After an outcome the offset moves up by
    step * p if the outcome lay above it, and down by step * (1 - p) if not (Angelopoulos et al. 2023). After n outcomes
    with steps of at least h, the share of outcomes below it differs from p by at most (b + h) / (h n) if no error
    exceeds b. Nothing is assumed about forecasts or outcomes, which may change or be adversarial. In return the
    intervals lag behind changes and ignore the spread that forecasts state; `Recalibrated` is sharper. A `Bandit` does
    not take it as `recalibrate`, but takes the quantiles that it returns as beliefs.

    Parameters
    ----------
    levels : increasing probabilities in (0, 1)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> safe, inside = Conformal([0.1, 0.9]), []
    >>> for day in range(1000):
    ...     forecast, outcome = rng.normal(), rng.normal(5.0 if day > 500 else 0.0, 2.0)  # it changes half-way
    ...     low, high = safe([forecast]).values[:, 0]
    ...     inside.append(low <= outcome <= high)
    ...     safe.learn([forecast], [outcome])
    >>> bool(0.75 < np.mean(inside) < 0.85)
    True
    """

    def __init__(self, levels: ArrayLike = LEVELS) -> None:
        #: (levels,) of the quantiles
        self.levels = _check.vector("Conformal", "levels", levels, "levels")
        if not (self.levels[0] > 0.0 and self.levels[-1] < 1.0 and (np.diff(self.levels) > 0.0).all()):
            got = _check.short(self.levels.tolist())
            raise ValueError(f"Conformal: levels must increase strictly between 0 and 1, got {got}")
        self._offsets: Array | None = None  # (levels, c)
        self._errors: list[Array] = []  # the latest ones, (c,) each

    def __call__(self, belief: Any) -> Quantiles:
        """Return corrected quantiles of a belief, or anything `as_belief` takes; as stated before the first outcome."""
        belief = as_belief(belief)
        if self._offsets is None:
            mean, spread = belief.stated_error()
            return Quantiles(self.levels, mean + np.multiply.outer(ndtri(self.levels), spread))
        self._check_dim(belief.dim)
        # Offsets of neighbouring levels may cross for a while; sorting does not reduce coverage.
        return Quantiles(self.levels, belief.mean() + np.sort(self._offsets, axis=0))

    def learn(self, belief: Any, context: ArrayLike) -> None:
        """Learn from an uncorrected forecast and its outcome (c,)."""
        belief = as_belief(belief)
        self._check_dim(belief.dim)
        error = _check.vector("Conformal", "context", context, belief.dim) - belief.mean()
        if self._offsets is None:
            self._offsets = self(belief).values - belief.mean()
        self._errors = [*self._errors[-(WINDOW - 1) :], error]
        step = RATE * np.abs(self._errors).max(axis=0)
        below = error <= self._offsets
        self._offsets = self._offsets + step * (self.levels[:, None] - below)

    def __repr__(self) -> str:
        return f"Conformal({len(self.levels)} levels, {'nothing' if self._offsets is None else 'offsets'} learnt)"

    def _check_dim(self, dim: int) -> None:
        """Raise ValueError unless this is the dimension of earlier outcomes."""
        if self._offsets is not None and dim != self._offsets.shape[1]:
            raise ValueError(f"Conformal: belief must have dimension {self._offsets.shape[1]}, got {dim}")
