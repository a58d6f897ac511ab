"""Files of forecasts and their outcomes, one row per forecast, in order of time.

The module `columns` selects the columns; others, such as dates, are ignored. Delimiters are commas, semicolons, tabs,
bars or spaces. Rows without an outcome, or without any forecast, are left out; so are missing members and quantiles.
All of them are counted.
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

#: missing values, in lower case
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
    outcomes : (t, c) the outcomes
    left_out : number of rows without an outcome
    unforecast : number of rows with an outcome and no complete forecast
    missing : number of missing members and quantiles in the other rows
    crossed : number of forecasts whose quantiles decreased along the levels, and were sorted
    groups : (t,) labels of groups, None without groups
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
    columns : OUTCOME=PATTERN for each quantity, if the names of the columns are not known ones
    by : the column with labels of groups, such as lead times
    """
    if not path.is_file():
        there = "a folder" if path.is_dir() else "nothing"
        raise FileNotFoundError(f"{path}: expected a CSV file of forecasts, found {there}")
    selected: list[Quantity] = []
    beliefs: list[Belief] = []
    outcomes: list[list[float]] = []
    groups: list[str] = []
    counts: Counter[str] = Counter()
    for line, row in files.table(path, [name for name in (only, by) if name], files.delimiter(path)):
        selected = selected or [item for item in quantities(path, list(row), columns) if only in (None, item.name)]
        if not selected:
            raise files.bad(path, 1, f"expected {EXPECTED}; found {', '.join(row)}")
        if any(_is_missing(row[item.name]) for item in selected):
            counts["left_out"] += 1
            continue
        belief, row_counts = _belief(path, line, selected, row)
        if belief is None:
            counts["unforecast"] += 1
            continue
        counts += row_counts
        beliefs.append(belief)
        outcomes.append([_number(path, line, item.name, row) for item in selected])
        groups.append(row[by] if by else "")
    if not outcomes:
        rows = f"got {counts['left_out'] + counts['unforecast']} rows, none with an outcome and a forecast"
        raise files.bad(path, 1, f"expected rows with {EXPECTED}, {rows}")
    names = tuple(item.name for item in selected)
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
    """Generate temperatures with an ensemble that is five degrees too cold, exaggerated and over-confident."""
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
    path: Path, line: int, selected: Sequence[Quantity], row: dict[str, str]
) -> tuple[Belief | None, Counter[str]]:
    """Return the forecast of a row, None if incomplete, and counts of missing cells and crossed quantiles."""
    counts: Counter[str] = Counter()
    members = [item for item in selected if item.kind == "members"]
    parts: list[Belief | None] = []
    if len(members) == len(selected) > 1 and len({len(item.columns) for item in members}) == 1:
        parts.append(_ensemble(path, line, members, row, counts))  # members are joint over quantities
    elif len(selected) > 1 and all(item.kind == "normal" for item in selected):
        parts.append(_normal(path, line, selected, row))
    else:
        parts += [_single(path, line, item, row, counts) for item in selected]
    whole = [part for part in parts if part is not None]
    if len(whole) < len(parts):
        return None, counts
    return (whole[0] if len(whole) == 1 else Independent(whole)), counts


def _single(path: Path, line: int, quantity: Quantity, row: dict[str, str], counts: Counter[str]) -> Belief | None:
    """Return the forecast of one quantity in a row, None if it is missing; update the counts."""
    if quantity.kind == "members":
        return _ensemble(path, line, [quantity], row, counts)
    if quantity.kind == "normal":
        return _normal(path, line, [quantity], row)
    present = [
        (level, column)
        for level, column in zip(quantity.levels, quantity.columns, strict=True)
        if not _is_missing(row[column])
    ]
    if not present:
        return None
    counts["missing"] += len(quantity.levels) - len(present)
    values = np.array([_number(path, line, column, row) for _, column in present])
    counts["crossed"] += bool((np.diff(values) < 0.0).any())
    return Quantiles([level for level, _ in present], np.sort(values))


def _ensemble(
    path: Path, line: int, selected: Sequence[Quantity], row: dict[str, str], counts: Counter[str]
) -> Ensemble | None:
    """Return the ensemble of complete members in a row, None without any; update the counts."""
    by_member = list(zip(*(item.columns for item in selected), strict=True))
    complete = [columns for columns in by_member if not any(_is_missing(row[column]) for column in columns)]
    if not complete:
        return None
    counts["missing"] += len(by_member) - len(complete)
    return Ensemble([[_number(path, line, column, row) for column in columns] for columns in complete])


def _normal(path: Path, line: int, selected: Sequence[Quantity], row: dict[str, str]) -> Gaussian | None:
    """Return the normal forecast of a row, None if a cell is missing."""
    if any(_is_missing(row[column]) for item in selected for column in item.columns):
        return None
    means, deviations = np.array([[_number(path, line, column, row) for column in item.columns] for item in selected]).T
    for item, deviation in zip(selected, deviations, strict=True):
        if deviation < 0.0:
            raise files.bad(path, line, f"{item.columns[1]} must be >= 0, got {deviation:g}")
    return Gaussian(means, deviations**2)


def _is_missing(text: str) -> bool:
    return text.lower() in MISSING


def _number(path: Path, line: int, column: str, row: dict[str, str]) -> float:
    value = files.real(path, line, column, row[column])
    if abs(value) > LARGEST:
        raise files.bad(path, line, f"{column} must be a number from {-LARGEST:g} to {LARGEST:g}, got {row[column]}")
    return value
