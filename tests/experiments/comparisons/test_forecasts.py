"""Decisions by forecasts as they came and recalibrated, and the command that judges a file of forecasts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiment_support import Command
from overcast.calibration import recalibrate
from overcast.datasets.forecasts import ForecastRecord, read_innsbruck
from overcast.experiments.comparisons.calibrate import judge
from overcast.experiments.comparisons.forecasts import DEGREES, ForecastsResult, Job, Shortage, compute, picture, run
from real_data import FOLDER, needs

pytest.importorskip("scoringrules")
FILES = {"summary.json", "figure.png", "figure.pdf", "calibration.png", "calibration.pdf", "verification.png", "parts"}


def found_in(record: ForecastRecord, regret: np.ndarray[tuple[int, int, int], np.dtype[np.float64]]) -> ForecastsResult:
    return ForecastsResult(judge(record), regret, 0, 1.0)


def test_features_by_hand() -> None:
    phi = Shortage(critical=2.0)(np.array([[0.0], [3.0]]), np.array([[-4.0], [1.0], [7.0]]))
    np.testing.assert_array_equal(phi[..., 0], [[0, 0, 0], [3, 3, 3]])
    np.testing.assert_array_equal(phi[..., 1], [[6, 1, 0], [3, 0, 0]])


def test_regret_is_against_the_best_action_for_the_weather_that_came(record: ForecastRecord) -> None:
    """All of a trial again, with loops: the best under corrected forecasts, were rewards known."""
    regret = compute(Job(record, seed=3, trial=1))["regret"]
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
    assert found_in(record, regret).number_of_tenths_won() == 1


def test_interrupted_runs_resume(record: ForecastRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = record.first(60)
    first = run(short, 2, 0, tmp_path, None, lambda: None)
    done: list[int] = []
    monkeypatch.setattr("overcast.experiments.comparisons.forecasts.compute", lambda job: pytest.fail("computed again"))
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


def test_all_curves_start_on_the_first_day(record: ForecastRecord) -> None:
    ax = picture(found_in(record, np.ones((3, 4, 120)))).axes[0]
    assert {(min(days), max(days)) for days in (np.asarray(line.get_xdata()) for line in ax.lines)} == {(1, 120)}


@needs("forecast_innsbruck")
def test_recalibration_has_clearly_less_regret_at_innsbruck(tmp_path: Path) -> None:
    """Three crops over the whole record: less than three quarters of the regret for each, and less in every tenth."""
    found = run(read_innsbruck(FOLDER, "temp"), 3, 0, tmp_path, None, lambda: None)
    totals = found.regret.sum(axis=2)
    assert (totals[:, 1] < 0.75 * totals[:, 0]).all()
    assert found.interval()[0] > 0.25 * totals[:, 0].mean()
    assert found.number_of_tenths_won() == 10
    assert 0.75 <= found.judged.after.coverage(0.8)[0] <= 0.85
    assert found.judged.before.coverage(0.8)[0] < 0.02
