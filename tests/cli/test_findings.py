"""What the command prints about an experiment; the tests of the commands read the tables."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from overcast.cli.findings import _print_verdicts, print_end
from overcast.experiments.engine.outcome import Verdict

VERDICTS = [Verdict("it learns", "yes", "1 < 2"), Verdict("it flies", "no", "3 > 2")]


def test_verdicts_stand_before_their_claims(capsys: pytest.CaptureFixture[str]) -> None:
    _print_verdicts("Claims:", VERDICTS)
    assert capsys.readouterr().out == (
        "\nClaims:\n     yes  it learns\n          1 < 2\n      no  it flies\n          3 > 2\n"
    )
    _print_verdicts("Claims:", [])
    assert capsys.readouterr().out == ""


def test_verdicts_are_coloured_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    _print_verdicts("Claims:", VERDICTS)
    assert "\x1b[32m     yes\x1b[0m  it learns\n" in stream.getvalue()
    assert "\x1b[31m      no\x1b[0m  it flies\n" in stream.getvalue()


def test_the_end_names_seconds_and_files(capsys: pytest.CaptureFixture[str]) -> None:
    print_end(3.14159, Path("out"), "figure.png", "calibration.png")
    assert capsys.readouterr().out == f"\n3.1 s. Open {Path('out/figure.png')} or {Path('out/calibration.png')}\n"
