"""The `overcast bench` command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_support import SMALL
from overcast.bench import tasks as module
from overcast.bench.peers import PEERS
from overcast.cli import main


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "tasks", lambda quick: SMALL)


def test_it_prints_a_table_per_task(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["bench", "--picture", str(tmp_path / "bars.png")]) == 0
    out = capsys.readouterr().out
    assert out.count("bare NumPy and SciPy") == out.count("overcast 0.1.0") == len(SMALL)
    assert "100%" in out
    assert "Not installed" not in out
    assert (tmp_path / "bars.png").stat().st_size > 1000


def test_with_peers_it_says_what_is_not_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--peers", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data["missing"]) == {peer.package for peer in PEERS if not peer.installed}
    assert {row["task"] for row in data["rows"]} == {task.name for task in SMALL}
    assert ("scikit-learn" in {row["label"] for row in data["rows"]}) != ("scikit-learn" in data["missing"])
