"""pandas DataFrames and Series: summaries, members side by side, sktime's columns, hubverse rows, or members by row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from overcast import _check
from overcast.adapters import columns, ensembles, hubverse, summaries
from overcast.adapters.forecasts import Ask, Forecasts, is_from, one, quantiles, refuse
from overcast.beliefs import Belief, Ensemble, PointMass

#: columns that number the rows of a table: of pandas' reset_index and to_csv, and of series in tables of forecasts
ROWS = frozenset(("index", "level_0", "Unnamed: 0", "id", "unique_id", "item_id", "series_id"))

#: names of an index of times
TIMES = frozenset(("ds", "date", "time", "datetime", "timestamp", "valid_time", "step", "horizon", "lead_time"))


def series(obj: Any, ask: Ask) -> Forecasts:
    """Return the forecast of a pandas Series: a row of a table of forecasts, or a context known exactly."""
    labels, levels = list(obj.index), [str(name).lower() for name in obj.index.names]
    if set(levels) & (ensembles.IDS | {"number"}):  # one member in each entry
        return frame(obj.to_frame(name=obj.name if obj.name is not None else "value"), ask)
    at = _stacked(obj.index)
    if at is not None:
        _check_once(obj.index)
        return _unstacked(frame(obj.unstack(at), ask), f"obj.unstack({at})")
    _check_shares(obj.index)
    if columns.read_all(labels, ask.names) or ensembles.wide(labels) or _levelled(labels) or _ids(labels):
        return frame(obj.to_frame().T.infer_objects(), ask)
    if _dated(obj.index) and len(labels) != ask.dim:
        write = "write oc.as_beliefs(obj.to_frame()) for one context each, obj.to_numpy() for one context of them"
        raise refuse("obj must say whether its times are dimensions", f"{len(labels)} times", write)
    ensembles.check_percents(labels)
    ensembles.check_many(labels, ask.dim, "obj")
    if any(isinstance(label, str) for label in labels):  # whole numbers may be what is left of a longer vector
        ensembles.check_numbers(labels, ask)
    return one(called(PointMass(obj.tolist() if obj.dtype.kind == "O" else obj.to_numpy()), labels))


def frame(obj: Any, ask: Ask) -> Forecasts:
    """Return the forecasts in a pandas DataFrame; plain rows are the members of one."""
    found = summarised(obj, ask)
    if found is None and _dated(obj.index):
        write = "write oc.as_beliefs(obj) for one context each, obj.to_numpy() for members"
        raise refuse("obj must say whether its times are members", f"{len(obj)} times", write)
    return one(called(Ensemble(_check.table("as_belief", "obj", obj)), obj.columns)) if found is None else found


def rows(obj: Any, ask: Ask) -> Forecasts:
    """Return the forecasts in a pandas DataFrame; plain rows are contexts known exactly."""
    found = summarised(obj, ask)
    if found is not None:
        return found
    table = _check.table("as_belief", "obj", obj)
    return Forecasts(len(table), lambda i: called(PointMass(table[i]), obj.columns))


def summarised(obj: Any, ask: Ask) -> Forecasts | None:
    """Return the forecasts that columns or levels in the index tell of, None for a table of plain numbers."""
    labels = list(obj.columns)
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise refuse("obj must have distinct columns", f"{twice!r} twice", "drop one of them")
    if set(labels) >= hubverse.COLUMNS:
        return hubverse.forecasts(obj, ask)
    if getattr(obj.columns, "nlevels", 1) > 1:
        return _sktime(obj, labels)
    at = _stacked(obj.index)
    if at is None:
        _check_shares(obj.index)
    else:
        _check_once(obj.index)
    if at is not None and len(labels) > 1:
        return _quantities(obj, labels, at)
    if at is not None:
        found = summarised(obj[labels[0]].unstack(at), ask)
        return None if found is None else _unstacked(found, f"obj[{labels[0]!r}].unstack({at})")
    found = summaries.forecasts(summaries.of_frame(obj), ask)
    if found is not None:
        return found
    index = list(obj.index)
    if len(index) > 1 and all(isinstance(level, float) and 0.0 < level < 1.0 for level in index):
        if len(labels) > 1 and _are_times(obj.columns):
            must = "obj must have one forecast in each row"
            raise refuse(must, f"levels in its rows and {len(labels)} times in its columns", "write obj.T")
        return one(called(quantiles(index, _check.table("as_belief", "obj", obj)), labels))  # of frame.quantile([...])
    if len(columns.read_all(index)) > 1:
        shown = ", ".join(str(label) for label in columns.read_all(index))
        raise refuse("obj must have a summary in its columns", f"{shown} in its rows", "write frame.T, and pick a row")
    if ensembles.numbered(obj):
        return ensembles.side_by_side(obj, labels, {"": labels})
    wide = ensembles.wide(labels)
    if wide:
        return ensembles.side_by_side(obj, labels, wide)
    found = ensembles.long(obj)
    if found is None:
        ensembles.check_numbers(labels, ask)
        _check_rows(obj, labels, ask)
    return found


def called(belief: Belief, names: Iterable[Any]) -> Belief:
    """Return the belief with these names, if all are strings."""
    return ensembles.named(belief, list(names))


def _stacked(index: Any) -> int | None:
    """Return which of two levels of an index holds the parts of a summary, such as quantiles below each date.

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
    """Return one forecast of several quantities, which stand in the columns, for each date above the quantiles."""
    if not all(isinstance(level, float) for level in obj.index.unique(at)):
        must = "obj must have one quantity, or levels such as 0.1 in its index"
        raise refuse(must, f"{len(labels)} columns", f"write obj[{labels[0]!r}] for one of them")
    wide = obj.unstack(at)
    return _unstacked(_sktime(wide, list(wide.columns)), f"obj.unstack({at})")


def _check_once(index: Any) -> None:
    """Raise ValueError if an entry of an index comes twice."""
    if index.has_duplicates:
        twice = ", ".join(str(part) for part in index[index.duplicated()][0])
        write = "write obj[~obj.index.duplicated()] for the first of each"
        raise refuse("obj must have each level once below each date", f"{twice} twice", write)


def _check_shares(index: Any) -> None:
    """Raise ValueError if a level of an index is said to hold quantiles, and they cannot be read."""
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


def _unstacked(found: Forecasts, write: str) -> Forecasts:
    """Return the forecasts of a table, with how one is taken out of the object that it was made of."""
    return Forecasts(len(found), found.__getitem__, pick=f"pick one, such as {write}.iloc[[0]], or use as_beliefs")


def _check_rows(obj: Any, labels: list[Any], ask: Ask) -> None:
    """Raise ValueError if a column of a plain table numbers its rows."""
    for label in labels:
        if str(label) in ROWS and label not in ask.names and getattr(obj[label].dtype, "kind", "O") in "iu":
            write = f"write frame.drop(columns={label!r})"
            raise refuse("obj must have quantities in its columns", f"the number of a row in {label!r}", write)


def _dated(index: Any) -> bool:
    """Return whether an index holds several times."""
    return len(index) > 1 and (getattr(index.dtype, "kind", "O") == "M" or is_from(index, "pandas", "PeriodIndex"))


def _ids(labels: list[Any]) -> bool:
    return any(str(label).lower() in ensembles.IDS | {"number"} for label in labels)


def _levelled(labels: list[Any]) -> bool:
    return bool(labels) and all(isinstance(label, tuple) for label in labels)


def _sktime(obj: Any, labels: list[tuple[Any, ...]]) -> Forecasts:
    """Return forecasts of sktime and skpro: columns (variable, level) or (variable, coverage, "lower" or "upper")."""
    at: dict[Any, dict[float, int]] = {}
    for i, label in enumerate(labels):
        level = _sktime_level(label)
        at.setdefault(label[0], {})[level] = i
    levels = list(next(iter(at.values())))
    if any(set(own) != set(levels) for own in at.values()):
        raise refuse("obj must have the same levels of all variables", "others", "pick one variable: frame[['name']]")
    order = [[own[level] for own in at.values()] for level in levels]
    values = np.asarray(obj.to_numpy(dtype=np.float64))[:, order]  # (rows, levels, c)
    names = [str(name) for name in at] if all(isinstance(name, str) for name in at) else []
    return Forecasts(
        len(values),
        lambda i: called(quantiles(levels, values[i]), names) if names else quantiles(levels, values[i]),
        pick=summaries.PICK,
    )


def _sktime_level(label: tuple[Any, ...]) -> float:
    number = label[1] if len(label) > 1 and isinstance(label[1], (float, int, np.number)) else None
    if number is not None and len(label) == 2 and 0.0 < number < 1.0:
        return float(number)
    if number is not None and len(label) == 3 and label[2] in ("lower", "upper") and 0.0 < number < 1.0:
        return float((1.0 - number) / 2.0 if label[2] == "lower" else (1.0 + number) / 2.0)
    must = "obj must have columns (variable, level) or (variable, coverage, 'lower' or 'upper')"
    raise refuse(must, _check.short(label), "pick the columns of one forecast: frame['name']")
