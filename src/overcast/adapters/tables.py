"""pandas DataFrames and Series: summaries, members side by side, sktime's columns, hubverse rows, or members by row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from overcast import _check
from overcast.adapters import columns, ensembles, hubverse, summaries
from overcast.adapters.forecasts import Ask, Forecasts, one, quantiles, refuse
from overcast.beliefs import Belief, Ensemble, PointMass


def series(obj: Any, ask: Ask) -> Forecasts:
    """Return the forecast of a pandas Series: a row of a table of forecasts, or a context known exactly."""
    labels = list(obj.index)
    if str(obj.index.name).lower() in ensembles.IDS | {"number"}:  # one member in each entry
        return frame(obj.to_frame(), ask)
    if columns.read_all(labels) or ensembles.wide(labels) or _levelled(labels) or _ids(labels):
        return frame(obj.to_frame().T.infer_objects(), ask)
    ensembles.check_percents(labels)
    if any(isinstance(label, str) for label in labels):  # whole numbers may be what is left of a longer vector
        ensembles.check_numbers(labels)
    return one(called(PointMass(obj.tolist() if obj.dtype.kind == "O" else obj.to_numpy()), labels))


def frame(obj: Any, ask: Ask) -> Forecasts:
    """Return the forecasts in a pandas DataFrame; plain rows are the members of one."""
    found = summarised(obj, ask)
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
    found = summaries.forecasts(obj, ask)
    if found is not None:
        return found
    index = list(obj.index)
    if len(index) > 1 and all(isinstance(level, float) and 0.0 < level < 1.0 for level in index):
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
        ensembles.check_numbers(labels)
    return found


def called(belief: Belief, names: Iterable[Any]) -> Belief:
    """Return the belief with these names, if all are strings."""
    return ensembles.named(belief, list(names))


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
