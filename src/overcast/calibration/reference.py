"""Reference forecasts, climatology and persistence, and skill against them."""

from __future__ import annotations

import numpy as np

from overcast._check import Array


def climatology(outcomes: Array) -> Array:
    """Return the CRPS (t, c) of climatology: each outcome is forecast by the ensemble of all others.

    With n = t - 1, S_i the sum of |y_i - y_j| over j and T the sum of all S_i, it is S_i / n - (T - 2 S_i) / (2 n^2).
    """
    t = len(outcomes)
    if t < 2:
        return np.full_like(outcomes, np.nan)
    order = outcomes.argsort(axis=0)
    y = np.take_along_axis(outcomes, order, axis=0)
    below, rank = y.cumsum(axis=0), np.arange(1.0, t + 1.0)[:, None]
    distances = (2.0 * rank - t) * y + below[-1] - 2.0 * below
    total, n = distances.sum(axis=0), t - 1.0
    out = np.empty_like(outcomes)
    np.put_along_axis(out, order, distances / n - (total - 2.0 * distances) / (2.0 * n * n), axis=0)
    return out


def persistence(outcomes: Array) -> Array:
    """Return the CRPS (t, c) of persistence, the distance of each outcome from the one before; nan first."""
    out = np.full_like(outcomes, np.nan)
    out[1:] = np.abs(np.diff(outcomes, axis=0))
    return out


def skill(score: Array, reference: Array) -> Array:
    """Return 1 - mean score / mean reference (c,) over rows without nan: 1 is perfect, 0 equals the reference."""
    known = ~(np.isnan(score) | np.isnan(reference)).any(axis=1)
    if not known.any():
        return np.full(score.shape[1], np.nan)
    mine, theirs = score[known].mean(axis=0), reference[known].mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1.0 - mine / theirs)
