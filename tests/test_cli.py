"""The command, as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import overcast
from overcast.cli import main

SMALL = ["--trials", "3", "--steps", "5", "--workers", "1"]
FILES = {"summary.json", "figure.png", "figure.pdf", "curves.parquet", "report.html", "parts"}


def test_reproduce_writes_all_files_and_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "synthetic", *SMALL, "--out", str(tmp_path)]) == 0
    assert {path.name for path in (tmp_path / "synthetic").iterdir()} == FILES
    printed = capsys.readouterr()
    assert "hidden, expectation" in printed.out
    assert str(tmp_path / "synthetic" / "report.html") in printed.out
    assert printed.err == "", "no progress bar in a pipe"


def test_flags_reach_the_experiment(tmp_path: Path) -> None:
    args = ["--betas", "0.5,2,2", "--seed", "7", "--quick", "--trials", "2", "--workers", "1"]
    assert main(["reproduce", "synthetic", *args, "--out", str(tmp_path)]) == 0
    summary = json.loads((tmp_path / "synthetic" / "summary.json").read_text())
    assert (summary["trials"], summary["steps"], summary["seed"]) == (2, 100, 7)
    assert {variant["beta"] for variant in summary["grid"]} == {0.5, 2.0}


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"overcast {overcast.__version__}\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--betas", "1,x"], "--betas: expected numbers >= 0 with commas between, e.g. 0.5,1,2, got '1,x'"),
        (["--betas", "-1"], "--betas: expected numbers >= 0"),
        (["--betas", "nan"], "--betas: expected numbers >= 0"),
        (["--trials", "0"], "--trials: expected a whole number >= 1, got '0'"),
        (["--steps", "1.5"], "--steps: expected a whole number >= 1, got '1.5'"),
        (["--seed", "-3"], "--seed: expected a whole number >= 0, got '-3'"),
        (["--workers", "many"], "--workers: expected a whole number >= 1, got 'many'"),
    ],
)
def test_bad_flags_are_refused_in_one_line(args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "synthetic", *[f"{args[0]}={args[1]}"]])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert main(["reproduce", "synthetic", *SMALL, "--out", str(blocked)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("overcast: ")
    assert str(blocked) in error
    assert error.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="needs process groups")
def test_ctrl_c_stops_cleanly_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """The interrupt goes to the whole group, as a terminal sends it, once the first part is there."""
    command = [sys.executable, "-m", "overcast.cli", "reproduce", "synthetic", "--trials", "400", "--steps", "250"]
    command += ["--workers", "2", "--out", str(tmp_path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.rglob("*.npz")) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, (out, error)
    *under_way, last = error.splitlines()
    assert last == "overcast: stopped; run the same command again to go on from here"
    assert under_way in ([], ["overcast: finishing the parts under way"])
    kept = len(list(tmp_path.rglob("*.npz")))
    assert 0 < kept < 28
    assert not (tmp_path / "synthetic" / "summary.json").exists()
    again = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "hidden, expectation" in again.stdout
    assert len(list(tmp_path.rglob("*.npz"))) == 28
