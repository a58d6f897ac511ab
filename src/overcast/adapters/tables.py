"""pandas DataFrames and Series: summaries, members in columns or rows, sktime's columns, or hubverse rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from overcast import _check
from overcast.adapters import columns, ensembles, hubverse, summaries
from overcast.adapters.forecasts import Forecasts, Options, is_from, quantiles, refuse, single
from overcast.beliefs import Belief, Ensemble, PointMass

#: columns of row numbers by pandas' reset_index and to_csv, and of identifiers of series
ROWS = frozenset(("index", "level_0", "Unnamed: 0", "id", "unique_id", "item_id", "series_id"))

#: names of an index of times
TIMES = frozenset(("ds", "date", "time", "datetime", "timestamp", "valid_time", "step", "horizon", "lead_time"))


def series(obj: Any, options: Options) -> Forecasts:
    """Return the forecasts in a pandas Series: a row of a table of forecasts, or a context known exactly."""
    labels, levels = list(obj.index), [str(name).lower() for name in obj.index.names]
    if set(levels) & (ensembles.IDS | {"number"}):  # one member in each entry
        return frame(obj.to_frame(name=obj.name if obj.name is not None else "value"), options)
    level = _summary_level(obj.index)
    if level is not None:
        _check_once(obj.index)
        return _with_hint(frame(obj.unstack(level), options), f"obj.unstack({level})")
    _check_shares(obj.index)
    if (
        columns.read_all(labels, options.names)
        or ensembles.member_columns(labels)
        or _are_tuples(labels)
        or _has_member_ids(labels)
    ):
        return frame(obj.to_frame().T.infer_objects(), options)
    if _has_times(obj.index) and len(labels) != options.dim:
        write = "write oc.as_beliefs(obj.to_frame()) for one context each, obj.to_numpy() for one context of them"
        raise refuse("obj must say whether its times are dimensions", f"{len(labels)} times", write)
    ensembles.check_percents(labels)
    ensembles.check_many(labels, options.dim, "obj")
    if any(isinstance(label, str) for label in labels):  # integers may be part of a longer vector
        ensembles.check_numbers(labels, options)
    return single(with_names(PointMass(obj.tolist() if obj.dtype.kind == "O" else obj.to_numpy()), labels))


def frame(obj: Any, options: Options) -> Forecasts:
    """Return the forecasts in a pandas DataFrame; plain rows are the members of one forecast."""
    forecasts = read_summary(obj, options)
    if forecasts is None and _has_times(obj.index):
        write = "write oc.as_beliefs(obj) for one context each, obj.to_numpy() for members"
        raise refuse("obj must say whether its times are members", f"{len(obj)} times", write)
    return (
        single(with_names(Ensemble(_check.table("as_belief", "obj", obj)), obj.columns))
        if forecasts is None
        else forecasts
    )


def rows(obj: Any, options: Options) -> Forecasts:
    """Return the forecasts in a pandas DataFrame; plain rows are contexts known exactly."""
    forecasts = read_summary(obj, options)
    if forecasts is not None:
        return forecasts
    table = _check.table("as_belief", "obj", obj)
    return Forecasts(len(table), lambda i: with_names(PointMass(table[i]), obj.columns))


def read_summary(obj: Any, options: Options) -> Forecasts | None:
    """Return the forecasts that the columns or the index describe, None for a table of plain numbers."""
    labels = list(obj.columns)
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise refuse("obj must have distinct columns", f"{twice!r} twice", "drop one of them")
    if set(labels) >= hubverse.COLUMNS:
        return hubverse.forecasts(obj, options)
    if getattr(obj.columns, "nlevels", 1) > 1:
        return _sktime(obj, labels)
    at = _summary_level(obj.index)
    if at is None:
        _check_shares(obj.index)
    else:
        _check_once(obj.index)
    if at is not None and len(labels) > 1:
        return _quantities(obj, labels, at)
    if at is not None:
        forecasts = read_summary(obj[labels[0]].unstack(at), options)
        return None if forecasts is None else _with_hint(forecasts, f"obj[{labels[0]!r}].unstack({at})")
    forecasts = summaries.forecasts(summaries.of_frame(obj), options)
    if forecasts is not None:
        return forecasts
    index = list(obj.index)
    if len(index) > 1 and all(isinstance(level, float) and 0.0 < level < 1.0 for level in index):
        if len(labels) > 1 and _are_times(obj.columns):
            must = "obj must have one forecast in each row"
            raise refuse(must, f"levels in its rows and {len(labels)} times in its columns", "write obj.T")
        return single(
            with_names(quantiles(index, _check.table("as_belief", "obj", obj)), labels)
        )  # of frame.quantile([...])
    if len(columns.read_all(index)) > 1:
        shown = ", ".join(str(label) for label in columns.read_all(index))
        raise refuse("obj must have a summary in its columns", f"{shown} in its rows", "write frame.T, and pick a row")
    if ensembles.has_member_columns(obj):
        return ensembles.side_by_side(obj, labels, {"": labels})
    wide = ensembles.member_columns(labels)
    if wide:
        return ensembles.side_by_side(obj, labels, wide)
    forecasts = ensembles.long_forecasts(obj)
    if forecasts is None:
        ensembles.check_numbers(labels, options)
        _check_rows(obj, labels, options)
    return forecasts


def with_names(belief: Belief, names: Iterable[Any]) -> Belief:
    """Return the belief with these names, if all are strings."""
    return ensembles.with_names(belief, list(names))


def _summary_level(index: Any) -> int | None:
    """Return which of an index's two levels holds the parts of a summary, such as quantiles below each date.

    None if there is no such level, or if the other one names variables, as in a row of sktime's.
    """
    if getattr(index, "nlevels", 1) != 2:
        return None
    names = [str(name).lower() for name in index.names]
    for at, other in ((1, 0), (0, 1)):
        parts, rest = list(index.unique(at)), list(index.unique(other))
        texts = any(isinstance(label, str) for label in rest)
        times = names[other] in columns.KEYS | ensembles.PLACES or names[at] in summaries.LONG
        if len(columns.read_all(parts)) == len(parts) > 1 and (times or not texts):
            return at
    return None


def _quantities(obj: Any, labels: list[Any], at: int) -> Forecasts:
    """Return one forecast for each date, of the quantities in the columns, from quantiles in the index."""
    if not all(isinstance(level, float) for level in obj.index.unique(at)):
        must = "obj must have one quantity, or levels such as 0.1 in its index"
        raise refuse(must, f"{len(labels)} columns", f"write obj[{labels[0]!r}] for one of them")
    wide = obj.unstack(at)
    return _with_hint(_sktime(wide, list(wide.columns)), f"obj.unstack({at})")


def _check_once(index: Any) -> None:
    """Raise ValueError if an index has duplicates."""
    if index.has_duplicates:
        twice = ", ".join(str(part) for part in index[index.duplicated()][0])
        write = "write obj[~obj.index.duplicated()] for the first of each"
        raise refuse("obj must have each level once below each date", f"{twice} twice", write)


def _check_shares(index: Any) -> None:
    """Raise ValueError if a level of an index is named after quantiles, but holds no readable ones."""
    if getattr(index, "nlevels", 1) < 2:
        return
    for name in index.names:
        if str(name).lower() in summaries.LONG:
            values = list(index.unique(name))
            if all(isinstance(value, (int, float)) for value in values) and max(values) > 1:
                write = f"write obj.rename(index=lambda q: q / 100, level={name!r}) for percents"
                raise refuse(f"levels under {name!r} must lie between 0 and 1", f"{max(values):g}", write)
            must = f"obj must have two levels or more under {name!r}, below one other key"
            raise refuse(must, _check.short(values), "write obj.to_numpy() for numbers without them")


def _are_times(index: Any) -> bool:
    """Return whether an index holds times, by its type or its name."""
    typed = getattr(index.dtype, "kind", "O") == "M" or is_from(index, "pandas", "PeriodIndex")
    return typed or str(index.name).lower() in TIMES or all(hasattr(label, "year") for label in index)


def _with_hint(forecasts: Forecasts, write: str) -> Forecasts:
    """Return the forecasts of an unstacked table, whose errors say how to take one out of the user's object."""
    return Forecasts(
        len(forecasts), forecasts.__getitem__, pick=f"pick one, such as {write}.iloc[[0]], or use as_beliefs"
    )


def _check_rows(obj: Any, labels: list[Any], options: Options) -> None:
    """Raise ValueError if a column of a plain table holds row numbers."""
    for label in labels:
        if str(label) in ROWS and label not in options.names and getattr(obj[label].dtype, "kind", "O") in "iu":
            write = f"write frame.drop(columns={label!r})"
            raise refuse("obj must have quantities in its columns", f"the number of a row in {label!r}", write)


def _has_times(index: Any) -> bool:
    """Return whether an index holds several times."""
    return len(index) > 1 and (getattr(index.dtype, "kind", "O") == "M" or is_from(index, "pandas", "PeriodIndex"))


def _has_member_ids(labels: list[Any]) -> bool:
    """Return whether a label is that of a column of member numbers."""
    return any(str(label).lower() in ensembles.IDS | {"number"} for label in labels)


def _are_tuples(labels: list[Any]) -> bool:
    return bool(labels) and all(isinstance(label, tuple) for label in labels)


def _sktime(obj: Any, labels: list[tuple[Any, ...]]) -> Forecasts:
    """Return forecasts of sktime and skpro: columns (variable, level) or (variable, coverage, "lower" or "upper")."""
    at: dict[Any, dict[float, int]] = {}
    for i, label in enumerate(labels):
        level = _sktime_level(label)
        at.setdefault(label[0], {})[level] = i
    levels = list(next(iter(at.values())))
    if any(set(columns_of) != set(levels) for columns_of in at.values()):
        raise refuse("obj must have the same levels of all variables", "others", "pick one variable: frame[['name']]")
    order = [[columns_of[level] for columns_of in at.values()] for level in levels]
    values = np.asarray(obj.to_numpy(dtype=np.float64))[:, order]  # (rows, levels, c)
    names = [str(name) for name in at] if all(isinstance(name, str) for name in at) else []
    return Forecasts(
        len(values),
        lambda i: with_names(quantiles(levels, values[i]), names) if names else quantiles(levels, values[i]),
        pick=summaries.PICK,
    )


def _sktime_level(label: tuple[Any, ...]) -> float:
    """Return the level of a quantile from the label of its column."""
    number = label[1] if len(label) > 1 and isinstance(label[1], (float, int, np.number)) else None
    if number is not None and len(label) == 2 and 0.0 < number < 1.0:
        return float(number)
    if number is not None and len(label) == 3 and label[2] in ("lower", "upper") and 0.0 < number < 1.0:
        return float((1.0 - number) / 2.0 if label[2] == "lower" else (1.0 + number) / 2.0)
    must = "obj must have columns (variable, level) or (variable, coverage, 'lower' or 'upper')"
    raise refuse(must, _check.short(label), "pick the columns of one forecast: frame['name']")
