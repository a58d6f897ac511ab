from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from overcast.datasets.crops import CropData, generated_crops, read_crops
from real_data import FOLDER, needs
from support import refused

# Columns: site, year, variety, yield. The rows of a variety are not together, and names are not in order.
PLOTS = [
    ("south", 2003, "Runal", "61.5"),
    ("north", 2003, "Arina", "70"),
    ("south", 2003, "Runal", "64.5"),
    ("north", 2002, "Arina", "55.25"),
    ("north", 2003, "Arina", "76"),
    ("south", 2002, "Zinal", ""),
    ("south", 2002, "Zinal", "80.0"),
    ("north", 2003, "Arina", "73"),
    ("north", 2003, "Zinal", "NA"),
    ("alp", 2003, "Runal", "40"),
    ("south", 2003, "Arina", "0.5"),
]
# Columns after site and year: rain, a constant, heat. 2001 has no yields.
WEATHER = {
    ("north", 2001): (1.0, 0.3, -4.0),
    ("north", 2002): (2.0, 0.3, 11.0),
    ("north", 2003): (4.5, 0.3, -3.0),
    ("south", 2001): (0.0, 0.9, 20.0),
    ("south", 2002): (1.5, 0.3, 13.0),
    ("south", 2003): (9.0, 0.3, 7.5),
    ("alp", 2003): (7.0, 0.3, 0.0),
    ("alp", 2002): (6.0, 0.3, 1.0),
    ("alp", 2001): (5.0, 0.3, 2.0),
}
MEASURED = [plot for plot in PLOTS if plot[3] not in ("", "NA")]
SEASONS = [("alp", 2003), ("north", 2002), ("north", 2003), ("south", 2002), ("south", 2003)]

Cells = Sequence[object]


def csv(header: str, rows: Sequence[Cells]) -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def put(folder: Path, plots: Sequence[Cells] = PLOTS, weather: Sequence[Cells] | None = None) -> Path:
    seasons = [(*season, *factors) for season, factors in WEATHER.items()] if weather is None else weather
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "yields.csv").write_text(csv("site,year,variety,yield", plots))
    (folder / "weather.csv").write_text(csv("site,year,rain,day,heat", seasons))
    return folder


def measurements(data: CropData) -> list[tuple[str, int, str, float]]:
    """Site, year, variety and yield of every measurement, in the order of the file."""
    columns = zip(data.season.tolist(), data.variety.tolist(), data.yields.tolist(), strict=True)
    return [(*data.seasons[season], data.varieties[variety], value) for season, variety, value in columns]


@pytest.fixture
def data(tmp_path: Path) -> CropData:
    return read_crops(put(tmp_path))


def test_every_plot_with_a_yield_is_a_measurement(data: CropData) -> None:
    assert measurements(data) == [(site, year, variety, float(value)) for site, year, variety, value in MEASURED]


def test_plots_without_a_yield_are_left_out_and_counted(data: CropData) -> None:
    assert data.left_out == len(PLOTS) - len(MEASURED) == 2


def test_names_are_in_order(data: CropData, tmp_path: Path) -> None:
    assert data.sites == ("alp", "north", "south")
    assert data.varieties == ("Arina", "Runal", "Zinal")
    assert data.factor_names == ("rain", "day", "heat")
    assert data.seasons == tuple(SEASONS)
    assert data.source == str(tmp_path)
    assert [data.sites[i] for i in data.site_of_season] == [site for site, _ in SEASONS]


def test_the_order_of_columns_and_rows_does_not_matter(data: CropData, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    turned = [(value, year, variety, "x", site) for site, year, variety, value in reversed(PLOTS)]
    (other / "yields.csv").write_text(csv("yield,year,variety,block,site", turned))
    seasons = [(year, *factors, site) for (site, year), factors in sorted(WEATHER.items())]
    (other / "weather.csv").write_text(csv("year,rain,day,heat,site", seasons))
    found = read_crops(other)
    assert measurements(found) == measurements(data)[::-1]
    np.testing.assert_array_equal(found.factors, data.factors)


def test_blanks_around_cells_do_not_matter(data: CropData, tmp_path: Path) -> None:
    spaced = [tuple(f" {cell}  " for cell in plot) for plot in PLOTS]
    found = read_crops(put(tmp_path / "spaced", spaced))
    assert measurements(found) == measurements(data)
    assert found.left_out == data.left_out


def test_normalised_yields_go_from_zero_to_one(data: CropData) -> None:
    values = [float(value) for *_, value in MEASURED]
    low, high = min(values), max(values)
    np.testing.assert_allclose(data.normalised, [(value - low) / (high - low) for value in values], rtol=1e-14)
    assert data.normalised.min() == 0.0
    assert data.normalised.max() == 1.0


def test_factors_are_standardised_over_the_seasons_with_yields_and_followed_by_the_site(data: CropData) -> None:
    """The constant is left out although it has another value in a season without yields."""
    columns = []
    for factor in (0, 2):
        values = [WEATHER[season][factor] for season in SEASONS]
        mean, deviation = statistics.fmean(values), statistics.pstdev(values)
        columns.append([(value - mean) / deviation for value in values])
    columns += [[float(site == other) for site, _ in SEASONS] for other in ("alp", "north", "south")]
    np.testing.assert_allclose(data.factors, np.array(columns).T, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("value", [0.0, 0.1, -1 / 3, 1e9 / 7, 1e-20])
def test_a_factor_that_never_changes_is_left_out_whatever_its_value(tmp_path: Path, value: float) -> None:
    years = range(2001, 2012)  # the sum of eleven thirds, divided by eleven, need not be a third
    weather = [("north", year, year % 7, value, -year) for year in years]
    found = read_crops(put(tmp_path, [("north", year, "Arina", year) for year in years], weather))
    assert found.factors.shape == (11, 3)


@pytest.mark.parametrize("scale", [1e-100, 1e-14, 1.0, 1e14, 1e100], ids=str)
def test_a_factor_in_any_unit_is_kept(tmp_path: Path, scale: float) -> None:
    weather = [(site, year, rain * scale, day, heat) for (site, year), (rain, day, heat) in WEATHER.items()]
    found = read_crops(put(tmp_path / "scaled", weather=weather))
    np.testing.assert_allclose(found.factors, read_crops(put(tmp_path)).factors, rtol=1e-9, atol=1e-12)


def test_weather_that_never_changes_leaves_the_sites(tmp_path: Path) -> None:
    found = read_crops(put(tmp_path, weather=[(*season, 1.5, 0.1, -2.0) for season in WEATHER]))
    np.testing.assert_array_equal(found.factors, [[float(site == name) for name in found.sites] for site, _ in SEASONS])


def test_residuals_are_those_of_replicates_from_their_mean(data: CropData) -> None:
    values = [float(value) for *_, value in MEASURED]
    reach = max(values) - min(values)
    expected = []
    for plot in MEASURED:
        own = [float(other[3]) for other in MEASURED if other[:3] == plot[:3]]
        if len(own) > 1:
            expected.append((float(plot[3]) - sum(own) / len(own)) / reach)
    assert len(expected) == 5
    np.testing.assert_allclose(data.residuals, expected, rtol=0, atol=1e-15)


def test_trials_without_replicates_have_no_residuals(tmp_path: Path) -> None:
    single = {plot[:3]: plot for plot in MEASURED}
    assert read_crops(put(tmp_path, list(single.values()))).residuals.shape == (0,)


def standardised(data: CropData, site: str, year: int) -> list[float]:
    out = []
    for factor in range(len(data.factor_names)):
        values = [float(data.weather[season][factor]) for season in data.seasons]
        if len(set(values)) > 1:
            own = float(data.weather[site, year][factor])
            out.append((own - statistics.fmean(values)) / statistics.pstdev(values))
    return out + [float(site == other) for other in data.sites]


def test_a_climate_is_the_seasons_before_on_the_same_scale(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weather = [(site, year, *rng.normal(size=3)) for year in range(1960, 2004) for site in ("alp", "north", "south")]
    found = read_crops(put(tmp_path, weather=weather))
    climate = found.climate(30)
    assert climate.shape == (5, 30, 6)
    for (site, year), rows in zip(SEASONS, climate, strict=True):
        expected = sorted(standardised(found, site, year - back) for back in range(1, 31))
        np.testing.assert_allclose(sorted(rows.tolist()), expected, rtol=0, atol=1e-12)


def test_a_climate_of_one_season_is_the_season_before(tmp_path: Path) -> None:
    plots = [plot for plot in PLOTS if plot[1] == 2003]
    found = read_crops(put(tmp_path, plots))
    expected = [[standardised(found, site, 2002)] for site in ("alp", "north", "south")]
    np.testing.assert_allclose(found.climate(1), expected, rtol=0, atol=1e-13)


def test_a_climate_needs_every_season_before(tmp_path: Path) -> None:
    weather = [(*season, *factors) for season, factors in WEATHER.items() if season != ("north", 2001)]
    found = read_crops(put(tmp_path, weather=weather))
    with refused(ValueError, "crops", "the 2 seasons before", str(tmp_path), "has 1 of them for site alp, year 2003"):
        read_crops(put(tmp_path, weather=[row for row in weather if row[:2] != ("alp", 2001)])).climate(2)
    with refused(ValueError, "crops", "the 2 seasons before", "has 0 of them for site north, year 2002"):
        found.climate(2)


def test_the_folder_above_does_as_well(data: CropData, tmp_path: Path) -> None:
    put(tmp_path / "parent" / "agroscope")
    found = read_crops(tmp_path / "parent")
    assert measurements(found) == measurements(data)
    assert found.source == str(tmp_path / "parent" / "agroscope")


def put_california(folder: Path, missing: str = "NA") -> Path:
    folder.mkdir()
    plots = [(variety, year, site, "B1", value or missing) for site, year, variety, value in PLOTS]
    (folder / "plots.csv").write_text(csv("gen,year,loc,block,yield", plots))
    seasons = [(site, "06011", "Yolo", year, *factors) for (site, year), factors in WEATHER.items()]
    (folder / "site_season_weather_1896_2023.csv").write_text(csv("loc,fips,county,year,rain,day,heat", seasons))
    return folder


def test_the_layout_of_the_california_trials_is_read_as_it_is(data: CropData, tmp_path: Path) -> None:
    found = read_crops(put_california(tmp_path / "california"))
    assert measurements(found) == measurements(data)
    assert found.left_out == 2
    assert found.factor_names == ("rain", "day", "heat")
    np.testing.assert_array_equal(found.factors, data.factors)


def test_errors_in_the_california_layout_use_its_names(tmp_path: Path) -> None:
    folder = put_california(tmp_path / "california")
    path = folder / "plots.csv"
    path.write_text("gen,year,loc,block,yield\n1,2003,,B1,70\n")
    with refused(ValueError, f"{path} line 2", "loc is empty"):
        read_crops(folder)
    path.write_text("variety,year,loc,block,yield\n")
    with refused(ValueError, f"{path} line 1", "expected columns loc, year, gen, yield", "gen is missing"):
        read_crops(folder)
    (folder / "site_season_weather_1896_2023.csv").unlink()
    with refused(FileNotFoundError, str(folder), "site_season_weather_1896_2023.csv is missing"):
        read_crops(folder)


@pytest.mark.parametrize("name", ["yields.csv", "weather.csv"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    (put(tmp_path) / name).unlink()
    with refused(FileNotFoundError, str(tmp_path), "expected yields.csv and weather.csv", f"{name} is missing"):
        read_crops(tmp_path)


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with refused(FileNotFoundError, str(tmp_path / "no"), "expected a folder with yields.csv", "found nothing"):
        read_crops(tmp_path / "no")
    path = put(tmp_path) / "yields.csv"
    with refused(FileNotFoundError, str(path), "expected a folder with yields.csv", "found a file"):
        read_crops(path)


@pytest.mark.parametrize(
    ("plot", "words"),
    [
        (("north", 2009, "Arina", "70"), "site north, year 2009 has no row in weather.csv"),
        (("east", 2003, "Arina", "70"), "site east, year 2003 has no row in weather.csv"),
        (("east", 2003, "Arina", "NA"), "site east, year 2003 has no row in weather.csv"),
        (("", 2003, "Arina", "70"), "site is empty"),
        (("  ", 2003, "Arina", "70"), "site is empty"),
        (("north", 2003, "", "70"), "variety is empty"),
        (("north", "", "Arina", "70"), "year must be a whole number, got ''"),
        (("north", "2003.5", "Arina", "70"), "year must be a whole number, got '2003.5'"),
        (("north", 2003, "Arina", "high"), "yield must be a number, got 'high'"),
        (("north", 2003, "Arina", "nan"), "yield must be a number, got 'nan'"),
        (("north", 2003, "Arina", "-inf"), "yield must be a number, got '-inf'"),
        (("north", 2003, "Arina"), "expected 4 cells, got 3"),
        (("north", 2003, "Arina", 70, 5), "expected 4 cells, got 5"),
    ],
    ids=[
        "year without weather",
        "site without weather",
        "no yield and no weather",
        "empty site",
        "blank site",
        "empty variety",
        "empty year",
        "half a year",
        "word",
        "nan",
        "infinite",
        "short row",
        "long row",
    ],
)
def test_a_bad_plot_is_refused_with_its_line(tmp_path: Path, plot: Cells, words: str) -> None:
    folder = put(tmp_path, [*PLOTS[:4], plot, *PLOTS[4:]])
    with refused(ValueError, f"{folder / 'yields.csv'} line 6", words):
        read_crops(folder)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("south", 2001, 1, 2, 3), "site south, year 2001 comes again, first on line 5"),
        (("", 2001, 1, 2, 3), "site is empty"),
        (("north", "", 1, 2, 3), "year must be a whole number, got ''"),
        (("north", 2004, 1, "", 3), "day must be a number, got ''"),
        (("north", 2004, 1, 2, "NA"), "heat must be a number, got 'NA'"),
        (("north", 2004, "inf", 2, 3), "rain must be a number, got 'inf'"),
        (("north", 2004, 1, 2), "expected 5 cells, got 4"),
    ],
    ids=["season twice", "empty site", "empty year", "empty factor", "missing factor", "infinite factor", "short row"],
)
def test_a_bad_season_is_refused_with_its_line(tmp_path: Path, row: Cells, words: str) -> None:
    seasons: list[Cells] = [(*season, *factors) for season, factors in WEATHER.items()]
    folder = put(tmp_path, weather=[*seasons[:5], row, *seasons[5:]])
    with refused(ValueError, f"{folder / 'weather.csv'} line 7", words):
        read_crops(folder)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [("site,year,rain\n", "a row for each season"), ("site,year\nnorth,2001\n", "factors beside site and year")],
    ids=["no seasons", "no factors"],
)
def test_weather_without_any_factor_or_season_is_refused(tmp_path: Path, content: str, wanted: str) -> None:
    path = put(tmp_path) / "weather.csv"
    path.write_text(content)
    with refused(ValueError, f"{path} line 1", f"expected {wanted}, got none"):
        read_crops(tmp_path)


@pytest.mark.parametrize(
    ("plots", "number"),
    [([], 0), (PLOTS[:1], 1), ([(*plot[:3], 50) for plot in PLOTS], len(PLOTS))],
    ids=["none", "one", "equal"],
)
def test_trials_of_one_yield_are_refused(tmp_path: Path, plots: Sequence[Cells], number: int) -> None:
    with refused(ValueError, f"{tmp_path / 'yields.csv'} line 1", f"different yields, got {number} plots"):
        read_crops(put(tmp_path, plots))


def test_a_season_all_of_whose_yields_are_missing_is_refused_with_its_first_line(tmp_path: Path) -> None:
    folder = put(tmp_path, [*PLOTS, ("alp", 2002, "Arina", "NA"), PLOTS[0], ("alp", 2002, "Runal", "")])
    with refused(ValueError, f"{folder / 'yields.csv'} line {len(PLOTS) + 2}", "site alp, year 2002 has no yield"):
        read_crops(folder)


def test_of_many_seasons_without_yields_the_first_of_the_file_is_refused(tmp_path: Path) -> None:
    """If the order were that of a set, the first would come first in one of a hundred processes."""
    empty = [("west", year) for year in range(2099, 1999, -1)]
    seasons = [(*season, *factors) for season, factors in WEATHER.items()]
    folder = put(
        tmp_path,
        [*PLOTS, *((*season, "Arina", "NA") for season in empty)],
        [*seasons, *((*season, 1.0, 0.3, 2.0) for season in empty)],
    )
    with refused(ValueError, f"{folder / 'yields.csv'} line {len(PLOTS) + 2}", "site west, year 2099 has no yield"):
        read_crops(folder)


@pytest.fixture(scope="module")
def generated() -> CropData:
    return generated_crops()


def test_generated_trials_have_the_size_of_the_paper(generated: CropData) -> None:
    """With only 4,000 measurements, some varieties would have hardly any; the paper has 8,849."""
    assert generated.source == "generated"
    assert (len(generated.varieties), len(generated.sites), len(generated.factor_names)) == (198, 10, 16)
    assert len({year for _, year in generated.seasons}) == 15
    assert generated.factors.shape == (len(generated.seasons), 26)
    assert 4_000 < len(generated.yields) < 16_000
    assert set(generated.variety.tolist()) == set(range(198))
    assert set(generated.season.tolist()) == set(range(len(generated.seasons)))
    assert set(generated.weather) >= set(generated.seasons)
    assert (generated.yields >= 0.0).all()
    assert generated.left_out == 0


def test_generated_trials_have_up_to_three_replicates(generated: CropData) -> None:
    counts: dict[tuple[int, int], int] = {}
    for cell in zip(generated.season.tolist(), generated.variety.tolist(), strict=True):
        counts[cell] = counts.get(cell, 0) + 1
    assert set(counts.values()) == {1, 2, 3}
    assert len(generated.residuals) == sum(n for n in counts.values() if n > 1)


def test_generated_trials_are_told_by_the_seed(generated: CropData) -> None:
    again, other = generated_crops(0), generated_crops(1)
    assert again.seasons == generated.seasons
    np.testing.assert_array_equal(again.yields, generated.yields)
    np.testing.assert_array_equal(again.season, generated.season)
    np.testing.assert_array_equal(again.variety, generated.variety)
    np.testing.assert_array_equal(again.factors, generated.factors)
    assert other.yields.tolist() != generated.yields.tolist()


@needs("agroscope")
def test_the_swiss_trials() -> None:
    found = read_crops(FOLDER / "agroscope")
    assert (len(found.yields), len(found.varieties), len(found.sites), len(found.seasons)) == (8_849, 198, 10, 87)
    assert len(found.factor_names) == 24
    assert found.factors.shape == (87, 20 + 10)
    assert found.left_out == 0
    assert (found.yields.min(), found.yields.max()) == (0.0, 121.2)
    assert round(float(found.yields.mean()), 1) == 70.3
    counts = np.unique(np.stack([found.season, found.variety]), axis=1, return_counts=True)[1].tolist()
    assert [counts.count(n) for n in (1, 2, 3)] == [37, 85, 2_845]
    assert len(found.residuals) == 8_849 - 37
    assert math.isclose(float(found.residuals.sum()), 0.0, abs_tol=1e-9)


@needs("agroscope")
def test_the_folder_above_the_swiss_trials() -> None:
    assert read_crops(FOLDER).source == str(FOLDER / "agroscope")


@needs("wheat_california")
def test_the_californian_trials() -> None:
    found = read_crops(FOLDER / "wheat_california")
    assert (len(found.yields), len(found.varieties), len(found.sites), len(found.seasons)) == (13_953, 211, 9, 103)
    assert found.left_out == 43
    assert len(found.factor_names) == 16
    assert found.factors.shape == (103, 25)
    assert len(found.weather) == 9 * 128
    assert int((found.yields == 0.0).sum()) == 2
    climate = found.climate(30)
    assert climate.shape == (103, 30, 25)
    np.testing.assert_array_equal(climate[..., 16:], np.repeat(found.factors[:, None, 16:], 30, axis=1))
