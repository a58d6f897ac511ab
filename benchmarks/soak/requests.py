"""Requests that nobody would send on purpose, and a browser: the tests of them, with many more examples."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TESTS = [
    "tests/service/test_schemathesis.py",
    "tests/service/test_security.py",
    "tests/service/dashboard/test_browser.py",
]


def tried(folder: Path, examples: int, tests: Sequence[str] = TESTS) -> dict[str, Any]:
    """Return how many tests passed, with so many made-up requests for each operation; raise if one did not."""
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *tests]
    environment = os.environ | {"SCHEMATHESIS_EXAMPLES": str(examples), "OVERCAST_REQUIRE": "browser,postgres"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if ended.returncode != 0:
        raise RuntimeError(f"soak: all tests must pass, got {ended.stdout[-2000:]}")
    cases = [case.get("name", "") for case in ElementTree.parse(report).iter("testcase")]
    operations = sum(name.startswith("test_every_answer_is_as_declared") for name in cases)
    return {"tests": len(cases), "operations": operations, "examples_per_operation": examples}
