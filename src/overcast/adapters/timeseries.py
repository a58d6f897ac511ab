"""Forecast objects of GluonTS and Darts: one belief for each step ahead."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from overcast.adapters import columns
from overcast.adapters.forecasts import Forecasts, Options, is_from, members, quantiles, refuse
from overcast.beliefs import Belief, PointMass

#: components by Darts' predict_likelihood_parameters, other than quantiles
PARAMETER = re.compile(r".+_(?:mu|sigma|lambda|alpha|beta|gamma|xzero)")


def forecasts(obj: Any, options: Options) -> Forecasts | None:
    """Return one forecast for each step of a GluonTS or Darts object, None for other objects."""
    if is_from(obj, "gluonts", "SampleForecast"):
        return _members(np.asarray(obj.samples), [])
    if is_from(obj, "gluonts", "QuantileForecast"):
        return _gluonts_quantiles(obj)
    if is_from(obj, "gluonts", "Forecast"):
        raise refuse(
            "obj must be a forecast of samples or quantiles", type(obj).__name__, "write obj.to_sample_forecast()"
        )
    if is_from(obj, "darts", "TimeSeries"):
        return _darts(obj, options)
    return None


def _steps(n: int, make: Any) -> Forecasts:
    return Forecasts(n, make, "steps ahead", "pick a step of as_beliefs(obj), such as as_beliefs(obj)[0]")


def _members(samples: Any, names: list[str]) -> Forecasts:
    """Return one ensemble for each step; samples (n, steps) or (n, steps, c)."""
    cube = samples[:, :, None] if samples.ndim == 2 else samples

    def make(i: int) -> Belief:
        ensemble = members(cube[:, i])
        return ensemble.named(names) if names else ensemble

    return _steps(cube.shape[1], make)


def _gluonts_quantiles(obj: Any) -> Forecasts:
    """Return one forecast for each step of a GluonTS QuantileForecast."""
    keys = [str(key) for key in obj.forecast_keys]
    at = [i for i, key in enumerate(keys) if key != "mean"]
    values = np.asarray(getattr(obj, "forecast_array", getattr(obj, "forecast_arrays", None)), dtype=np.float64)[at]
    levels = [0.5 if keys[i] == "median" else float(keys[i].removeprefix("p")) for i in at]
    levels = [level / 100.0 if level > 1.0 else level for level in levels]
    return _steps(values.shape[1], lambda i: quantiles(levels, values[:, i]))


def _darts(obj: Any, options: Options) -> Forecasts:
    """Return the forecasts of a Darts series: members, quantiles in components such as load_q0.10, or points."""
    values = np.asarray(obj.all_values(copy=False), dtype=np.float64)  # (steps, components, samples)
    names = [str(name) for name in obj.components]
    if values.shape[2] > 1:
        return _members(values.transpose(2, 0, 1), names)
    parameters = [name for name in names if PARAMETER.fullmatch(name)]
    if parameters:  # of an unknown family
        write = "write model.predict(n, num_samples=500)"
        raise refuse("obj must have samples or quantiles", f"the parameters {', '.join(parameters)}", write)
    roles = columns.read_all(names)
    if not roles:
        return _steps(len(values), lambda i: PointMass(values[i, :, 0]).named(names))
    of: dict[str, dict[float, int]] = {}
    for i, name in enumerate(names):
        column = roles.get(name)
        if column is None or column.level is None or column.kind not in ("quantile", "percentile"):
            raise refuse("obj must have components of quantiles only", name, "pick them: series[['load_q0.1', ...]]")
        of.setdefault(column.model, {})[column.level] = i
    if options.model is not None and options.model in of:
        options.used.add("model")
        of = {options.model: of[options.model]}
    levels = list(next(iter(of.values())))
    if any(set(at_levels) != set(levels) for at_levels in of.values()):
        raise refuse("obj must have the same levels of all components", "others", "pick one component")
    order = [[at_levels[level] for at_levels in of.values()] for level in levels]

    def make(i: int) -> Belief:
        belief = quantiles(levels, values[i, :, 0][order])
        return belief.named(list(of)) if all(of) else belief

    return _steps(len(values), make)
