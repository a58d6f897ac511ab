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
    if found.sure[i] and not found.errors[:, i].any():
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
    errors = found.errors[:, i]
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
    level = float(found.level[i])
    cover = f"nominal {_percent(level)} intervals cover {_percent(float(found.coverage(level)[i]))}"
    outside = found.outside
    if outside is None or found.sure[i]:
        return cover
    expected = _percent(1.0 - float(found.reaches[:, i].mean()))
    return f"{_percent(float(outside[i]))} of outcomes fall outside the ensemble, {expected} expected; {cover}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
