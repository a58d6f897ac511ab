"""`python -m overcast` is the command."""

from __future__ import annotations

import subprocess
import sys

import overcast


def test_the_package_runs_the_command() -> None:
    command = [sys.executable, "-m", "overcast"]
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"overcast {overcast.__version__}\n", "")
    wrong = subprocess.run([*command, "fly"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("overcast: ")
