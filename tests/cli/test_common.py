"""Arguments that are not of their type, tables in the terminal, colours and time."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path

import pytest

from overcast.cli import main
from overcast.cli.common import Watch, age, painted, print_rows


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--betas", "1,x"], "--betas: expected numbers with commas between, e.g. 0.5,1,2, got '1,x'"),
        (["--betas", "-1"], "--betas: expected numbers >= 0, got '-1'"),
        (["--betas", "nan"], "--betas: expected numbers with commas between"),
        (["--betas", ""], "--betas: expected numbers with commas between"),
        (["--noise", "loud"], "--noise: expected numbers with commas between, e.g. 0.5,1,2, got 'loud'"),
        (["--noise", "inf"], "--noise: expected numbers with commas between"),
        (["--belief", "none"], "--belief: invalid choice: 'none'"),
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


def test_first_columns_are_flush_left_and_the_others_flush_right(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("name", "kind", "regret"), ("a", "long one", "1.0"), ("longer", "b", "")]
    print_rows(rows, left=2)
    assert capsys.readouterr().out.splitlines() == [
        "name    kind      regret",
        "a       long one     1.0",
        "longer  b",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "variables", "colours"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
    ids=["terminal", "empty NO_COLOR", "NO_COLOR", "dumb terminal", "pipe"],
)
def test_colours_are_for_terminals_that_want_them(
    stream: io.StringIO, variables: dict[str, str], colours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert painted("yes", 32) == ("\x1b[32myes\x1b[0m" if colours else "yes")


def test_colours_do_not_move_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_rows([("a", "b"), ("long", "1")])
    assert stream.getvalue() == "\x1b[1ma     b\x1b[0m\nlong  1\n"


def test_laps_add_up_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 13.0, 18.0, 20.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(times))
    watch = Watch()
    assert [watch.lap(), watch.lap()] == [3.0, 5.0]
    assert watch.whole == 10.0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells when a process began")
def test_the_watch_of_a_command_counts_from_the_start_of_its_process() -> None:
    program = "import time; time.sleep(0.5); from overcast.cli.common import Watch, age; print(Watch(age()).whole)"
    start = time.perf_counter()
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (
        0.5 <= float(ended.stdout) <= time.perf_counter() - start + 0.05
    )  # the clock of processes ticks in hundredths


def test_without_the_files_of_linux_a_process_has_no_age(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: Path, **given: object) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_text", missing)
    assert age() == 0.0
