"""Members in tables: side by side in numbered columns, or one below another with a column of their numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from overcast import _check
from overcast.adapters import columns
from overcast.adapters.forecasts import Ask, Forecasts, members, refuse
from overcast.adapters.summaries import PICK
from overcast.beliefs import Belief

#: columns with one member each: temperature_2m_member01, member_3, ens12
MEMBER = re.compile(
    r"(?:(?P<name>.+?)[_\-. ])?"
    r"(?:member|mem|ens|ensemble|realization|realisation|perturbation|sample|draw|boot)[_\-. ]?(?P<n>\d+)",
    re.IGNORECASE,
)
#: the same if they count from 0 or 1 without gaps: m1 or rain_m1, and tempfc.1
COUNTED = (
    re.compile(r"(?:(?P<name>.+?)[_\-. ])?m[_\-. ]?(?P<n>\d+)", re.IGNORECASE),
    re.compile(r"(?P<name>.*[^_\-. ])fc\.?(?P<n>\d+)", re.IGNORECASE),
)
#: any other column that has a number
NUMBERED = re.compile(r"(?P<name>.*?)[_\-. ]?(?P<n>\d+)")
#: what people call dimensions of a context that have no names of their own, such as c1 and x_2
DIMENSIONS = frozenset(
    ("c", "f", "u", "v", "w", "x", "z", "feature", "feat", "dim", "context", "component", "pc", "lag", "layer", "level")
)
#: so many numbered columns may be the members of an ensemble, whatever stands beside them
MANY = 10
#: columns that number the members of a long table, whatever their numbers are
IDS = frozenset(
    ("member", "members", "member_id", "ens_member", "ensemble_member", "realization", "realisation", "ensemble_id")
)
#: the same if they count from 0 or 1 without gaps
COUNTS = frozenset(("number", "ensemble", "ens", "sample", "sample_id", "draw", "perturbation"))
#: columns that tell the rows of a long table apart, beside columns.KEYS
PLACES = frozenset(("lat", "latitude", "lon", "longitude", "station", "site", "location", "init_time", "lead", "hour"))
#: an outcome beside its forecasts
OUTCOMES = frozenset(("obs", "observed", "observation", "actual", "truth", "outcome"))


def named(belief: Belief, names: list[Any]) -> Belief:
    """Return the belief with these names, if all are strings."""
    return belief.named(names) if all(isinstance(name, str) for name in names) else belief


def wide(labels: list[Any]) -> dict[str, list[Any]]:
    """Return the columns of each variable's members, in order; empty unless some variable has two.

    Examples
    --------
    >>> wide(["time", "rain_member01", "rain_member02"]), wide(["m1", "m2", "m3"])
    ({'rain': ['rain_member01', 'rain_member02']}, {'': ['m1', 'm2', 'm3']})
    """
    out = {name: list(own.values()) for name, own in _families(labels, MEMBER).items()}
    for name, own in out.items():
        if name in labels:  # the control run has no number
            own.insert(0, name)
    for pattern in COUNTED:
        for name, family in _families(labels, pattern).items():
            if name not in out and len(family) > 1 and _counts(family):
                out[name] = list(family.values())
    return out if any(len(own) > 1 for own in out.values()) else {}


def check_percents(labels: list[Any]) -> None:
    """Raise ValueError if all columns are numbers that lie about 50, as 10, 50 and 90 do."""
    labels = [label for label in labels if str(label).lower() not in columns.KEYS]
    found = [NUMBERED.fullmatch(str(label).strip()) for label in labels if not isinstance(label, tuple)]
    centre = {match["name"] for match in found if match} & set(map(str, labels))  # prediction beside prediction_5
    labels = [label for label in labels if str(label) not in centre]
    numbers = {int(match["n"]) for match in found if match}
    names = {match["name"].lower() for match in found if match}
    if not 1 < len(numbers) == len(labels) or len(names) > 1 or names <= DIMENSIONS:
        return
    if min(numbers) > 0 and {100 - number for number in numbers} == numbers:
        write = "write frame.add_suffix('%') for percents" if names == {""} else "name them 10%, 50%, 90% for percents"
        must = "obj must say what the numbers of its columns are"
        raise refuse(must, _listed(labels), f"{write}, or give the columns names without numbers")


def check_many(labels: list[Any], dim: int | None, row: str) -> None:
    """Raise ValueError if whole numbers count so many columns or entries that they may be members.

    dim : the dimension of contexts, if it is known
    row : how the numbers of a row are written
    """
    if len(labels) >= MANY and len(labels) != dim and all(_whole(label) for label in labels):
        write = f"write oc.Ensemble({row}.to_numpy()[:, None]) for members, {row}.to_numpy() for dimensions"
        raise refuse(f"obj must say whether {MANY} columns or more are members", _listed(labels), write)


def check_numbers(labels: list[Any], ask: Ask) -> None:
    """Raise ValueError if numbers in the columns may mean members, percents or dimensions.

    Columns 0, 1, 2 that pandas makes for an array are as good as the array. c1 and x1 are dimensions, and so are a few
    numbered columns beside others.
    """
    if set(labels) <= set(ask.names):
        return
    check_percents(labels)
    if all(_whole(label) for label in labels):
        check_many(labels, ask.dim, "row")
        if labels != list(range(len(labels))):
            raise _unclear(labels)
        return
    own = [label for label in labels if str(label).lower() not in columns.KEYS | OUTCOMES]
    found: list[Any] = []
    for name, family in _families(own, NUMBERED).items():
        family = {0: name} | family if name in own and 0 not in family else family
        if len(family) >= 3 and _counts(family) and name.lower().rpartition("_")[2] not in DIMENSIONS:
            found += family.values()
            if len(family) >= MANY:
                raise _unclear(list(family.values()))
    if found and len(found) == len(own):
        raise _unclear(found)


def side_by_side(obj: Any, labels: list[Any], of: dict[str, list[Any]]) -> Forecasts:
    """Return one ensemble for each row of a table with the members of each variable in columns."""
    sizes = {name: len(own) for name, own in of.items()}
    if len(set(sizes.values())) > 1:
        raise refuse("obj must have the same members of all variables", f"{sizes}", "drop the columns of the others")
    taken = {label for own in of.values() for label in own}
    for label, dtype in zip(labels, obj.dtypes, strict=True):
        if label not in taken and dtype.kind in "fiu" and str(label).lower() not in columns.KEYS:
            raise refuse(
                "obj must have columns of members only", f"also {label!r}", f"write frame.drop(columns={label!r})"
            )
    values = np.stack([_check.table("as_belief", "obj", obj[own]) for own in of.values()], axis=2)  # (rows, n, c)
    names = [name for name in of if name]
    return Forecasts(
        len(values),
        lambda i: named(members(values[i]), names) if len(names) == len(of) else members(values[i]),
        pick=PICK,
    )


def numbered(obj: Any) -> bool:
    """Return whether the members of a table stand side by side, as the name of its columns says: that of a pivot."""
    return str(obj.columns.name).lower() in IDS | COUNTS and getattr(obj.columns, "nlevels", 1) == 1


def long(obj: Any) -> Forecasts | None:
    """Return the forecasts of a table with one member in each row, None if no column numbers them.

    Rows of the same time, station and the like are one forecast.
    """
    levels: list[Any] = []
    if any(str(name).lower() in IDS | {"number"} and name not in obj.columns for name in obj.index.names):
        before, obj = set(obj.columns), obj.reset_index()
        levels = [name for name in obj.columns if name not in before]
    known = IDS | COUNTS | ({"chain"} if "draw" in obj.columns else set())
    ids = [name for name in obj.columns if str(name).lower() in known and _are_ids(obj[name])]
    if not ids:
        return None
    told = columns.KEYS | PLACES
    texts = [name for name, kind in obj.dtypes.items() if str(name).lower() in told or kind.kind not in "fiub"]
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
        found = list(zip(*(obj[name].iloc[rows] for name in ids), strict=True))
        if len(set(found)) < len(found):
            twice = next(one for one in found if found.count(one) > 1)
            got = f"{', '.join(map(str, twice))} twice under {shown}"
            raise refuse("obj must have each member once", got, f"keep the rows of one forecast, or {rename}")
        if not any(str(name).lower() in IDS for name in ids) and not all(
            _counts(dict.fromkeys(int(number) for number in obj[name].iloc[rows])) for name in ids
        ):
            must = f"obj must number its members from 0 or 1 under {shown}"
            raise refuse(must, _check.short(found[0][0]), f"{drop} if rows are members, or {rename}")
    groups, values = list(at.values()), _check.table("as_belief", "obj", obj[rest])
    vary = " and ".join(str(name) for name in keys)
    pick = f"keep the rows of one {vary}, or use as_beliefs"
    return Forecasts(len(groups), lambda i: named(members(values[groups[i]]), rest), "forecasts", pick)


def _families(labels: list[Any], pattern: re.Pattern[str]) -> dict[str, dict[int, Any]]:
    """Return the columns of each name by their numbers."""
    out: dict[str, dict[int, Any]] = {}
    for label in labels:
        match = pattern.fullmatch(label.strip()) if isinstance(label, str) else None
        if match:
            out.setdefault(match["name"] or "", {})[int(match["n"])] = label
    return out


def _counts(numbers: dict[int, Any]) -> bool:
    """Return whether numbers go up from 0 or 1 without gaps."""
    first = min(numbers)
    return first in (0, 1) and set(numbers) == set(range(first, first + len(numbers)))


def _whole(label: Any) -> bool:
    return isinstance(label, (int, np.integer)) and not isinstance(label, bool)


def _are_ids(column: Any) -> bool:
    """Return whether a column holds whole numbers or texts."""
    if column.dtype.kind != "f":
        return column.dtype.kind in "iuOTUS"
    values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return bool((values == np.floor(values)).all())


def _listed(labels: list[Any]) -> str:
    shown = [str(label) for label in labels]
    return ", ".join(shown) if len(shown) <= 4 else f"{shown[0]}, {shown[1]}, …, {shown[-1]}"


def _unclear(labels: list[Any]) -> ValueError:
    write = (
        "write oc.Ensemble(row[:, None]) of each row of frame.to_numpy() for members, frame.to_numpy() for dimensions"
    )
    return refuse("obj must say whether its columns are members", _listed(labels), write)
