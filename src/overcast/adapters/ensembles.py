"""Ensemble members in tables: one per numbered column, or one per row with a column of member numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from overcast import _check
from overcast.adapters import columns
from overcast.adapters.forecasts import Forecasts, Options, members, refuse
from overcast.adapters.summaries import PICK
from overcast.beliefs import Belief

#: columns with one member each: temperature_2m_member01, member_3, ens12
MEMBER = re.compile(
    r"(?:(?P<name>.+?)[_\-. ])?"
    r"(?:member|mem|ens|ensemble|realization|realisation|perturbation|sample|draw|boot)[_\-. ]?(?P<n>\d+)",
    re.IGNORECASE,
)
#: the same for numbers without gaps from 0 or 1: m1 or rain_m1, and tempfc.1
CONSECUTIVE = (
    re.compile(r"(?:(?P<name>.+?)[_\-. ])?m[_\-. ]?(?P<n>\d+)", re.IGNORECASE),
    re.compile(r"(?P<name>.*[^_\-. ])fc\.?(?P<n>\d+)", re.IGNORECASE),
)
#: any other column that has a number
NUMBERED = re.compile(r"(?P<name>.*?)[_\-. ]?(?P<n>\d+)")
#: usual prefixes of unnamed dimensions of a context, such as c1 and x_2
DIMENSIONS = frozenset(
    ("c", "f", "u", "v", "w", "x", "z", "feature", "feat", "dim", "context", "component", "pc", "lag", "layer", "level")
)
#: from so many numbered columns on, they may be the members of an ensemble whatever else the table holds
MANY = 10
#: columns of member numbers in a long table, whatever the numbers are
IDS = frozenset(
    ("member", "members", "member_id", "ens_member", "ensemble_member", "realization", "realisation", "ensemble_id")
)
#: the same for numbers without gaps from 0 or 1
COUNTS = frozenset(("number", "ensemble", "ens", "sample", "sample_id", "draw", "perturbation"))
#: columns that identify the rows of a long table, beside columns.KEYS
PLACES = frozenset(("lat", "latitude", "lon", "longitude", "station", "site", "location", "init_time", "lead", "hour"))
#: columns of outcomes
OUTCOMES = frozenset(("obs", "observed", "observation", "actual", "truth", "outcome"))


def with_names(belief: Belief, names: list[Any]) -> Belief:
    """Return the belief with these names, if all are strings."""
    return belief.named(names) if all(isinstance(name, str) for name in names) else belief


def member_columns(labels: list[Any]) -> dict[str, list[Any]]:
    """Return the member columns of each variable, in order; empty unless some variable has at least two.

    Examples
    --------
    >>> member_columns(["time", "rain_member01", "rain_member02"]), member_columns(["m1", "m2", "m3"])
    ({'rain': ['rain_member01', 'rain_member02']}, {'': ['m1', 'm2', 'm3']})
    """
    out = {name: list(of_variable.values()) for name, of_variable in _families(labels, MEMBER).items()}
    for name, of_variable in out.items():
        if name in labels:  # the control run has no number
            of_variable.insert(0, name)
    for pattern in CONSECUTIVE:
        for name, family in _families(labels, pattern).items():
            if name not in out and len(family) > 1 and _has_no_gaps(family):
                out[name] = list(family.values())
    return out if any(len(of_variable) > 1 for of_variable in out.values()) else {}


def check_percents(labels: list[Any]) -> None:
    """Raise ValueError if the columns are numbers symmetric about 50, such as 10, 50 and 90."""
    labels = [label for label in labels if str(label).lower() not in columns.KEYS]
    matches = [NUMBERED.fullmatch(str(label).strip()) for label in labels if not isinstance(label, tuple)]
    centre = {match["name"] for match in matches if match} & set(map(str, labels))  # prediction beside prediction_5
    labels = [label for label in labels if str(label) not in centre]
    numbers = {int(match["n"]) for match in matches if match}
    names = {match["name"].lower() for match in matches if match}
    if not 1 < len(numbers) == len(labels) or len(names) > 1 or names <= DIMENSIONS:
        return
    if min(numbers) > 0 and {100 - number for number in numbers} == numbers:
        write = "write frame.add_suffix('%') for percents" if names == {""} else "name them 10%, 50%, 90% for percents"
        must = "obj must say what the numbers of its columns are"
        raise refuse(must, _abbreviated(labels), f"{write}, or give the columns names without numbers")


def check_many(labels: list[Any], dim: int | None, row: str) -> None:
    """Raise ValueError if there are so many integer labels that they may number members.

    dim : the dimension of contexts, if it is known
    row : the expression for one row, for the error
    """
    if len(labels) >= MANY and len(labels) != dim and all(_is_integer(label) for label in labels):
        write = f"write oc.Ensemble({row}.to_numpy()[:, None]) for members, {row}.to_numpy() for dimensions"
        raise refuse(f"obj must say whether {MANY} columns or more are members", _abbreviated(labels), write)


def check_numbers(labels: list[Any], options: Options) -> None:
    """Raise ValueError if numbers in the columns may mean members, percents or dimensions.

    Columns 0, 1, 2, which pandas gives an array, pass. c1 and x1 are dimensions, and so are a few numbered columns
    beside others.
    """
    if set(labels) <= set(options.names):
        return
    check_percents(labels)
    if all(_is_integer(label) for label in labels):
        check_many(labels, options.dim, "row")
        if labels != list(range(len(labels))):
            raise _ambiguous(labels)
        return
    labels_left = [label for label in labels if str(label).lower() not in columns.KEYS | OUTCOMES]
    ambiguous: list[Any] = []
    for name, family in _families(labels_left, NUMBERED).items():
        family = {0: name} | family if name in labels_left and 0 not in family else family
        if len(family) >= 3 and _has_no_gaps(family) and name.lower().rpartition("_")[2] not in DIMENSIONS:
            ambiguous += family.values()
            if len(family) >= MANY:
                raise _ambiguous(list(family.values()))
    if ambiguous and len(ambiguous) == len(labels_left):
        raise _ambiguous(ambiguous)


def side_by_side(obj: Any, labels: list[Any], of: dict[str, list[Any]]) -> Forecasts:
    """Return one ensemble for each row of a table.

    of : the member columns of each variable
    """
    sizes = {name: len(members_of) for name, members_of in of.items()}
    if len(set(sizes.values())) > 1:
        raise refuse("obj must have the same members of all variables", f"{sizes}", "drop the columns of the others")
    taken = {label for members_of in of.values() for label in members_of}
    for label, dtype in zip(labels, obj.dtypes, strict=True):
        if label not in taken and dtype.kind in "fiu" and str(label).lower() not in columns.KEYS:
            raise refuse(
                "obj must have columns of members only", f"also {label!r}", f"write frame.drop(columns={label!r})"
            )
    values = np.stack(
        [_check.table("as_belief", "obj", obj[members_of]) for members_of in of.values()], axis=2
    )  # (rows, n, c)
    names = [name for name in of if name]
    return Forecasts(
        len(values),
        lambda i: with_names(members(values[i]), names) if len(names) == len(of) else members(values[i]),
        pick=PICK,
    )


def has_member_columns(obj: Any) -> bool:
    """Return whether the name of a pivot table's columns says that each one is a member."""
    return str(obj.columns.name).lower() in IDS | COUNTS and getattr(obj.columns, "nlevels", 1) == 1


def long_forecasts(obj: Any) -> Forecasts | None:
    """Return the forecasts of a table with one member in each row, None if no column holds member numbers.

    Rows of the same time, station and the like are one forecast.
    """
    levels: list[Any] = []
    if any(str(name).lower() in IDS | {"number"} and name not in obj.columns for name in obj.index.names):
        before, obj = set(obj.columns), obj.reset_index()
        levels = [name for name in obj.columns if name not in before]
    id_names = IDS | COUNTS | ({"chain"} if "draw" in obj.columns else set())
    ids = [name for name in obj.columns if str(name).lower() in id_names and _are_ids(obj[name])]
    if not ids:
        return None
    key_names = columns.KEYS | PLACES
    texts = [name for name, kind in obj.dtypes.items() if str(name).lower() in key_names or kind.kind not in "fiub"]
    keys = [name for name in obj.columns if name in (*levels, *texts) and name not in ids]
    rest = [name for name in obj.columns if name not in ids and name not in keys]
    shown = " and ".join(map(repr, ids))
    drop = f"write frame.drop(columns={ids if len(ids) > 1 else ids[0]!r})"
    rename = "rename it if it is a quantity"
    if not rest:
        raise refuse("obj must have quantities beside the numbers of members", f"{shown} alone", rename)
    if len(obj) < 2:
        raise refuse("obj must have several members", f"one row, with {shown}", f"{drop}, or {rename}")
    at: dict[tuple[str, ...], list[int]] = {}
    for i, key in enumerate(zip(*(obj[name].astype(str) for name in keys), strict=True) if keys else [()] * len(obj)):
        at.setdefault(tuple(key), []).append(i)
    for rows in at.values():
        numbers = list(zip(*(obj[name].iloc[rows] for name in ids), strict=True))
        if len(set(numbers)) < len(numbers):
            twice = next(number for number in numbers if numbers.count(number) > 1)
            got = f"{', '.join(map(str, twice))} twice under {shown}"
            raise refuse("obj must have each member once", got, f"keep the rows of one forecast, or {rename}")
        if not any(str(name).lower() in IDS for name in ids) and not all(
            _has_no_gaps(dict.fromkeys(int(number) for number in obj[name].iloc[rows])) for name in ids
        ):
            must = f"obj must number its members from 0 or 1 under {shown}"
            raise refuse(must, _check.short(numbers[0][0]), f"{drop} if rows are members, or {rename}")
    groups, values = list(at.values()), _check.table("as_belief", "obj", obj[rest])
    vary = " and ".join(str(name) for name in keys)
    pick = f"keep the rows of one {vary}, or use as_beliefs"
    return Forecasts(len(groups), lambda i: with_names(members(values[groups[i]]), rest), "forecasts", pick)


def _families(labels: list[Any], pattern: re.Pattern[str]) -> dict[str, dict[int, Any]]:
    """Return the labels that match a pattern, by name and number."""
    out: dict[str, dict[int, Any]] = {}
    for label in labels:
        match = pattern.fullmatch(label.strip()) if isinstance(label, str) else None
        if match:
            out.setdefault(match["name"] or "", {})[int(match["n"])] = label
    return out


def _has_no_gaps(numbers: dict[int, Any]) -> bool:
    """Return whether the keys run from 0 or 1 without gaps."""
    first = min(numbers)
    return first in (0, 1) and set(numbers) == set(range(first, first + len(numbers)))


def _is_integer(label: Any) -> bool:
    return isinstance(label, (int, np.integer)) and not isinstance(label, bool)


def _are_ids(column: Any) -> bool:
    """Return whether a column holds integers or texts."""
    if column.dtype.kind != "f":
        return column.dtype.kind in "iuOTUS"
    values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return bool((values == np.floor(values)).all())


def _abbreviated(labels: list[Any]) -> str:
    shown = [str(label) for label in labels]
    return ", ".join(shown) if len(shown) <= 4 else f"{shown[0]}, {shown[1]}, …, {shown[-1]}"


def _ambiguous(labels: list[Any]) -> ValueError:
    write = (
        "write oc.Ensemble(row[:, None]) of each row of frame.to_numpy() for members, frame.to_numpy() for dimensions"
    )
    return refuse("obj must say whether its columns are members", _abbreviated(labels), write)
