"""The command, as a user runs it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

import overcast
from overcast.cli import calibrate, entry, main
from overcast.cli.entry import COMMANDS
from overcast.experiments.engine import run
from overcast.experiments.engine.experiment import Part


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"overcast {overcast.__version__}\n"


def test_without_arguments_it_says_what_it_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"{overcast.__doc__}\n")
    for command in COMMANDS:
        assert f"  {command.__name__.rpartition('.')[2]:<12}{command.HELP}\n" in page
    assert "needs pip install" not in page, "everything is installed here"
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == page


def test_it_says_which_command_needs_an_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry, "lacking", lambda extras: ["matplotlib"] if extras == "plot,scores" else [])
    assert main([]) == 0
    page = capsys.readouterr().out
    assert f"{calibrate.HELP}\n{'':14}needs pip install 'overcast[plot,scores]'\n" in page
    assert page.count("needs pip install") == 1


def test_no_help_is_wider_than_80_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for args in ([], *([command.__name__.rpartition(".")[2]] for command in COMMANDS)):
        with pytest.raises(SystemExit):
            main([*args, "--help"])
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) > 5
        assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["fly"], "overcast: COMMAND: invalid choice: 'fly'"),
        (["reproduce"], "overcast reproduce: the following arguments are required: EXPERIMENT"),
        (["reproduce", "synthetic", "--tri", "3"], "overcast reproduce: unrecognized arguments: --tri 3"),
        (["doctor", "--bad"], "overcast doctor: unrecognized arguments: --bad; see overcast doctor --help"),
        (["--bad"], "overcast: unrecognized arguments: --bad; see overcast --help"),
    ],
)
def test_what_is_not_understood_is_one_line(args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The name of an option is not abbreviated, so that a new one cannot change what an old command means."""
    with pytest.raises(SystemExit) as stop:
        main(args)
    assert stop.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(message)
    assert printed.err.endswith(" --help\n")
    assert printed.err.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert main(["reproduce", "synthetic", "--quick", "--workers", "1", "--out", str(blocked)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("overcast: ")
    assert str(blocked) in error
    assert error.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="needs pipes that break")
@pytest.mark.parametrize("buffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, buffered: str) -> None:
    """As in `overcast calibrate FILE | head -1`: the rest is thrown away, and the exit code is that of the signal."""
    path = tmp_path / "few.csv"
    path.write_text("temp,tempfc.1,tempfc.2\n3,1,2\n")
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as unread:
        ended = subprocess.run(
            [sys.executable, "-m", "overcast.cli", "calibrate", path, "--out", tmp_path],
            stdout=unread,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": buffered},
        )
    assert (ended.returncode, ended.stderr) == (141, "")


def test_a_pipe_that_breaks_in_a_worker_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def compute(part: Part) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr(run, "compute", compute)
    assert main(["reproduce", "synthetic", "--quick", "--workers", "1", "--out", str(tmp_path)]) == 1
    said = "overcast: a worker lost a connection: [Errno 32] Broken pipe; run the same command again\n"
    assert capsys.readouterr() == ("", said)


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
    assert under_way in ([], ["overcast: finishing what is under way; interrupt again to give it up"])
    kept = len(list(tmp_path.rglob("*.npz")))
    assert 0 < kept < 28
    assert not (tmp_path / "synthetic" / "summary.json").exists()
    again = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "hidden, expectation" in again.stdout
    assert len(list(tmp_path.rglob("*.npz"))) == 28


# A run long enough to be interrupted: fits of some seconds each, then parts.
LONG = ["-m", "overcast.cli", "reproduce", "movielens", "--trials", "400", "--steps", "3000", "--workers", "2", "--out"]


def started(out: Path) -> subprocess.Popen[str]:
    """Start a long run in a process group of its own, and wait for its workers."""
    process = subprocess.Popen(
        [sys.executable, *LONG, str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(psutil.Process(process.pid).children()) >= 2)
    return process


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


@pytest.mark.skipif(os.name != "posix", reason="needs process groups")
def test_ctrl_c_during_the_embedding_keeps_the_fits_and_the_second_gives_up_what_is_under_way(tmp_path: Path) -> None:
    process = started(tmp_path)
    workers = psutil.Process(process.pid).children(recursive=True)
    wait_for(lambda: bool(list(tmp_path.rglob("*.npz"))))
    os.killpg(process.pid, signal.SIGINT)
    assert process.stderr is not None
    first = process.stderr.readline()  # between two phases nothing is under way, and it stops at once
    if first == "overcast: finishing what is under way; interrupt again to give it up\n":
        os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=30)
    error = first + error
    assert process.returncode == 130, error
    assert error.splitlines()[-1] == "overcast: stopped; run the same command again to go on from here"
    assert "Traceback" not in error
    assert list(tmp_path.rglob("*.npz"))
    wait_for(lambda: not any(worker.is_running() for worker in workers))


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    process = started(tmp_path)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate(timeout=30)
    wait_for(lambda: not any(worker.is_running() for worker in workers))
