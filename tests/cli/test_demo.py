"""`overcast demo`, at a size that takes a moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiment_support import FILES, command, read_summary
from overcast.cli import demo


def test_the_demo_writes_all_files_and_prints_story_and_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "TRIALS", 3)
    monkeypatch.setattr(demo, "STEPS", 5)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    code, text, error = command("demo", "--out", tmp_path)
    assert (code, error) == (0, "")
    assert text.startswith("A field needs 6 mm of water a day.")
    assert "\nSynthetic example: 3 trials of 5 steps, data generated from the seed" in text
    assert {path.name for path in (tmp_path / "demo").iterdir()} == FILES | {"story.png"}
    assert read_summary(tmp_path / "demo")["steps"] == 5
    code, text, error = command("demo", "--out", tmp_path, "--json")
    assert (code, error) == (0, "")
    printed = json.loads(text)
    assert printed["folder"] == str(tmp_path / "demo")
    assert printed["variants"] == read_summary(tmp_path / "demo")["variants"]
