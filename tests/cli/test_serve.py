"""`overcast serve`."""

from __future__ import annotations

from pathlib import Path

import pytest

from overcast import service
from overcast.cli import main
from overcast.service import Settings


def test_options_become_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Settings, bool, bool, bool]] = []
    monkeypatch.setattr(service, "run", lambda *given: seen.append(given))
    assert main(["serve", "--db", "x.db", "--port", "0"]) == 0
    assert main(["serve", "--new-key"]) == 0
    assert main(["serve", "--shrink"]) == 0
    assert seen == [
        (Settings(db="x.db", port=0), False, False, False),
        (Settings(), False, True, False),
        (Settings(), False, False, True),
    ]


def test_the_demo_has_a_database_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, bool]] = []
    monkeypatch.setattr(service, "run", lambda settings, demo, *more: seen.append((settings.db, demo)))
    monkeypatch.setenv("OVERCAST_DB", "real.db")
    assert main(["serve", "--demo"]) == 0
    assert main(["serve", "--demo", "--db", "own.db"]) == 0
    assert seen == [("overcast-demo.db", True), ("own.db", True)]


def test_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--db", "postgresql://me:secret@host/name"]) == 1
    assert main(["serve", "--db", str(tmp_path / "no" / "log.db")]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "must not hold a password" in lines[0]
    assert "secret" not in lines[0]
