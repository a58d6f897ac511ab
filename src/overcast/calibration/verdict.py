"""What is wrong with forecasts, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from overcast.calibration.check import Calibration

#: the probability with which forecasts that are right are not said to look right
FALSE_ALARM = 0.01
#: outcomes below which nothing is said; with as many, errors half as large again as forecast show in four of five cases
ENOUGH = 50
# Factors nearer to one than this go without saying: other things are wrong.
NEAR = 1.1


def sentence(found: Calibration, i: int) -> str:
    """Return what is to be said about dimension `i`."""
    name, t = found.names[i], len(found)
    spread, errors = found.notes[:, 1, i], found.outcomes[:, i] - found.notes[:, 0, i]
    if not spread.any() and not errors.any():
        return f"{name}: a constant, known exactly."
    if t < ENOUGH:
        return f"{name}: {t} outcomes are too few to judge by; come back with {ENOUGH} or more."
    p = float(found.p_values[i])
    if p >= FALSE_ALARM:
        return (
            f"{name}: your forecasts look right: {_evidence(found, i)} (p = {p:.2f}, "
            f"a test with a false-alarm probability of {_percent(FALSE_ALARM)})."
        )
    faults = [*_bias(found, i), *_spread(float(found.factor[i]))]
    said = " and ".join(faults) if faults else "of the wrong shape, though their mean and spread are about right"
    return f"{name}: your forecasts are {said}: {_evidence(found, i)}."


def _bias(found: Calibration, i: int) -> list[str]:
    bias = float(found.bias[i])
    errors = found.outcomes[:, i] - found.notes[:, 0, i]
    if abs(bias) <= 2.0 * errors.std() / np.sqrt(len(errors)):
        return []
    return [f"too {'low' if bias > 0 else 'high'} by {abs(bias):.2g}"]


def _spread(factor: float) -> list[str]:
    if 1.0 / NEAR < factor < NEAR:
        return []
    if factor == np.inf:
        return ["over-confident: too often they leave no room for error"]
    if factor == 0.0:
        return ["under-confident: hardly any error occurs"]
    return [f"{'over' if factor > 1 else 'under'}-confident by a factor {max(factor, 1 / factor):.1f}"]


def _evidence(found: Calibration, i: int) -> str:
    cover = f"nominal 80 % intervals cover {_percent(float(found.coverage(0.8)[i]))}"
    outside = found.outside
    if outside is None:
        return cover
    expected = "" if found.members is None else f", {_percent(2.0 / (found.members + 1))} expected"
    return f"{_percent(float(outside[i]))} of outcomes fall outside the ensemble{expected}; {cover}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
