"""How long importing takes, and what it is measured beside."""

from __future__ import annotations

import json
import subprocess
import sys

import importing


def test_what_the_package_needs_is_all_that_it_imports_of_others() -> None:
    """Else the ratio would count modules of others as its own."""
    program = (
        f"import sys; {importing.DEPENDENCIES}; before = set(sys.modules); {importing.OURS};"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["overcast"]


def test_importing_takes_some_time_and_what_is_kept_is_within_the_limit() -> None:
    found = importing.measured(1)
    assert all(value > 0.0 for value in found.values())
    kept = json.loads(importing.KEPT.read_text(encoding="utf-8"))
    assert kept["milliseconds"].keys() == found.keys()
    assert kept["milliseconds"]["overcast"] <= importing.LIMIT * kept["milliseconds"]["dependencies"]
