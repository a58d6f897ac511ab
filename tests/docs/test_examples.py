"""The examples run, and show what they say."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_irrigation_learns_what_the_field_wants(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "irrigation.py"), run_name="__main__")
    printed = capsys.readouterr().out
    first, last = (float(number) for number in re.findall(r"\d\.\d{3}", printed))
    assert last < 0.5 * first
    assert re.findall(r"mm: ([\w ]+) \d", printed) == ["all", "a little", "none"]


def test_look_explains_a_decision_and_draws_on_light_and_dark_ground(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["look.py", str(tmp_path)])
    runpy.run_path(str(EXAMPLES / "look.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "was chosen among 4 actions" in printed
    assert re.search(r"rain +[+-]\d.*→", printed)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {f"look-{what}{on}.png" for what in ("belief", "decision", "season") for on in ("", "-dark")}
    linked = re.findall(r"look-[\w-]+\.png", (EXAMPLES.parent / "docs" / "look.md").read_text(encoding="utf-8"))
    assert set(linked) == drawn
    assert all((EXAMPLES.parent / "docs" / name).exists() for name in drawn)
