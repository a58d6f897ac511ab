"""Records to judge recalibration by: forecasts of Innsbruck, and generated ones with faults of many kinds.

A generated record holds four years of daily temperatures (or rain) and an ensemble of eleven members. The world and
the ensemble's spread are drawn anew from the seed; so is the size of each fault, so that no single number fits them.
"""

from __future__ import annotations

import csv
import datetime
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from overcast._check import Array

DAYS, MEMBERS = 1461, 11
Bounds = tuple[float | None, float | None]
FREE: Bounds = (None, None)
RAIN: Bounds = (0.0, None)


@dataclass(frozen=True, eq=False)
class Record:
    """t forecasts: calendar days (t,), members (t, n), outcomes (t,), and the bounds of the outcomes."""

    name: str
    days: Array
    members: Array
    outcomes: Array
    bounds: Bounds = FREE

    def __len__(self) -> int:
        return len(self.outcomes)


def innsbruck(folder: Path) -> list[Record]:
    """Return the records of Innsbruck: temperature, rain of the same days, and rain of three days."""
    joint, rain = folder / "innsbruck_joint_rain_temp.csv", folder / "rain_ibk_3day.csv"
    return [
        _read("Innsbruck, temperature", joint, "valid_time", "temp", FREE),
        _read("Innsbruck, rain", joint, "valid_time", "rain", RAIN),
        _read("Innsbruck, rain of three days", rain, "date", "rain", RAIN),
    ]


def _read(name: str, path: Path, date: str, quantity: str, bounds: Bounds) -> Record:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    members = [column for column in rows[0] if column.startswith(f"{quantity}fc.")]
    days = [datetime.date.fromisoformat(row[date][:10]).toordinal() for row in rows]
    return Record(
        name,
        np.array(days, dtype=float),
        np.array([[float(row[column]) for column in members] for row in rows]),
        np.array([float(row[quantity]) for row in rows]),
        bounds,
    )


def generated(kind: str, seed: int) -> Record:
    """Return a record of one of the `KINDS`."""
    rng = np.random.default_rng([seed, *map(ord, kind)])
    return KINDS[kind](kind, rng)


@dataclass(frozen=True, eq=False)
class _World:
    """Temperatures (t,), the centre of each forecast if it had no fault, its error's size, and the season's phase."""

    truth: Array
    centre: Array
    size: Array
    phase: Array


def _world(rng: np.random.Generator, shocks: Callable[[int], Array] | None = None) -> _World:
    t = np.arange(DAYS)
    phase = 2.0 * np.pi * (t / 365.25 + rng.random())
    weather = np.empty(DAYS)
    last = 0.0
    for i, step in enumerate(rng.normal(0.0, 2.5, DAYS)):
        weather[i] = last = 0.7 * last + step
    size = 1.6 * np.exp(0.35 * rng.standard_normal(DAYS) - 0.06)
    error = size * (rng.standard_normal(DAYS) if shocks is None else shocks(DAYS))
    centre = rng.normal(9.0, 3.0) - rng.uniform(4.0, 10.0) * np.cos(phase) + weather
    return _World(centre + error, centre, size, phase)


def _ensemble(rng: np.random.Generator, world: _World, fault: Array, name: str, sure: float | None = None) -> Record:
    """Return the record with a fault (t,) added to the forecasts, whose spread is too small by a factor."""
    sure = rng.uniform(0.3, 0.9) if sure is None else sure
    noise = world.size[:, None] * rng.standard_normal((DAYS, MEMBERS))
    members = (world.centre + fault)[:, None] + sure * noise
    return Record(name, np.arange(DAYS, dtype=float), members, world.truth)


def _right(name: str, rng: np.random.Generator) -> Record:
    return _ensemble(rng, _world(rng), np.zeros(DAYS), name, sure=1.0)


def _constant(name: str, rng: np.random.Generator) -> Record:
    return _ensemble(rng, _world(rng), np.full(DAYS, rng.normal(0.0, 4.0)), name)


def _seasonal(name: str, rng: np.random.Generator) -> Record:
    world = _world(rng)
    fault = rng.normal(0.0, 2.0) + rng.uniform(1.0, 4.0) * np.cos(world.phase - rng.uniform(0.0, 2.0 * np.pi))
    return _ensemble(rng, world, fault, name)


def _change(name: str, rng: np.random.Generator) -> Record:
    """The provider changes its model once or twice: another bias, another spread."""
    world = _world(rng)
    starts = np.sort(rng.integers(DAYS // 2, DAYS - 100, rng.integers(1, 3)))
    part = np.searchsorted(starts, np.arange(DAYS), side="right")
    fault, sure = rng.normal(0.0, 3.0, 3)[part], rng.uniform(0.3, 1.0, 3)[part]
    record = _ensemble(rng, world, np.zeros(DAYS), name, sure=1.0)
    middle = record.members.mean(axis=1, keepdims=True)
    return Record(name, record.days, middle + fault[:, None] + sure[:, None] * (record.members - middle), world.truth)


def _coastal(name: str, rng: np.random.Generator) -> Record:
    """The sea lags behind the land: the bias follows the season, and spring and autumn have it strongest."""
    world = _world(rng)
    lag = rng.uniform(3.0, 6.0) * np.sin(world.phase + rng.normal(0.0, 0.3))
    fault = lag * np.abs(np.sin(world.phase)) + rng.normal(0.0, 1.0)
    return _ensemble(rng, world, fault, name)


def _drift(name: str, rng: np.random.Generator) -> Record:
    world = _world(rng)
    return _ensemble(rng, world, rng.normal(0.0, rng.uniform(0.03, 0.2), DAYS).cumsum(), name)


def _heavy(name: str, rng: np.random.Generator) -> Record:
    world = _world(rng, lambda n: rng.standard_t(3.0, n))
    fault = rng.normal(0.0, 2.0) + rng.uniform(0.0, 2.0) * np.cos(world.phase)
    return _ensemble(rng, world, fault, name)


def _multiplied(name: str, rng: np.random.Generator) -> Record:
    world = _world(rng)
    return _ensemble(rng, world, (rng.uniform(0.6, 1.5) - 1.0) * world.centre, name)


def _rain(name: str, rng: np.random.Generator) -> Record:
    """Rain: a latent normal, cut off at zero and raised to a power; its forecasts are too wet in one season."""
    t = np.arange(DAYS)
    phase = 2.0 * np.pi * (t / 365.25 + rng.random())
    signal = rng.normal(0.2, 0.4) + 0.5 * np.cos(phase) + 1.1 * rng.standard_normal(DAYS)
    power = rng.uniform(1.5, 2.5)
    truth = 2.0 * np.maximum(signal + 0.7 * rng.standard_normal(DAYS), 0.0) ** power
    wet = 1.0 + rng.uniform(0.0, 0.8) * np.cos(phase - rng.uniform(0.0, 2.0 * np.pi))
    latent = signal[:, None] + rng.uniform(0.3, 0.7) * rng.standard_normal((DAYS, MEMBERS))
    members = 2.0 * wet[:, None] * np.maximum(latent + rng.normal(0.0, 0.3), 0.0) ** power
    return Record(name, t.astype(float), members, truth, RAIN)


#: each kind of generated record by its name
KINDS: dict[str, Callable[[str, np.random.Generator], Record]] = {
    "right forecasts": _right,
    "constant bias": _constant,
    "seasonal bias": _seasonal,
    "changed model": _change,
    "coastal station": _coastal,
    "slow drift": _drift,
    "heavy tails": _heavy,
    "multiplied": _multiplied,
    "generated rain": _rain,
}
