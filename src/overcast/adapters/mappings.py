"""Dictionaries: contexts by name, the JSON form of beliefs, Open-Meteo's ensembles, Prophet's predictive samples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.adapters import columns, ensembles
from overcast.adapters.convert import read
from overcast.adapters.forecasts import Forecasts, Options, members, refuse, single
from overcast.adapters.summaries import Table
from overcast.adapters.summaries import forecasts as summary_forecasts
from overcast.beliefs import Belief, Independent, PointMass, belief_from_json

#: keys of Open-Meteo's answers that hold time series
SERIES = ("hourly", "daily", "minutely_15", "six_hourly", "three_hourly", "weekly", "monthly")
#: Open-Meteo's names of members; with several models each name ends with the model's
MEMBER = re.compile(r"(?P<name>.+?)_member(?P<n>\d+)(?:_(?P<model>.+))?")


def forecasts(obj: Mapping[Any, Any], options: Options) -> Forecasts:
    """Return the forecasts in a dictionary."""
    if "type" in obj or not obj:
        return single(belief_from_json(obj))
    series = [key for key in SERIES if isinstance(obj.get(key), Mapping) and "time" in obj[key]]
    if len(series) > 1:
        raise refuse(
            "obj must have series of one kind",
            ", ".join(series),
            f"write as_beliefs({{{series[0]!r}: obj[{series[0]!r}]}})",
        )
    if series:
        return _open_meteo(obj[series[0]], options)
    if np.ndim(obj.get("yhat", 0.0)) == 2:
        return _prophet(obj)
    summary = columns.read_all(list(obj), options.names)
    if summary:
        return _summary(obj, list(summary), options)
    return single(_by_name(obj, options))


def _summary(obj: Mapping[Any, Any], parts: list[Any], options: Options) -> Forecasts:
    """Return the forecasts of a dictionary whose numbers or arrays are the columns of a summary, one for each row."""
    numbers: dict[Any, Array] = {}
    for key, value in obj.items():
        if isinstance(value, (Mapping, Belief)):
            write = "write pd.DataFrame(obj), or other names for quantities"
            must = "obj must have numbers or arrays in the columns of its summary"
            raise refuse(must, f"{type(value).__name__} under {key!r}", write)
        column = np.asarray(value)
        if column.dtype.kind in "fiub":
            numbers[key] = column.astype(np.float64)
            if column.ndim > 1:
                write = "write a dictionary of such arrays for each quantity: {'wind': {0.1: ..., 0.9: ...}}"
                raise refuse(f"obj[{key!r}] must hold one number for each forecast", f"{column.shape}", write)
        elif key in parts:
            raise TypeError(f"as_belief: obj must have numbers under {key!r}, got {_check.short(value)}")
    sizes = {key: len(column) for key, column in numbers.items() if column.ndim}
    if len(set(sizes.values())) > 1:
        raise refuse("obj must have arrays of one length", f"{sizes}", "leave out what is no part of the forecast")
    n = next(iter(sizes.values()), 1)

    def without(label: Any) -> str:
        parts_only = f"{{key: obj[key] for key in {parts!r}}}"
        return f"{parts_only}, or {{'name': {parts_only}, {label!r}: obj[{label!r}]}} for one context of both"

    pick = "pick a row of as_beliefs(obj), such as as_beliefs(obj)[0]"
    if sizes and {column.kind for column in columns.read_all(parts).values()} == {"mean", "sd"}:
        mean, sd = sorted(parts, key=lambda label: columns.read_all(parts)[label].kind)
        pick += f", or write oc.Gaussian(obj[{mean!r}], sd=obj[{sd!r}]) for one context of {n} dimensions"
    table = Table(
        list(obj), set(numbers), lambda label: np.broadcast_to(numbers[label], n), without, pick, "list(obj.values())"
    )
    forecasts = summary_forecasts(table, options)
    assert forecasts is not None  # some of its columns are those of a summary
    return forecasts


def _by_name(obj: Mapping[Any, Any], options: Options) -> Belief:
    """Return the belief of a dictionary from names of dimensions to numbers, or to forecasts of one quantity each."""
    if len(obj) > 1 and all(isinstance(key, int) and 0 < key < 100 for key in obj):
        write = "write {key / 100: value for key, value in obj.items()} for percents"
        raise refuse("obj must have names or levels between 0 and 1 as keys", ", ".join(map(str, obj)), write)
    members = [label for labels in ensembles.member_columns(list(obj)).values() for label in labels]
    if members and all(hasattr(obj[label], "__float__") for label in members):
        shown = ", ".join(members[:3])
        raise refuse("obj must map names of dimensions to numbers", f"the members {shown}", "write pd.Series(obj)")
    names, parts = _check.distinct_names("as_belief", "obj", obj), []
    for name, value in obj.items():
        number = isinstance(value, str) or (hasattr(value, "__float__") and not getattr(value, "ndim", 0))
        if isinstance(value, (Sequence, np.ndarray)) and not number:
            must = 'map names to numbers or forecasts of one quantity each, or have the "type" of a belief'
            write = "pd.DataFrame(obj) has members in its rows"
            raise TypeError(f"as_belief: obj must {must}, got {_check.short(value)} under {name!r}; {write}")
        part = PointMass(_check.number("as_belief", f"obj[{name!r}]", value)) if number else read(value, options)
        if part.dim != 1:
            write = "give each a name; samples of one quantity are oc.Ensemble(x[:, None])"
            raise refuse(f"obj[{name!r}] must be about one quantity", f"{part.dim}", write)
        parts.append(part.named(name))
    if all(isinstance(part, PointMass) for part in parts):
        return PointMass(np.concatenate([part.mean() for part in parts])).named(names)
    return Independent(parts)


def _prophet(obj: Mapping[Any, Any]) -> Forecasts:
    """Return one forecast for each row of Prophet's samples, whose columns are draws."""
    draws = np.asarray(obj["yhat"], dtype=np.float64)
    pick = "pick a row, such as oc.Ensemble(samples['yhat'][0][:, None]), or use as_beliefs"
    return Forecasts(len(draws), lambda i: members(draws[i][:, None]), pick=pick)


def _open_meteo(series: Mapping[str, Any], options: Options) -> Forecasts:
    """Return one ensemble for each time, with one dimension per variable; the control run is a member."""
    matches = {name: MEMBER.fullmatch(name) for name in series}
    models = list(dict.fromkeys(match["model"] for match in matches.values() if match and match["model"]))
    if not any(matches.values()):
        raise refuse("obj must have the members of an ensemble", "none", "ask Open-Meteo's ensemble API")
    options.used.add("model")
    if options.model is not None and options.model not in models:
        known = f"one of {', '.join(models)}" if models else "None, as there is one model"
        raise ValueError(f"as_belief: model must be {known}, got {_check.short(options.model)}")
    if len(models) > 1 and options.model is None:
        raise refuse("model must say which of several", ", ".join(models), f"write model={models[0]!r}")
    model = options.model or (models[0] if models else None)
    members_of: dict[str, list[str]] = {}
    for name, match in matches.items():
        if match and match["model"] == model:
            members_of.setdefault(match["name"], []).append(name)
    for name, keys in members_of.items():
        control = name if model is None else f"{name}_{model}"
        if control in series:
            keys.insert(0, control)
    sizes = {name: len(keys) for name, keys in members_of.items()}
    if len(set(sizes.values())) > 1:
        raise refuse("obj must have the same members of all variables", f"{sizes}", "ask for them together")
    cube = np.array([[series[key] for key in keys] for keys in members_of.values()], dtype=np.float64)  # (c, n, times)
    pick = "pick a time of as_beliefs(obj), such as as_beliefs(obj)[0]"
    return Forecasts(cube.shape[2], lambda i: members(cube[:, :, i].T).named(list(members_of)), "times", pick)
