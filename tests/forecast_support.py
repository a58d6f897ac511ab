"""Forecasts whose faults are known, for tests of calibration."""

from __future__ import annotations

import numpy as np

import overcast as oc
from overcast._check import Array
from overcast.calibration import Calibration, check


def normal(errors: float, bias: float = 0.0, t: int = 1000, seed: int = 0) -> Calibration:
    """Return the calibration of normal forecasts of spread 2 whose outcomes have `errors` times that about a bias."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(-5, 5, t)
    outcomes = rng.normal(means + bias, 2.0 * errors)
    return check([oc.Gaussian([m], 4.0) for m in means], outcomes, ["demand"])


def members(t: int, n: int, spread: float, seed: int = 0) -> tuple[Array, Array]:
    """Return ensembles (t, n, 1) whose members have `spread` times the deviation of the truth (t,) about the mean."""
    rng = np.random.default_rng(seed)
    centre = rng.uniform(0, 10, t)
    return rng.normal(centre[:, None, None], spread, (t, n, 1)), rng.normal(centre, 1.0)
