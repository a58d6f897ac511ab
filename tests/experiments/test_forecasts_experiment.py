"""Decisions by forecasts as they came and recalibrated, and the command that judges a file of forecasts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import overcast as oc
from experiment_support import Command
from overcast.calibration import check, recalibrate
from overcast.datasets.forecasts import ForecastRecord, generated_forecasts, read_innsbruck
from overcast.experiments.calibrate import judge
from overcast.experiments.forecasts import DEGREES, Found, Job, Shortage, compute, picture, run
from real_data import FOLDER, needs

pytest.importorskip("scoringrules")
FILES = {"summary.json", "figure.png", "figure.pdf", "calibration.png", "calibration.pdf", "parts"}


@pytest.fixture(scope="module")
def record() -> ForecastRecord:
    return generated_forecasts().first(120)


def found_in(record: ForecastRecord, regret: np.ndarray[tuple[int, int, int], np.dtype[np.float64]]) -> Found:
    return Found(judge(record), regret, 0, 1.0)


def test_features_by_hand() -> None:
    phi = Shortage(critical=2.0)(np.array([[0.0], [3.0]]), np.array([[-4.0], [1.0], [7.0]]))
    np.testing.assert_array_equal(phi[..., 0], [[0, 0, 0], [3, 3, 3]])
    np.testing.assert_array_equal(phi[..., 1], [[6, 1, 0], [3, 0, 0]])


def test_regret_is_against_the_best_action_for_the_weather_that_came(record: ForecastRecord) -> None:
    """All of a trial again, with loops: the best under corrected forecasts, were rewards known."""
    regret = compute(Job(record, seed=3, trial=1))
    assert regret.shape == (4, 120)
    assert (regret >= 0.0).all()
    rng = np.random.default_rng([3, 1])
    damage, critical = rng.uniform(0.3, 1.2), rng.uniform(-5.0, 5.0)

    def reward(x: float, c: float) -> float:
        return float(-0.1 * x - damage * max(critical - x - c, 0.0))

    choices = DEGREES[:, 0].tolist()
    fixed = recalibrate(record.beliefs, record.outcomes)
    for row, beliefs in ((2, record.beliefs), (3, fixed)):
        for day in range(0, 120, 7):
            finite = beliefs[day].support()
            assert finite is not None
            means = [np.mean([reward(x, c) for c in finite[0][:, 0]]) for x in choices]
            came = [reward(x, record.outcomes[day, 0]) for x in choices]
            assert regret[row, day] == pytest.approx(max(came) - came[int(np.argmax(means))])


def test_interval_is_students(record: ForecastRecord) -> None:
    regret = np.zeros((3, 4, 120))
    regret[:, 0, 0] = [1.0, 2.0, 6.0]
    low, high = found_in(record, regret).interval()
    half = 4.302652729911275 * np.sqrt(7.0) / np.sqrt(3.0)
    assert [low, high] == pytest.approx([3.0 - half, 3.0 + half])
    assert found_in(record, regret).tenths_won() == 1


def test_interrupted_runs_resume(record: ForecastRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = record.first(60)
    first = run(short, 2, 0, tmp_path, None, lambda: None)
    done: list[int] = []
    monkeypatch.setattr("overcast.experiments.forecasts.compute", lambda job: pytest.fail("computed again"))
    again = run(short, 2, 0, tmp_path, None, lambda: done.append(1))
    np.testing.assert_array_equal(first.regret, again.regret)
    assert len(done) == 2


def test_the_command_writes_all_files_and_prints_the_table(command: Command, tmp_path: Path) -> None:
    args = ["--trials", "3", "--steps", "150", "--workers", "1", "--out", tmp_path]
    code, text, error = command("reproduce", "forecasts", *args)
    assert (code, error) == (0, "")
    assert {path.name for path in (tmp_path / "forecasts").iterdir()} == FILES
    assert "3 trials of 150 steps, data generated" in text
    assert "Recalibration saves " in text
    summary = json.loads((tmp_path / "forecasts" / "summary.json").read_text())
    assert (summary["trials"], summary["steps"], summary["seed"]) == (3, 150, 0)
    raw, fixed = summary["variants"]
    assert raw["forecasts"] == "as they came"
    assert fixed["regret"]["mean"] < raw["regret"]["mean"]
    assert summary["saved"]["mean"] == pytest.approx(raw["regret"]["mean"] - fixed["regret"]["mean"])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--betas", "1"], "--betas is for the figures of the paper"),
        (["--noise", "0"], "--noise is for movielens"),
        (["--data", "nowhere"], "nowhere: expected a folder with innsbruck_joint_rain_temp.csv"),
    ],
)
def test_options_that_do_not_fit_are_refused(command: Command, tmp_path: Path, args: list[str], message: str) -> None:
    code, _, error = command("reproduce", "forecasts", *args, "--out", tmp_path)
    assert code == 1
    assert message in error


def test_calibrate_prints_the_verdict_and_draws(command: Command, tmp_path: Path) -> None:
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
def test_calibrate_takes_very_few_rows(command: Command, tmp_path: Path, rows: int) -> None:
    path = tmp_path / "few.csv"
    path.write_text("temp,tempfc.1,tempfc.2\n" + "3,1,2\n" * rows)
    code, text, error = command("calibrate", path, "--out", tmp_path)
    assert (code, error) == (0, "")
    assert f"temp: {rows} outcomes are too few to judge by" in text


@pytest.mark.parametrize("wrong", [1.0, 100.0])
def test_calibrate_takes_one_member(command: Command, tmp_path: Path, wrong: float) -> None:
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


def test_calibrate_says_at_once_that_it_cannot_write(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("temp,tempfc.1,tempfc.2\n3,1,2\n")
    code, text, error = command("calibrate", path, "--out", path)
    assert (code, text) == (1, "")
    assert str(path) in error


def test_calibrate_has_nothing_to_resume(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(record: ForecastRecord) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("overcast.experiments.calibrate.judge", interrupted)
    path = tmp_path / "few.csv"
    path.write_text("temp,tempfc.1,tempfc.2\n3,1,2\n")
    assert command("calibrate", path, "--out", tmp_path) == (130, "", "overcast: stopped\n")


def test_all_curves_start_on_the_first_day(record: ForecastRecord) -> None:
    ax = picture(found_in(record, np.ones((3, 4, 120)))).axes[0]
    assert {(min(days), max(days)) for days in (np.asarray(line.get_xdata()) for line in ax.lines)} == {(1, 120)}


def test_calibrate_names_what_is_wrong_with_a_file(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_text("temp,tempfc.1\n1,2\n1,cold\n")
    code, text, error = command("calibrate", path, "--out", tmp_path)
    assert (code, text) == (1, "")
    assert error == f"overcast: {path} line 3: tempfc.1 must be a number, got 'cold'\n"
    assert command("calibrate", tmp_path / "none.csv")[0] == 1


def test_judged_halves(record: ForecastRecord) -> None:
    judged = judge(record)
    assert (len(judged.whole), len(judged.before), len(judged.after)) == (120, 60, 60)
    same = check(recalibrate(record.beliefs, record.outcomes)[60:], record.outcomes[60:], record.names)
    np.testing.assert_array_equal(judged.after.pit, same.pit)
    assert isinstance(judged.after.beliefs[0], oc.Ensemble)


@needs("forecast_innsbruck")
def test_recalibration_has_clearly_less_regret_at_innsbruck(tmp_path: Path) -> None:
    """Three crops over the whole record: less than three quarters of the regret for each, and less in every tenth."""
    found = run(read_innsbruck(FOLDER, "temp"), 3, 0, tmp_path, None, lambda: None)
    totals = found.regret.sum(axis=2)
    assert (totals[:, 1] < 0.75 * totals[:, 0]).all()
    assert found.interval()[0] > 0.25 * totals[:, 0].mean()
    assert found.tenths_won() == 10
    assert 0.75 <= found.judged.after.coverage(0.8)[0] <= 0.85
    assert found.judged.before.coverage(0.8)[0] < 0.02
