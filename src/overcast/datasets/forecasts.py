"""Files of forecasts and their outcomes, one row per forecast, in order of time.

`columns` says which columns are read; others, such as dates, are not. Commas, semicolons, tabs, bars or spaces stand
between cells. Rows without an outcome, or without any forecast, are left out; so are missing members and quantiles. All
of them are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import numpy as np

from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, Independent, Quantiles
from overcast.datasets import files
from overcast.datasets.columns import EXPECTED, Quantity, quantities

#: cells that stand for no number, in small letters
MISSING = ("", "na", "nan", "n/a", "null", "none", "-", "--")
#: larger numbers are not measurements, and their squares soon exceed the range of a float
LARGEST = 1e100
INNSBRUCK = "innsbruck_joint_rain_temp.csv"


@dataclass(frozen=True, eq=False)
class ForecastRecord:
    """t forecasts of c quantities with their outcomes, in order of time.

    source : the file that they were read from, or "generated"
    names : (c,) names of the quantities
    beliefs : (t,) the forecasts
    outcomes : (t, c) what happened
    left_out : number of rows without an outcome
    unforecast : number of rows with an outcome that lack a whole forecast
    missing : number of members and quantiles that are missing in the other rows
    crossed : number of forecasts whose quantiles decrease along the levels, and are put in order
    groups : (t,) labels of groups, None if there are none
    """

    source: str
    names: tuple[str, ...]
    beliefs: tuple[Belief, ...]
    outcomes: Array
    left_out: int = 0
    unforecast: int = 0
    missing: int = 0
    crossed: int = 0
    groups: tuple[str, ...] | None = None
    generated: bool = False

    def first(self, rows: int) -> ForecastRecord:
        """Return the record of the first rows."""
        groups = None if self.groups is None else self.groups[:rows]
        return replace(self, beliefs=self.beliefs[:rows], outcomes=self.outcomes[:rows], groups=groups)


def read_forecasts(
    path: Path, only: str | None = None, columns: Sequence[str] = (), by: str | None = None
) -> ForecastRecord:
    """Read a file of forecasts and outcomes.

    Parameters
    ----------
    path : the file
    only : name of one of its quantities; None for all
    columns : OUTCOME=PATTERN for each quantity, if the names of the columns do not tell
    by : the column with labels of groups, such as lead times
    """
    if not path.is_file():
        found = "a folder" if path.is_dir() else "nothing"
        raise FileNotFoundError(f"{path}: expected a CSV file of forecasts, found {found}")
    known: list[Quantity] = []
    beliefs: list[Belief] = []
    outcomes: list[list[float]] = []
    groups: list[str] = []
    counts: Counter[str] = Counter()
    for line, row in files.table(path, [name for name in (only, by) if name], files.delimiter(path)):
        known = known or [one for one in quantities(path, list(row), columns) if only in (None, one.name)]
        if not known:
            raise files.bad(path, 1, f"expected {EXPECTED}; found {', '.join(row)}")
        if any(_lacks(row[one.name]) for one in known):
            counts["left_out"] += 1
            continue
        belief, own = _belief(path, line, known, row)
        if belief is None:
            counts["unforecast"] += 1
            continue
        counts += own
        beliefs.append(belief)
        outcomes.append([_number(path, line, one.name, row) for one in known])
        groups.append(row[by] if by else "")
    if not outcomes:
        rows = f"got {counts['left_out'] + counts['unforecast']} rows, none with an outcome and a forecast"
        raise files.bad(path, 1, f"expected rows with {EXPECTED}, {rows}")
    names = tuple(one.name for one in known)
    return ForecastRecord(
        source=str(path),
        names=names,
        beliefs=tuple(beliefs),
        outcomes=np.array(outcomes),
        left_out=counts["left_out"],
        unforecast=counts["unforecast"],
        missing=counts["missing"],
        crossed=counts["crossed"],
        groups=tuple(groups) if by else None,
    )


def read_innsbruck(folder: Path, only: str | None = None) -> ForecastRecord:
    """Read the forecasts of rain and temperature at Innsbruck in a folder, or in its sub-folder forecast_innsbruck."""
    inner = folder / "forecast_innsbruck"
    folder = inner if inner.is_dir() else folder
    (path,) = files.find(folder, [INNSBRUCK], INNSBRUCK)
    return read_forecasts(path, only)


def generated_forecasts(seed: int = 0, days: int = 2000, members: int = 11) -> ForecastRecord:
    """Return made-up temperatures with an ensemble that is five degrees too cold, too bold and far too sure."""
    rng = np.random.default_rng(seed)
    season = 8.0 - 10.0 * np.cos(2.0 * np.pi * np.arange(days) / 365.0)
    drift = accumulate(rng.normal(0.0, 3.0, days), lambda last, step: 0.6 * last + step)
    weather = season + np.array(list(drift))
    deviation = rng.gamma(4.0, 0.2, days)
    centre = 1.2 * (weather + rng.normal(0.0, 2.5, days)) - 6.0
    points = centre[:, None] + deviation[:, None] * rng.standard_normal((days, members))
    beliefs = tuple(Ensemble(row[:, None]) for row in points)
    return ForecastRecord("generated", ("temp",), beliefs, weather[:, None], generated=True)


def _belief(
    path: Path, line: int, known: Sequence[Quantity], row: dict[str, str]
) -> tuple[Belief | None, Counter[str]]:
    """Return the forecast of a row, None if it lacks one, and how many of its cells are missing or out of order."""
    counts: Counter[str] = Counter()
    members = [one for one in known if one.kind == "members"]
    parts: list[Belief | None] = []
    if len(members) == len(known) > 1 and len({len(one.columns) for one in members}) == 1:
        parts.append(_ensemble(path, line, members, row, counts))  # a member has the same number in all quantities
    elif len(known) > 1 and all(one.kind == "normal" for one in known):
        parts.append(_normal(path, line, known, row))
    else:
        parts += [_single(path, line, one, row, counts) for one in known]
    whole = [part for part in parts if part is not None]
    if len(whole) < len(parts):
        return None, counts
    return (whole[0] if len(whole) == 1 else Independent(whole)), counts


def _single(path: Path, line: int, one: Quantity, row: dict[str, str], counts: Counter[str]) -> Belief | None:
    if one.kind == "members":
        return _ensemble(path, line, [one], row, counts)
    if one.kind == "normal":
        return _normal(path, line, [one], row)
    there = [(level, column) for level, column in zip(one.levels, one.columns, strict=True) if not _lacks(row[column])]
    if not there:
        return None
    counts["missing"] += len(one.levels) - len(there)
    values = np.array([_number(path, line, column, row) for _, column in there])
    counts["crossed"] += bool((np.diff(values) < 0.0).any())
    return Quantiles([level for level, _ in there], np.sort(values))


def _ensemble(
    path: Path, line: int, known: Sequence[Quantity], row: dict[str, str], counts: Counter[str]
) -> Ensemble | None:
    together = list(zip(*(one.columns for one in known), strict=True))
    there = [columns for columns in together if not any(_lacks(row[column]) for column in columns)]
    if not there:
        return None
    counts["missing"] += len(together) - len(there)
    return Ensemble([[_number(path, line, column, row) for column in columns] for columns in there])


def _normal(path: Path, line: int, known: Sequence[Quantity], row: dict[str, str]) -> Gaussian | None:
    if any(_lacks(row[column]) for one in known for column in one.columns):
        return None
    means, deviations = np.array([[_number(path, line, column, row) for column in one.columns] for one in known]).T
    for one, deviation in zip(known, deviations, strict=True):
        if deviation < 0.0:
            raise files.bad(path, line, f"{one.columns[1]} must be >= 0, got {deviation:g}")
    return Gaussian(means, deviations**2)


def _lacks(text: str) -> bool:
    return text.lower() in MISSING


def _number(path: Path, line: int, column: str, row: dict[str, str]) -> float:
    value = files.real(path, line, column, row[column])
    if abs(value) > LARGEST:
        raise files.bad(path, line, f"{column} must be a number from {-LARGEST:g} to {LARGEST:g}, got {row[column]}")
    return value
