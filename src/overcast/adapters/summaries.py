"""Rows that summarise a forecast: quantiles, intervals, mean and standard error, as forecasting tools tabulate them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.adapters import columns
from overcast.adapters.columns import Column
from overcast.adapters.forecasts import Ask, Forecasts, coverage, quantiles, refuse
from overcast.beliefs import Belief, Gaussian

_LEVELS = {"quantile", "percentile", "lo", "hi", "median"}
PICK = "pick one, such as frame.iloc[[0]], or use as_beliefs"
ADVICE = (
    "name them q0.1 and q0.9, lower and upper with level=, lower 80% and upper 80%, or mean and sd, as"
    " help(oc.as_belief) lists; frame.to_numpy() has members in its rows"
)


def forecasts(frame: Any, ask: Ask) -> Forecasts | None:
    """Return one forecast for each row of a pandas DataFrame of summaries, None if no column looks like one."""
    labels = list(frame.columns)
    found = columns.read_all(labels)
    if not found:
        return None
    found = _of_model(labels, found, ask)
    _check_bounds(found, ask)
    kinds = {column.kind for column in found.values()}
    if {"yhat lower", "yhat upper"} <= kinds:
        return _prophet(frame, found, ask)
    if {"mean se", "pi lower"} & kinds:
        return _statsmodels(frame, found, ask)
    if sum(column.kind in _LEVELS for column in found.values()) >= 2:
        _check_rest(frame, labels, found)
        return _levels(frame, found)
    if "mean" in kinds and {"sd", "variance"} & kinds:
        _check_rest(frame, labels, found)
        spread = next(kind for kind in ("sd", "variance") if kind in kinds)
        mean, by = _numbers(frame, found, "mean"), _numbers(frame, found, spread)
        return _normal(mean, by if spread == "sd" else np.sqrt(by))
    if {"lower", "upper"} <= kinds:
        _check_rest(frame, labels, found)
        share = coverage(ask, "the columns lower and upper", "level=0.95 for an interval that holds 95 %")
        return _bounded(_numbers(frame, found, "lower"), None, _numbers(frame, found, "upper"), share)
    shown = ", ".join(str(label) for label in found)
    raise refuse("obj must have quantiles, intervals, or mean and standard deviation", f"the columns {shown}", ADVICE)


def _check_bounds(found: Mapping[Any, Column], ask: Ask) -> None:
    """Raise ValueError if bounds do not come in pairs, or if `level` says otherwise than they do."""
    told = {end: {column.level for column in found.values() if column.kind == end} for end in ("lo", "hi")}
    plain = {end: [label for label, column in found.items() if column.kind == end] for end in ("lower", "upper")}
    shown = ", ".join(str(label) for label, column in found.items() if column.kind in ("lo", "hi", "lower", "upper"))
    if any(len(labels) > 1 for labels in plain.values()) or (any(plain.values()) and any(told.values())):
        write = "keep those of one interval, frame[['lower a', 'upper a']] with yours"
        raise refuse("obj must have one lower and one upper bound that do not tell their level", shown, write)
    own = [column for column in found.values() if column.kind in ("lo", "hi") and not column.model]
    if own and told["lo"] != told["hi"]:
        raise refuse("obj must have a lower and an upper bound at each level", shown, "write q0.1 for a quantile")
    if ask.level is not None and told["lo"] | told["hi"] == {round(ask.level, 9)}:
        ask.used.add("level")


def _of_model(labels: list[Any], found: dict[Any, Column], ask: Ask) -> dict[Any, Column]:
    """Return the columns of one model, and its point forecast as the kind "point"."""
    models = list(dict.fromkeys(column.model for column in found.values() if column.model))
    if ask.model is not None and ask.model not in models:
        known = f"one of {', '.join(models)}" if models else "None, as the columns do not tell models apart"
        raise ValueError(f"as_belief: model must be {known}, got {_check.short(ask.model)}")
    if len(models) > 1 and ask.model is None:
        write = f"write model={models[0]!r}"
        if models[0] not in labels or models[0] in found:  # they may be quantities
            write += f", or {{{models[0]!r}: as_belief(obj, model={models[0]!r}), ...}} for one context of them"
        raise refuse("model must say which of several", f"{', '.join(models)}", write)
    ask.used.add("model")
    model = ask.model or (models[0] if models else "")
    out = {label: column for label, column in found.items() if column.model == model}
    if model and model in labels and model not in out:
        out[model] = Column(model, "point")
    return out


def _check_rest(frame: Any, labels: list[Any], found: Mapping[Any, Column]) -> None:
    """Raise ValueError if there are columns of numbers that are no part of the forecast."""
    known, told = {column.model for column in found.values()}, columns.read_all(labels)
    for label, dtype in zip(labels, frame.dtypes, strict=True):
        part = label in found or label in told or str(label).lower() in columns.KEYS
        model = isinstance(label, str) and any(str(other).startswith(f"{label}-") for other in labels)
        if not part and not model and getattr(dtype, "kind", "O") in "fiu" and label not in known:
            raise refuse(
                "obj must have columns of one forecast", f"also {label!r}", f"write frame.drop(columns={label!r})"
            )


def _prophet(frame: Any, found: Mapping[Any, Column], ask: Ask) -> Forecasts:
    share = coverage(ask, "Prophet's yhat_lower and yhat_upper", "level=0.8, the default of Prophet's interval_width")
    return _interval(frame, found, share, "yhat")


def _statsmodels(frame: Any, found: Mapping[Any, Column], ask: Ask) -> Forecasts:
    kinds = {column.kind for column in found.values()}
    if "mean" not in kinds:
        raise refuse("obj must have the column mean of statsmodels", f"{', '.join(map(str, found))}", ADVICE)
    mean = _numbers(frame, found, "mean")
    if "pi lower" in kinds:
        share = coverage(ask, "the columns pi_lower and pi_upper", "level=0.95 for alpha=0.05")
        return _interval(frame, found, share, "mean")
    se = _numbers(frame, found, "mean se")
    if "obs lower" not in kinds:
        if frame.columns.name is None and not hasattr(frame.index, "freq"):  # a GLM's frame looks like this
            what = "mean_se is taken for the predictive standard error"
            warnings.warn(f"as_belief: {what}; that of a regression is of the mean alone", stacklevel=2)
        return _normal(mean, se)
    # The interval of the mean tells the factor from a standard error to a bound, which that of observations shares.
    factor = (_numbers(frame, found, "mean upper") - mean) / se
    return _normal(mean, (_numbers(frame, found, "obs upper") - mean) / factor)


def _interval(frame: Any, found: Mapping[Any, Column], share: float, centre: str) -> Forecasts:
    """Return quantiles at both ends of an interval, and the point forecast as the median if it lies between them."""
    kind = "pi" if centre == "mean" else centre
    low, high = (_numbers(frame, found, f"{kind} {end}") for end in ("lower", "upper"))
    has = any(column.kind == centre for column in found.values())
    middle = _numbers(frame, found, centre) if has else None
    return _bounded(low, middle, high, share)


def _bounded(low: Array, middle: Array | None, high: Array, share: float) -> Forecasts:
    ends = [(1.0 - share) / 2.0, (1.0 + share) / 2.0]

    def make(i: int) -> Belief:
        if middle is not None and low[i] <= middle[i] <= high[i]:
            return quantiles([ends[0], 0.5, ends[1]], [low[i], middle[i], high[i]])
        return quantiles(ends, [low[i], high[i]])

    return Forecasts(len(low), make, pick=PICK)


def _levels(frame: Any, found: Mapping[Any, Column]) -> Forecasts:
    at: dict[float, Any] = {}
    for label, column in found.items():
        if column.kind in _LEVELS:
            share = column.level or 0.0
            half = {"lo": (1.0 - share) / 2.0, "hi": (1.0 + share) / 2.0, "median": 0.5}.get(column.kind, share)
            at.setdefault(round(half, 9), label)
    point = next((label for label, column in found.items() if column.kind == "point"), None)
    level = np.array(list(at))
    values = np.stack([_column(frame, label) for label in at.values()])  # (levels, rows)
    middle = None if point is None or (np.abs(level - 0.5) < 1e-6).any() else _column(frame, point)

    def make(i: int) -> Belief:
        if middle is not None and values[level < 0.5, i].max(initial=-np.inf) <= middle[i] <= values[
            level > 0.5, i
        ].min(initial=np.inf):
            return quantiles([*level, 0.5], [*values[:, i], middle[i]])
        return quantiles(level, values[:, i])

    return Forecasts(values.shape[1], make, pick=PICK)


def _normal(mean: Array, sd: Array) -> Forecasts:
    return Forecasts(len(mean), lambda i: Gaussian([mean[i]], sd=[sd[i]]), pick=PICK)


def _numbers(frame: Any, found: Mapping[Any, Column], kind: str) -> Array:
    """Return the column of a kind, (rows,)."""
    label = next((label for label, column in found.items() if column.kind == kind), None)
    if label is None:
        raise refuse("obj must have all columns of its summary", f"none for the {kind}", ADVICE)
    return _column(frame, label)


def _column(frame: Any, label: Any) -> Array:
    try:
        return np.asarray(frame[label].to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        raise TypeError(f"as_belief: obj must have numbers in column {label!r}, got others") from None
