"""What experiments print when they have run: JSON, and the seconds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from overcast.cli import main, reproduce
from overcast.cli.common import Watch
from overcast.experiments.engine import executors

SMALL = ["--trials", "3", "--steps", "5", "--workers", "1"]


def test_json_is_the_summary_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "synthetic", *SMALL, "--json", "--out", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    folder = tmp_path / "synthetic"
    written = json.loads((folder / "summary.json").read_text())
    assert printed["seconds"] > written["seconds"], "reading, drawing and writing count too"
    assert printed == {**written, "seconds": printed["seconds"], "folder": str(folder)}


@pytest.mark.parametrize("experiment", ["all", "untuned", "forecasts"])
def test_every_experiment_has_json(
    experiment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reproduce, "FIGURE_1", ("synthetic",))  # the other panels take longer
    args = ["--trials", "2", "--steps", "3", "--workers", "1", "--json", "--out", str(tmp_path)]
    assert main(["reproduce", experiment, *args]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("folder") == str(tmp_path / experiment)
    written = json.loads((tmp_path / experiment / "summary.json").read_text())
    assert printed == {**written, "seconds": printed["seconds"]}


def test_the_seconds_are_those_that_the_user_waited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when all parts are there already, and nothing is left to compute."""
    args = ["reproduce", "synthetic", *SMALL, "--out", str(tmp_path)]
    assert main(args) == 0
    capsys.readouterr()
    monkeypatch.setattr(Watch, "lap", lambda watch: 12.34)
    assert main(args) == 0
    folder = tmp_path / "synthetic"
    assert capsys.readouterr().out.endswith(f"\n12.3 s. Open {folder / 'report.html'} or {folder / 'figure.png'}\n")


@pytest.mark.parametrize("experiment", ["synthetic", "policies", "forecasts"])
def test_the_seconds_include_the_end_of_the_workers(
    experiment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    @contextmanager
    def workers(number: int) -> Iterator[None]:
        yield None
        seen.append("workers are gone")

    def lap(watch: Watch) -> float:
        seen.append("seconds are said")
        return 1.0

    monkeypatch.setattr(executors, "process_executor", workers)
    monkeypatch.setattr(Watch, "lap", lap)
    monkeypatch.setattr(reproduce, "FIGURE_1", ("synthetic",))
    assert main(["reproduce", experiment, "--trials", "2", "--steps", "3", "--out", str(tmp_path)]) == 0
    assert seen == ["workers are gone", "seconds are said"]
