"""Find the columns of forecasts for each outcome in a table, by their names.

    temp, tempfc.1, tempfc.2, ...          members, numbered from 1 or 0
    demand, demand_mean, demand_sd         a normal forecast
    load, load_q0.1, load_q0.5, ...        quantiles, as shares or in per cent: q10, p90
    obs, member_1, member_2, ...           one family of numbered columns beside an outcome named as in OUTCOMES
    obs, mean, sd    or    obs, q10, q90   the same for other forecasts

Other tables need OUTCOME=PATTERN, such as "observed=GFS_*", where * stands for any characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from overcast.datasets import files

OUTCOMES = ("obs", "observed", "observation", "actual", "truth", "outcome", "y")
DEVIATIONS = ("sd", "std", "stdev")
QUANTILE = re.compile(r"(?:(.*)[._ -])?(?:quantile|percentile|level|pct|ql|q|p)[._ -]?(\d*\.?\d+)%?", re.IGNORECASE)
NUMBERED = re.compile(r"(.*?)[._ -]?(\d+)")
EXPECTED = (
    "a column NAME of outcomes with its forecasts NAMEfc.1, NAMEfc.2, ... or NAME_mean, NAME_sd or NAME_q0.1, NAME_q0.9"
    "; or say which they are with --columns OUTCOME=PATTERN"
)


@dataclass(frozen=True)
class Quantity:
    """An outcome and the columns of its forecasts; `levels` if they are quantiles."""

    name: str
    kind: Literal["members", "normal", "quantiles"]
    columns: tuple[str, ...]
    levels: tuple[float, ...] = ()


def quantities(path: Path, columns: Sequence[str], patterns: Sequence[str] = ()) -> list[Quantity]:
    """Return the quantities of a table, by the names of its columns, or by OUTCOME=PATTERN in `patterns`."""
    if patterns:
        chosen = [_by_pattern(path, columns, text) for text in patterns]
        for used in ([item.name for item in chosen], [column for item in chosen for column in item.columns]):
            if twice := next((name for name in used if used.count(name) > 1), None):
                raise ValueError(f"--columns: expected every column once, got {twice} twice")
        return chosen
    out = [item for name in columns if (item := _by_name(path, name, columns)) is not None]
    out = out or _beside_outcome(path, columns)
    if not out:
        raise files.bad(path, 1, f"expected {EXPECTED}; found {', '.join(columns)}")
    return out


def _by_pattern(path: Path, columns: Sequence[str], text: str) -> Quantity:
    """Return the quantity that OUTCOME=PATTERN describes."""
    name, _, patterns = (part.strip() for part in text.partition("="))
    if not patterns:
        raise ValueError(f"--columns: expected OUTCOME=PATTERN such as obs=member*, got {text!r}")
    if name not in columns:
        raise files.bad(path, 1, f"expected a column {name}, which --columns names; found {', '.join(columns)}")
    inside = [p.strip() for p in patterns.split(",")]
    matched = [c for c in columns if c != name and any(c == p or fnmatchcase(c, p) for p in inside)]
    if not matched:
        raise files.bad(path, 1, f"expected columns like {patterns}, which --columns names; found {', '.join(columns)}")
    return _classify(path, name, matched)


def _classify(path: Path, name: str, matched: list[str]) -> Quantity:
    """Return the quantity in these columns: quantiles, or mean and deviation, by their names, else members."""
    ends = [column.lower() for column in matched]
    if len(matched) == 2 and ends[0].endswith("mean") and ends[1].endswith(DEVIATIONS):
        return Quantity(name, "normal", tuple(matched))
    parts = [QUANTILE.fullmatch(column) for column in matched]
    if all(parts):
        return _quantiles(
            path, name, {column: float(part[2]) for column, part in zip(matched, parts, strict=True) if part}
        )
    if any(parts) or any(end.endswith(("mean", "median", "spread", *DEVIATIONS)) for end in ends):
        odd = ", ".join(matched)
        raise files.bad(path, 1, f"expected members of one kind for {name}, got {odd}; name them with --columns")
    return Quantity(name, "members", tuple(matched))


def _by_name(path: Path, name: str, columns: Sequence[str]) -> Quantity | None:
    """Return the quantity of this name if columns such as NAMEfc.1 or NAME_mean hold its forecasts, else None."""
    members = [(int(m[1]), c) for c in columns if (m := re.fullmatch(re.escape(name) + r"fc\.?(\d+)", c))]
    numbered = dict(members)
    if len(numbered) < len(members):
        got = ", ".join(column for _, column in members)
        raise files.bad(path, 1, f"expected every member of {name} once, got {got}; rename or drop one")
    if numbered:
        first = 0 if 0 in numbered else 1
        gaps = [i for i in range(first, first + len(numbered)) if i not in numbered]
        if gaps:
            expected = f"expected members {name}fc.{first} to {name}fc.{max(numbered)}"
            raise files.bad(path, 1, f"{expected}; {gaps[0]} is missing")
        return Quantity(name, "members", tuple(numbered[i] for i in sorted(numbered)))
    for deviation in DEVIATIONS:
        if {f"{name}_mean", f"{name}_{deviation}"} <= set(columns):
            return Quantity(name, "normal", (f"{name}_mean", f"{name}_{deviation}"))
    levels = {c: float(m[2]) for c in columns if (m := QUANTILE.fullmatch(c)) and name and m[1] == name}
    return _quantiles(path, name, levels) if levels else None


def _beside_outcome(path: Path, columns: Sequence[str]) -> list[Quantity]:
    """Return the quantity whose outcome has one of the names `OUTCOMES`, in a list, empty if there is none."""
    outcomes = [column for column in columns if column.lower() in OUTCOMES]
    if len(outcomes) != 1:
        return []
    name, others = outcomes[0], [column for column in columns if column not in outcomes]
    bare = {c: float(m[2]) for c in others if (m := QUANTILE.fullmatch(c)) and not m[1]}
    if bare:
        return [_quantiles(path, name, bare)]
    lower = {column.lower(): column for column in others}
    for deviation in DEVIATIONS:
        if "mean" in lower and deviation in lower:
            return [Quantity(name, "normal", (lower["mean"], lower[deviation]))]
    families: dict[str, list[str]] = {}
    for column in others:
        if match := NUMBERED.fullmatch(column):
            families.setdefault(match[1], []).append(column)
    families = {prefix: family for prefix, family in families.items() if len(family) > 1}
    if len(families) > 1:
        got = ", ".join(f"{prefix}*" for prefix in families)
        raise files.bad(path, 1, f"expected one family of members for {name}, got {got}; choose with --columns")
    return [Quantity(name, "members", tuple(family)) for family in families.values()]


def _quantiles(path: Path, name: str, numbers: dict[str, float]) -> Quantity:
    """Return quantiles in the order of their levels; numbers above 1 are percents."""
    counted = sorted(numbers.values())
    if len(counted) > 1 and counted in ([i + first for i in range(len(counted))] for first in (0.0, 1.0)):
        got = f"got {', '.join(numbers)}, which may be members or percentiles; rename them"
        raise files.bad(path, 1, f"expected quantiles of {name} with their levels, {got}")
    unit = 100.0 if counted[-1] >= 1.0 else 1.0
    levels = {column: number / unit for column, number in numbers.items()}
    columns = sorted(levels, key=lambda column: levels[column])
    out = tuple(levels[column] for column in columns)
    if out[0] <= 0.0 or out[-1] >= 1.0 or len(set(out)) < len(out):
        got = ", ".join(columns)
        raise files.bad(path, 1, f"expected different quantile levels between 0 and 1 for {name}, got {got}")
    return Quantity(name, "quantiles", tuple(columns), out)
