"""Doctests and tests share the modules of the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from examples import TESTS

TOGETHER = """
import overcast as oc
from overcast import cli
from overcast.beliefs import base
from overcast.cli import entry

def test_modules_are_there_once():
    assert isinstance(oc.PointMass([0.0]), base.Belief)
    assert entry.main is cli.main
"""


def test_a_module_and_a_test_together_import_the_module_once(tmp_path: Path) -> None:
    test = tmp_path / "test_together.py"
    test.write_text(TOGETHER)
    modules = [TESTS.parent / "src" / "overcast" / name for name in ("beliefs/base.py", "cli/entry.py")]
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        TESTS.parent / "pyproject.toml",
    ]
    ended = subprocess.run([*command, *modules, test], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout
