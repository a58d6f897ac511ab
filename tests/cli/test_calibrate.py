"""The command that judges a file of forecasts."""

from __future__ import annotations

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
    assert f"temp: {rows} outcomes are too few to judge by" in text


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
    def interrupted(record: ForecastRecord) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("overcast.experiments.comparisons.calibrate.judge", interrupted)
    path = tmp_path / "few.csv"
    path.write_text("temp,tempfc.1,tempfc.2\n3,1,2\n")
    assert command("calibrate", path, "--out", tmp_path) == (130, "", "overcast: stopped\n")


def test_calibrate_names_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_text("temp,tempfc.1\n1,2\n1,cold\n")
    code, text, error = command("calibrate", path, "--out", tmp_path)
    assert (code, text) == (1, "")
    assert error == f"overcast: {path} line 3: tempfc.1 must be a number, got 'cold'\n"
    assert command("calibrate", tmp_path / "none.csv")[0] == 1
