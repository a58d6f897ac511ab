"""The commands of the page about operations do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from overcast.service import Settings
from service_support import FARM, Api, remembered

PAGE = (Path(__file__).parents[2] / "docs" / "service" / "operations.md").read_text(encoding="utf-8")
BACKUPS = re.findall(r"^\$ (.*\.backup\(.*connect\('(\w+\.db)'\)\).*)$", PAGE, re.MULTILINE)


def run(command: str, folder: Path) -> None:
    """Run a line of a shell in a folder, as a user whose files everybody may read."""
    line = re.sub(r"\bpython\b", sys.executable, command)
    subprocess.run(["sh", "-c", f"umask 022; {line}"], cwd=folder, check=True, timeout=60)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(("command", "copy"), BACKUPS)
def test_backups_are_whole_and_for_their_owner_alone(command: str, copy: str, tmp_path: Path) -> None:
    assert len(BACKUPS) == 2
    api = Api(Settings(db=str(tmp_path / "overcast.db")))
    assert api.post("/v1/bandits", FARM).status == 201
    (tmp_path / copy).write_bytes(b"")
    (tmp_path / copy).chmod(0o644)  # an earlier one, that all may read
    run(command, tmp_path)
    before = remembered(api.state)
    api.stop()
    assert mode(tmp_path / copy) == mode(tmp_path / "overcast.db") == 0o600
    restored = Api(Settings(db=str(tmp_path / copy)))
    restored.key = api.key
    assert restored.get("/v1/bandits").body["bandits"][0]["name"] == "farm"
    assert remembered(restored.state) == before
    restored.stop()
