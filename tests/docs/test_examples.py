"""The examples run, and show what they say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_irrigation_learns_what_the_field_wants(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "irrigation.py"), run_name="__main__")
    printed = capsys.readouterr().out
    first, last = (float(number) for number in re.findall(r"\d\.\d{3}", printed))
    assert last < 0.5 * first
    assert re.findall(r"mm: ([\w ]+) \d", printed) == ["all", "a little", "none"]
