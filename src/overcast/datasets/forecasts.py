"""Files of forecasts and their outcomes, one row per forecast.

A CSV file has a column of outcomes for each quantity, and beside it either the members of an ensemble, or mean and
standard deviation of a normal forecast:

    temp, tempfc.1, tempfc.2, ..., tempfc.n        members, numbered from 1 or 0
    demand, demand_mean, demand_sd                 normal

A file may hold several quantities. Other columns, such as dates, are not read. Rows are in order of time. A row
without an outcome (empty or NA) is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import numpy as np

from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, Independent
from overcast.datasets import files

MISSING = ("", "NA")
#: larger numbers are not measurements, and their squares soon exceed the range of a float
LARGEST = 1e100
INNSBRUCK = "innsbruck_joint_rain_temp.csv"
EXPECTED = "a column NAME of outcomes with its forecasts NAMEfc.1, NAMEfc.2, ... or NAME_mean, NAME_sd"


@dataclass(frozen=True, eq=False)
class ForecastRecord:
    """t forecasts of c quantities with their outcomes, in order of time.

    source : the file that they were read from, or "generated"
    names : (c,) names of the quantities
    beliefs : (t,) the forecasts
    outcomes : (t, c) what happened
    left_out : number of rows without an outcome
    """

    source: str
    names: tuple[str, ...]
    beliefs: tuple[Belief, ...]
    outcomes: Array
    left_out: int = 0
    generated: bool = False

    def first(self, rows: int) -> ForecastRecord:
        """Return the record of the first rows."""
        return replace(self, beliefs=self.beliefs[:rows], outcomes=self.outcomes[:rows])


@dataclass(frozen=True)
class _Columns:
    """The columns of a quantity: members of an ensemble, or mean and standard deviation if there are no members."""

    name: str
    members: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return self.members or (f"{self.name}_mean", f"{self.name}_sd")


def read_forecasts(path: Path, only: str | None = None) -> ForecastRecord:
    """Read a file of forecasts and outcomes: all its quantities, or one of them."""
    if not path.is_file():
        found = "a folder" if path.is_dir() else "nothing"
        raise FileNotFoundError(f"{path}: expected a CSV file of forecasts, found {found}")
    quantities: list[_Columns] = []
    beliefs: list[Belief] = []
    outcomes: list[list[float]] = []
    left_out = 0
    for line, row in files.table(path, (only,) if only else ()):
        if not quantities:
            quantities = _quantities(path, list(row), only)
        if any(row[quantity.name] in MISSING for quantity in quantities):
            left_out += 1
            continue
        outcomes.append([_number(path, line, quantity.name, row) for quantity in quantities])
        numbers = [[_number(path, line, column, row) for column in quantity.all] for quantity in quantities]
        beliefs.append(_belief(path, line, quantities, numbers))
    if not outcomes:
        raise files.bad(path, 1, f"expected rows with {EXPECTED}, got {left_out} rows, none with an outcome")
    names = tuple(quantity.name for quantity in quantities)
    return ForecastRecord(str(path), names, tuple(beliefs), np.array(outcomes), left_out)


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


def _quantities(path: Path, columns: list[str], only: str | None) -> list[_Columns]:
    found: list[_Columns] = []
    for name in columns:
        numbered = {int(m[1]): c for c in columns if (m := re.fullmatch(re.escape(name) + r"fc\.?(\d+)", c))}
        if numbered:
            first = 0 if 0 in numbered else 1
            gaps = [i for i in range(first, first + len(numbered)) if i not in numbered]
            if gaps:
                expected = f"expected members {name}fc.{first} to {name}fc.{max(numbered)}"
                raise files.bad(path, 1, f"{expected}; {gaps[0]} is missing")
            found.append(_Columns(name, tuple(numbered[i] for i in sorted(numbered))))
        elif {f"{name}_mean", f"{name}_sd"} <= set(columns):
            found.append(_Columns(name))
    found = [quantity for quantity in found if only in (None, quantity.name)]
    if not found:
        raise files.bad(path, 1, f"expected {EXPECTED}; found {', '.join(columns)}")
    return found


def _belief(path: Path, line: int, quantities: list[_Columns], numbers: list[list[float]]) -> Belief:
    sizes = {len(quantity.members) for quantity in quantities}
    if sizes == {0}:
        for quantity, (_, deviation) in zip(quantities, numbers, strict=True):
            if deviation < 0.0:
                raise files.bad(path, line, f"{quantity.name}_sd must be >= 0, got {deviation:g}")
        means, deviations = np.array(numbers).T
        return Gaussian(means, deviations**2)
    if len(sizes) == 1:
        return Ensemble(np.array(numbers).T)  # a member has the same number in all quantities
    return Independent([_belief(path, line, [q], [row]) for q, row in zip(quantities, numbers, strict=True)])


def _number(path: Path, line: int, column: str, row: dict[str, str]) -> float:
    value = files.real(path, line, column, row[column])
    if abs(value) > LARGEST:
        raise files.bad(path, line, f"{column} must be a number from {-LARGEST:g} to {LARGEST:g}, got {row[column]}")
    return value
