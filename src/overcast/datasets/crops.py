"""Trials of crop varieties at several sites over the years, with the weather of each season.

A folder holds two CSV files. `yields.csv` has the columns site, year, variety and yield, and one row per plot. Rows
that repeat site, year and variety are replicates. A plot without a yield (empty or NA) is left out. `weather.csv` has
the columns site and year and any number of factors, and one row per season. Seasons without yields serve the
climatology. The folder of the California wheat trials, which has other names for files and columns, is read as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.datasets import files

#: cells that mark a plot without a yield
MISSING = ("", "NA")

Season = tuple[str, int]


@dataclass(frozen=True)
class Layout:
    """The names of a folder's files and columns; `other` are columns of the weather file that are no factors."""

    yields: str
    weather: str
    site: str = "site"
    variety: str = "variety"
    other: tuple[str, ...] = ()


STANDARD = Layout("yields.csv", "weather.csv")
CALIFORNIA = Layout("plots.csv", "site_season_weather_1896_2023.csv", "loc", "gen", other=("fips", "county"))


@dataclass(frozen=True, eq=False)
class CropData:
    """Yields (m,) of varieties in seasons (n,), and the weather of these and other seasons.

    source : the folder that the data was read from, or "generated"
    sites, varieties, factor_names : names
    seasons : (n,) site and year of the seasons with yields
    season, variety, yields : (m,) index of the season, index of the variety, and yield of each measurement
    weather : the factors of every known season, including seasons without yields
    left_out : number of plots without a yield
    """

    source: str
    sites: tuple[str, ...]
    varieties: tuple[str, ...]
    factor_names: tuple[str, ...]
    seasons: tuple[Season, ...]
    season: NDArray[np.intp]
    variety: NDArray[np.intp]
    yields: Array
    weather: dict[Season, Array]
    left_out: int = 0
    generated: bool = False

    @property
    def site_of_season(self) -> NDArray[np.intp]:
        """(n,) index of the site of each season with yields."""
        return np.array([self.sites.index(site) for site, _ in self.seasons])

    @cached_property
    def normalised(self) -> Array:
        """(m,) yields scaled to [0, 1], because the paper's rewards are bounded."""
        return np.asarray((self.yields - self.yields.min()) / np.ptp(self.yields))

    @cached_property
    def factors(self) -> Array:
        """(n, p) weather of the seasons with yields, followed by the site in one-hot form.

        Weather factors have mean 0 and variance 1 over these seasons; constant factors are left out.
        """
        return self._scaled(np.stack([self.weather[season] for season in self.seasons]), self.site_of_season)

    def climate(self, years: int) -> Array:
        """Return the factors of the `years` seasons before each season with yields, (n, years, p)."""
        earlier = []
        for site, year in self.seasons:
            before = [(site, year - back) for back in range(1, years + 1)]
            known = [self.weather[season] for season in before if season in self.weather]
            if len(known) < years:
                raise ValueError(
                    f"crops: a climatology needs the weather of the {years} seasons before each season with yields; "
                    f"{self.source} has {len(known)} of them for site {site}, year {year}"
                )
            earlier.append(np.stack(known))
        return self._scaled(np.stack(earlier), np.repeat(self.site_of_season[:, None], years, axis=1))

    @cached_property
    def residuals(self) -> Array:
        """Normalised yields of replicates minus the mean of their variety and season."""
        cell = self.season * len(self.varieties) + self.variety
        count, total = np.bincount(cell), np.bincount(cell, self.normalised)
        repeated = count[cell] > 1
        return np.asarray((self.normalised - (total / np.maximum(count, 1))[cell])[repeated])

    def _scaled(self, weather: Array, sites: NDArray[np.intp]) -> Array:
        """Return weather in standard units, followed by sites in one-hot form."""
        known = np.stack([self.weather[season] for season in self.seasons])
        mean, deviation = known.mean(axis=0), known.std(axis=0)
        varies = np.ptp(known, axis=0) > 0.0  # the standard deviation of equal numbers may be a rounding error
        scaled = (weather[..., varies] - mean[varies]) / deviation[varies]
        return np.concatenate([scaled, np.eye(len(self.sites))[sites]], axis=-1)


def read_crops(folder: Path) -> CropData:
    """Read the trials in a folder, or in its sub-folder agroscope."""
    inner = folder / "agroscope"
    if inner.is_dir() and not any((folder / layout.yields).exists() for layout in (STANDARD, CALIFORNIA)):
        folder = inner
    foreign = (folder / CALIFORNIA.yields).exists() and not (folder / STANDARD.yields).exists()
    layout = CALIFORNIA if foreign else STANDARD
    names = layout.yields, layout.weather
    yields_path, weather_path = files.find(folder, names, " and ".join(names))
    factor_names, weather = _read_weather(weather_path, layout)
    plots: list[tuple[Season, str, float]] = []
    first_line: dict[Season, int] = {}
    left_out = 0
    for line, row in files.table(yields_path, (layout.site, "year", layout.variety, "yield")):
        season = _season(yields_path, line, row, layout)
        if season not in weather:
            raise files.bad(yields_path, line, f"site {season[0]}, year {season[1]} has no row in {weather_path.name}")
        first_line.setdefault(season, line)
        variety = _name(yields_path, line, layout.variety, row)
        if row["yield"] in MISSING:
            left_out += 1
            continue
        plots.append((season, variety, files.real(yields_path, line, "yield", row["yield"])))
    measured = {season for season, _, _ in plots}
    for season, line in first_line.items():
        if season not in measured:
            text = f"site {season[0]}, year {season[1]} has no yield at all; remove its rows"
            raise files.bad(yields_path, line, text)
    if len({value for _, _, value in plots}) < 2:
        raise files.bad(yields_path, 1, f"expected plots of different yields, got {len(plots)} plots")
    return _data(str(folder), factor_names, plots, weather, left_out=left_out)


def _read_weather(path: Path, layout: Layout) -> tuple[tuple[str, ...], dict[Season, Array]]:
    """Read the names of the factors, and the factors of each season."""
    names: tuple[str, ...] = ()
    weather: dict[Season, Array] = {}
    line_of: dict[Season, int] = {}
    for line, row in files.table(path, (layout.site, "year", *layout.other)):
        names = tuple(name for name in row if name not in (layout.site, "year", *layout.other))
        season = _season(path, line, row, layout)
        if season in weather:
            text = f"site {season[0]}, year {season[1]} comes again, first on line {line_of[season]}"
            raise files.bad(path, line, text)
        weather[season] = np.array([files.real(path, line, name, row[name]) for name in names])
        line_of[season] = line
    if not names:
        wanted = "a row for each season" if not weather else "factors beside site and year"
        raise files.bad(path, 1, f"expected {wanted}, got none")
    return names, weather


def _season(path: Path, line: int, row: dict[str, str], layout: Layout) -> Season:
    return _name(path, line, layout.site, row), files.whole(path, line, "year", row["year"])


def _name(path: Path, line: int, column: str, row: dict[str, str]) -> str:
    if not row[column]:
        raise files.bad(path, line, f"{column} is empty")
    return row[column]


def _data(
    source: str,
    factor_names: tuple[str, ...],
    plots: list[tuple[Season, str, float]],
    weather: dict[Season, Array],
    **more: Any,
) -> CropData:
    """Build the data set from its plots, with sorted names and seasons."""
    seasons = sorted({season for season, _, _ in plots})
    varieties = sorted({variety for _, variety, _ in plots})
    season_at = {season: i for i, season in enumerate(seasons)}
    variety_at = {variety: i for i, variety in enumerate(varieties)}
    return CropData(
        source=source,
        sites=tuple(sorted({site for site, _ in seasons})),
        varieties=tuple(varieties),
        factor_names=factor_names,
        seasons=tuple(seasons),
        season=np.array([season_at[season] for season, _, _ in plots]),
        variety=np.array([variety_at[variety] for _, variety, _ in plots]),
        yields=np.array([value for _, _, value in plots]),
        weather=weather,
        **more,
    )


def generated_crops(seed: int = 0) -> CropData:
    """Generate trials of the paper's size: 198 varieties, 10 sites, 15 years, 16 factors, up to 3 replicates.

    Each site has a climate, a year is good or bad at all sites, and a variety is grown for some years and then dropped.
    """
    rng = np.random.default_rng(seed)
    names = tuple(f"factor_{i + 1:02d}" for i in range(16))
    climate, swing = rng.standard_normal((10, 16)), 0.5 * rng.standard_normal((15, 16))
    weather = climate[:, None] + swing + 0.7 * rng.standard_normal((10, 15, 16))
    tolerance = 0.15 * rng.standard_normal((198, 16))  # how much each variety gains from each factor
    strength = 0.4 * rng.standard_normal(198)
    common = 0.25 * rng.standard_normal(16)  # how much all varieties gain from each factor
    mean = strength[:, None, None] + np.einsum("vf,syf->vsy", tolerance + common, weather)
    first = rng.integers(-4, 15, 198)
    plots: list[tuple[Season, str, float]] = []
    for variety, site, year in np.ndindex(mean.shape):
        if first[variety] <= year < first[variety] + 5 and rng.random() < 0.6:
            for _ in range(rng.choice([1, 2, 3], p=[0.02, 0.08, 0.9])):
                value = 70.0 + 12.0 * (mean[variety, site, year] + 0.35 * rng.standard_normal())
                season = f"S{site + 1}", 2001 + year
                plots.append((season, f"V{variety + 1:03d}", float(np.clip(value, 0.0, 130.0))))
    known = {(f"S{site + 1}", 2001 + year): weather[site, year] for site, year in np.ndindex(10, 15)}
    return _data("generated", names, plots, known, generated=True)
