"""The command that judges a file of forecasts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiment_support import command
from overcast.datasets.forecasts import ForecastRecord


def test_calibrate_prints_the_verdict_and_draws(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    means = rng.uniform(50, 100, 200)
    rows = [f"2026-01-01,{rng.normal(m + 5, 8):.2f},{m:.2f},2" for m in means]
    path = tmp_path / "shop.csv"
    path.write_text("\n".join(["date,demand,demand_mean,demand_sd", *rows, "2026-08-01,,80,2"]) + "\n")
    code, text, error = command("calibrate", path, "--out", tmp_path)
    assert (code, error) == (0, "")
    assert text.startswith("demand: your forecasts are too low by ")
    assert "over-confident by a factor 3.8" in text
    assert "1 rows without an outcome are left out." in text
    assert "The last 100 of 200, each corrected by what was known by then" in text
    assert "demand  recalibrated" in text
    for name in ("calibration.png", "calibration.pdf"):
        assert (tmp_path / "calibrate" / name).stat().st_size > 5_000
    assert str(tmp_path / "calibrate" / "calibration.png") in text


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_calibrate_takes_very_few_rows(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "few.csv"
    path.write_text("temp,tempfc.1,tempfc.2\n" + "3,1,2\n" * rows)
    code, text, error = command("calibrate", path, "--out", tmp_path)
    assert (code, error) == (0, "")
    assert text == f"temp: {rows} outcomes are too few to judge by; come back with 50 or more.\n"
    assert not (tmp_path / "calibrate" / "calibration.png").exists()
    code, text, error = command("calibrate", path, "--out", tmp_path, "--json")
    assert json.loads(text)["outcomes"] == rows


@pytest.mark.parametrize("wrong", [1.0, 100.0])
def test_calibrate_takes_one_member(tmp_path: Path, wrong: float) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{wrong * rng.normal():.3f},{rng.normal():.3f}" for _ in range(200)]
    path = tmp_path / "one.csv"
    path.write_text("\n".join(["temp,tempfc.1", *rows]) + "\n")
    code, text, error = command("calibrate", path, "--out", tmp_path)
    assert (code, error) == (0, "")
    said = "temp: your forecasts are over-confident: too often they leave no room for error"
    assert text.startswith(f"{said}: nominal 80 % intervals cover 0 %.")
    assert "temp  as they came           80%: 0%     100%" in text
    assert (tmp_path / "calibrate" / "calibration.png").stat().st_size > 5_000


def test_calibrate_says_at_once_that_it_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("temp,tempfc.1,tempfc.2\n3,1,2\n")
    code, text, error = command("calibrate", path, "--out", path)
    assert (code, text) == (1, "")
    assert str(path) in error


def test_calibrate_has_nothing_to_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(record: ForecastRecord, *others: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("overcast.experiments.comparisons.calibrate.judge", interrupted)
    path = tmp_path / "few.csv"
    path.write_text("temp,tempfc.1,tempfc.2\n" + "3,1,2\n" * 10)
    assert command("calibrate", path, "--out", tmp_path) == (130, "", "overcast: stopped\n")


def station(folder: Path, days: int = 120) -> Path:
    """Write rain at two lead times, with semicolons, some members missing, and columns that nobody else names so."""
    rng = np.random.default_rng(0)
    rows = []
    for day in range(days):
        latent = rng.normal(0.0, 3.0)
        members = [f"{max(latent + rng.normal(), 0.0):.2f}" for _ in range(4)]
        members[0] = "NA" if day % 10 == 0 else members[0]
        rows.append(f"{24 * (1 + day % 2)};{max(latent + rng.normal(), 0.0):.2f};{';'.join(members)}")
    path = folder / "station.csv"
    path.write_text("\n".join(["lead;gauge;run_a;run_b;run_c;run_d", *rows]) + "\n")
    return path


def test_calibrate_reads_the_files_that_people_have(tmp_path: Path) -> None:
    path = station(tmp_path)
    options = ("--columns", "gauge=run_*", "--by", "lead", "--bounds", "gauge=0:", "--event", "gauge > 1")
    code, text, error = command("calibrate", path, *options, "--out", tmp_path)
    assert (code, error) == (0, "")
    assert "12 members or quantiles are missing; the others of their rows count." in text
    assert "gauge, 24  recalibrated" in text
    assert "gauge, 48  as they came" in text
    assert "gauge > 1, recalibrated: Brier score " in text
    written = json.loads((tmp_path / "calibrate" / "calibration.json").read_text())
    assert written["missing"] == 12
    assert written["recalibrated"]["groups"]["24"]["outcomes"] == 30
    assert (tmp_path / "calibrate" / "verification.png").stat().st_size > 5_000
    code, text, error = command("calibrate", path, *options, "--memory", "30", "--json", "--out", tmp_path)
    assert (code, error) == (0, "")
    other = json.loads(text)
    assert other["as_they_came"] == written["as_they_came"]
    assert other["recalibrated"] != written["recalibrated"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--columns", "gauge"], "--columns: expected OUTCOME=PATTERN such as obs=member*, got 'gauge'"),
        (["--columns", "rain=run_*"], "line 1: expected a column rain, which --columns names"),
        (["--columns", "gauge=member*"], "line 1: expected columns like member*, which --columns names"),
        (["--columns", "gauge=run_*", "--by", "month"], "month is missing"),
        (
            ["--columns", "gauge=run_*", "--bounds", "0"],
            "--bounds: expected [NAME=]LOW:HIGH with one of gauge, got ",
        ),
        (["--columns", "gauge=run_*", "--bounds", "wet=0:"], "--bounds: expected [NAME=]LOW:HIGH with one of gauge"),
        (["--columns", "gauge=run_*", "--bounds", "a:b"], "--bounds: expected"),
        (["--columns", "gauge=run_*", "--bounds", "1:0"], "Recalibrated: bounds must be low < high"),
        (
            ["--columns", "gauge=run_*", "--bounds", "1:"],
            "Recalibrated: context must lie within the bounds (1.0",
        ),
        (["--columns", "gauge=run_*", "--event", "wet"], "Event: event must be like 'gauge < 0'"),
        (["--columns", "gauge=run_*", "--by", ""], "calibrate: --by must name a column, got nothing"),
        (["--columns", "gauge=run_*", "--event", "gauge < nan"], "Event: event must be like 'gauge < 0'"),
        (["--columns", "gauge=run_*", "--memory", "1" * 30], "Recalibrated: memory must be 1000000000 at most"),
        (["--columns", "gauge=run_*"] * 2, "--columns: expected every column once, got gauge twice"),
        (["--columns", "gauge=run_a", "--columns", "run_b=run_*"], "every column once, got run_a twice"),
        ([], "expected a column NAME of outcomes"),
    ],
)
def test_calibrate_says_in_one_line_what_is_wrong_with_its_options(
    tmp_path: Path, options: list[str], message: str
) -> None:
    for rows in (20, 5) if message.startswith(("Event", "--")) else (20,):
        code, text, error = command("calibrate", station(tmp_path, rows), *options, "--out", tmp_path)
        assert (code, text) == (1, "")
        assert message in error
        assert error.count("\n") == 1


def test_calibrate_names_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_text("temp,tempfc.1\n1,2\n1,cold\n")
    code, text, error = command("calibrate", path, "--out", tmp_path)
    assert (code, text) == (1, "")
    assert error == f"overcast: {path} line 3: tempfc.1 must be a number, got 'cold'\n"
    assert command("calibrate", tmp_path / "none.csv")[0] == 1
