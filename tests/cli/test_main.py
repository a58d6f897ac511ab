"""`python -m overcast.cli` is the command."""

from __future__ import annotations

import subprocess
import sys


def test_the_module_runs_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "overcast.cli", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    for command in ("demo", "reproduce", "calibrate", "data"):
        assert command in done.stdout
    wrong = subprocess.run([sys.executable, "-m", "overcast.cli", "fly"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "fly" in wrong.stderr
