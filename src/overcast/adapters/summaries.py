"""Tables with a summary of a forecast in each row: quantiles, intervals, or mean and standard error."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.adapters import columns, pairs
from overcast.adapters.forecasts import Forecasts, Options, coverage, quantiles, refuse
from overcast.adapters.pairs import Column
from overcast.beliefs import Belief, Gaussian

#: names of the columns of levels and of values in a long table of quantiles
LONG, VALUES = ("quantile", "quantiles", "quantile_level", "quantile_levels"), ("value", "prediction", "forecast")
_LEVELS = {"quantile", "percentile", "lo", "hi", "median"}
PICK = "pick one, such as frame.iloc[[0]], or use as_beliefs"
ADVICE = (
    "name them q0.1 and q0.9, lower and upper with level=, lower 80% and upper 80%, or mean and sd, as"
    " help(oc.as_belief) lists"
)


@dataclass(frozen=True)
class Table:
    """The columns of a pandas DataFrame or a dictionary.

    labels : the names of the columns
    numeric : the names of those that hold numbers
    column : returns the numbers of a column, (rows,)
    drop : returns how to leave a column out, for errors
    pick : how to take one row out, for errors
    write : how to make contexts of the rows, for errors
    plain : whether neither columns nor index hint at the source of the table
    """

    labels: list[Any]
    numeric: set[Any]
    column: Callable[[Any], Array]
    drop: Callable[[Any], str]
    pick: str
    write: str
    plain: bool = True


def of_frame(frame: Any) -> Table:
    """Return the columns of a pandas DataFrame."""

    def column(label: Any) -> Array:
        try:
            return np.asarray(frame[label].to_numpy(dtype=np.float64, na_value=np.nan))
        except (TypeError, ValueError):
            raise TypeError(f"as_belief: obj must have numbers in column {label!r}, got others") from None

    labels = list(frame.columns)
    numeric = {label for label, dtype in zip(labels, frame.dtypes, strict=True) if getattr(dtype, "kind", "O") in "fiu"}
    plain = frame.columns.name is None and not hasattr(frame.index, "freq")
    return Table(labels, numeric, column, lambda label: f"frame.drop(columns={label!r})", PICK, "obj.to_numpy()", plain)


def forecasts(table: Table, options: Options) -> Forecasts | None:
    """Return one forecast for each row of a table of summaries, None if no column is part of a summary."""
    roles = columns.read_all(table.labels, options.names)
    if not roles:
        return None
    _check_parameters(roles)
    roles = _of_model(table.labels, roles, options)
    _check_bounds(roles, options)
    kinds = {column.kind for column in roles.values()}
    if {"yhat lower", "yhat upper"} <= kinds:
        return _prophet(table, roles, options)
    if {"mean se", "pi lower"} & kinds:
        return _statsmodels(table, roles, options)
    if sum(column.kind in _LEVELS for column in roles.values()) >= 2:
        _check_rest(table, roles)
        return _levels(table, roles)
    if "mean" in kinds and {"sd", "variance"} & kinds:
        _check_rest(table, roles)
        spread = next(kind for kind in ("sd", "variance") if kind in kinds)
        mean, by = _numbers(table, roles, "mean"), _numbers(table, roles, spread)
        return _normal(table, mean, by if spread == "sd" else np.sqrt(by))
    if {"lower", "upper"} <= kinds:
        return _between(table, roles, options)
    shown = ", ".join(str(label) for label in roles)
    long = [label for label in roles if str(label).lower() in LONG]
    if long:
        raise refuse("obj must have its quantiles in columns", f"a column {shown}", _pivot(table, long[0]))
    advice = f"{_by_spread(roles)}{ADVICE}; {table.write} has members in its rows"
    raise refuse("obj must have quantiles, intervals, or mean and standard deviation", f"the columns {shown}", advice)


def _by_spread(roles: Mapping[Any, Column]) -> str:
    """Return advice to write a Gaussian if the columns are a centre and an ambiguous spread, else ""."""
    if len(roles) != 2 or {column.kind for column in roles.values()} != {"other"}:
        return ""
    spread = next((label for label in roles if pairs.is_vague(label)), None)
    if spread is None:
        return ""
    centre = next(label for label in roles if label != spread)
    return f"write oc.Gaussian(row[{centre!r}], sd=row[{spread!r}]) of each row for a standard deviation, or "


def _between(table: Table, roles: Mapping[Any, Column], options: Options) -> Forecasts:
    """Return forecasts from bounds whose coverage the user gives as `level`."""
    ends = [label for label, column in roles.items() if column.kind in ("lower", "upper")]
    example = f"level=0.8 if 80 % lie between them, or {table.write} if they are quantities"
    share = coverage(options, f"the columns {' and '.join(map(str, ends))}", example)
    _check_rest(table, roles)
    kinds = {column.kind for column in roles.values()}
    centre = next((kind for kind in ("median", "point", "mean", "yhat") if kind in kinds), None)
    middle = None if centre is None else _numbers(table, roles, centre)
    return _bounded(table, _numbers(table, roles, "lower"), middle, _numbers(table, roles, "upper"), share)


def _check_parameters(roles: Mapping[Any, Column]) -> None:
    """Raise ValueError if columns hold the parameters of a distribution."""
    parameters = [label for label, column in roles.items() if column.kind == "parameter"]
    if parameters:
        must, got = "obj must say of which distribution its parameters are", ", ".join(parameters)
        write = f"write {pairs.constructor_call(parameters)} of each row, or as your family is written"
        raise refuse(must, got, f"{write}, or rename quantities")


def _pivot(table: Table, label: Any) -> str:
    """Return advice to pivot a table with one quantile in each row to one forecast in each row."""
    values = [other for other in table.labels if other in table.numeric and other != label]
    keys = [other for other in table.labels if other != label and other not in values]
    value = next((other for other in values if str(other).lower() in VALUES), values[-1] if values else "value")
    index = keys + [other for other in values if other != value]
    if not index:
        return f"write frame.set_index({label!r})[[{value!r}]].T"
    return f"write frame.pivot(index={index!r}, columns={label!r}, values={value!r})"


def _check_bounds(roles: Mapping[Any, Column], options: Options) -> None:
    """Raise ValueError if bounds do not come in pairs; mark `level` as used if it is their coverage."""
    levels = {end: {column.level for column in roles.values() if column.kind == end} for end in ("lo", "hi")}
    plain = {end: [label for label, column in roles.items() if column.kind == end] for end in ("lower", "upper")}
    shown = ", ".join(str(label) for label, column in roles.items() if column.kind in ("lo", "hi", "lower", "upper"))
    if any(len(labels) > 1 for labels in plain.values()) or (any(plain.values()) and any(levels.values())):
        write = "keep those of one interval, frame[['lower a', 'upper a']] with yours"
        raise refuse("obj must have one lower and one upper bound that do not tell their level", shown, write)
    anonymous = [column for column in roles.values() if column.kind in ("lo", "hi") and not column.model]
    if anonymous and levels["lo"] != levels["hi"]:
        raise refuse("obj must have a lower and an upper bound at each level", shown, "write q0.1 for a quantile")
    if options.level is not None and levels["lo"] | levels["hi"] == {round(options.level, 9)}:
        options.used.add("level")


def _of_model(labels: list[Any], roles: dict[Any, Column], options: Options) -> dict[Any, Column]:
    """Return the roles of one model's columns, with its point forecast as the kind "point"."""
    models = list(dict.fromkeys(column.model for column in roles.values() if column.model))
    if options.model is not None and options.model not in models:
        known = f"one of {', '.join(models)}" if models else "None, as the columns do not tell models apart"
        raise ValueError(f"as_belief: model must be {known}, got {_check.short(options.model)}")
    if len(models) > 1 and options.model is None:
        write = f"write model={models[0]!r}"
        if models[0] not in labels or models[0] in roles:  # they may be quantities
            write += f", or {{{models[0]!r}: as_belief(obj, model={models[0]!r}), ...}} for one context of them"
        raise refuse("model must say which of several", f"{', '.join(models)}", write)
    options.used.add("model")
    model = options.model or (models[0] if models else "")
    out = {label: column for label, column in roles.items() if column.model == model}
    if model and model in labels and model not in out:
        out[model] = Column(model, "point")
    return out


def _check_rest(table: Table, roles: Mapping[Any, Column]) -> None:
    """Raise ValueError if a column of numbers is no part of the forecast."""
    labels = table.labels
    known, roles_of_all = {column.model for column in roles.values()}, columns.read_all(labels)
    for label in labels:
        part = label in roles or label in roles_of_all or str(label).lower() in columns.KEYS
        model = isinstance(label, str) and any(str(other).startswith(f"{label}-") for other in labels)
        if not part and not model and label in table.numeric and label not in known:
            raise refuse("obj must have columns of one forecast", f"also {label!r}", f"write {table.drop(label)}")


def _prophet(table: Table, roles: Mapping[Any, Column], options: Options) -> Forecasts:
    share = coverage(
        options, "Prophet's yhat_lower and yhat_upper", "level=0.8, the default of Prophet's interval_width"
    )
    return _interval(table, roles, share, "yhat")


def _statsmodels(table: Table, roles: Mapping[Any, Column], options: Options) -> Forecasts:
    kinds = {column.kind for column in roles.values()}
    if "mean" not in kinds:
        raise refuse("obj must have the column mean of statsmodels", f"{', '.join(map(str, roles))}", ADVICE)
    mean = _numbers(table, roles, "mean")
    if "pi lower" in kinds:
        share = coverage(options, "the columns pi_lower and pi_upper", "level=0.95 for alpha=0.05")
        return _interval(table, roles, share, "mean")
    se = _numbers(table, roles, "mean se")
    if "obs lower" not in kinds:
        if table.plain:  # a GLM's frame looks like this
            what = "mean_se is taken for the predictive standard error"
            warnings.warn(f"as_belief: {what}; that of a regression is of the mean alone", stacklevel=2)
        return _normal(table, mean, se)
    # The interval of the mean gives the factor from a standard error to a bound; that of observations shares it.
    factor = (_numbers(table, roles, "mean upper") - mean) / se
    return _normal(table, mean, (_numbers(table, roles, "obs upper") - mean) / factor)


def _interval(table: Table, roles: Mapping[Any, Column], share: float, centre: str) -> Forecasts:
    """Return forecasts from an interval, with the point forecast as the median if it lies inside."""
    kind = "pi" if centre == "mean" else centre
    low, high = (_numbers(table, roles, f"{kind} {end}") for end in ("lower", "upper"))
    has = any(column.kind == centre for column in roles.values())
    middle = _numbers(table, roles, centre) if has else None
    return _bounded(table, low, middle, high, share)


def _bounded(table: Table, low: Array, middle: Array | None, high: Array, share: float) -> Forecasts:
    """Return forecasts from bounds (rows,) that hold this share, and the median where `middle` lies between them."""
    ends = [(1.0 - share) / 2.0, (1.0 + share) / 2.0]

    def make(i: int) -> Belief:
        if middle is not None and low[i] <= middle[i] <= high[i]:
            return quantiles([ends[0], 0.5, ends[1]], [low[i], middle[i], high[i]])
        return quantiles(ends, [low[i], high[i]])

    return Forecasts(len(low), make, pick=table.pick)


def _levels(table: Table, roles: Mapping[Any, Column]) -> Forecasts:
    """Return forecasts from quantiles, and bounds of known coverage."""
    at: dict[float, Any] = {}
    for label, column in roles.items():
        if column.kind in _LEVELS:
            share = column.level or 0.0
            half = {"lo": (1.0 - share) / 2.0, "hi": (1.0 + share) / 2.0, "median": 0.5}.get(column.kind, share)
            at.setdefault(round(half, 9), label)
    point = next((label for label, column in roles.items() if column.kind == "point"), None)
    level = np.array(list(at))
    values = np.stack([table.column(label) for label in at.values()])  # (levels, rows)
    middle = None if point is None or (np.abs(level - 0.5) < 1e-6).any() else table.column(point)

    def make(i: int) -> Belief:
        if middle is not None and values[level < 0.5, i].max(initial=-np.inf) <= middle[i] <= values[
            level > 0.5, i
        ].min(initial=np.inf):
            return quantiles([*level, 0.5], [*values[:, i], middle[i]])
        return quantiles(level, values[:, i])

    return Forecasts(values.shape[1], make, pick=table.pick)


def _normal(table: Table, mean: Array, sd: Array) -> Forecasts:
    """Return normal forecasts from means and standard deviations (rows,)."""
    return Forecasts(len(mean), lambda i: Gaussian([mean[i]], sd=[sd[i]]), pick=table.pick)


def _numbers(table: Table, roles: Mapping[Any, Column], kind: str) -> Array:
    """Return the numbers of the column of this kind, (rows,)."""
    label = next((label for label, column in roles.items() if column.kind == kind), None)
    if label is None:
        raise refuse("obj must have all columns of its summary", f"none for the {kind}", ADVICE)
    return table.column(label)
