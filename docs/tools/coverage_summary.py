"""Write what coverage.py measured as a short file for the site: lines and branches, by part of the package."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

KEYS = {
    "lines": "num_statements",
    "lines_run": "covered_lines",
    "branches": "num_branches",
    "branches_run": "covered_branches",
}


def summary(measured: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of the whole package, and of each module or folder right below it.

    >>> counts = dict(num_statements=10, covered_lines=9, num_branches=4, covered_branches=2)
    >>> files = {"src/overcast/beliefs/base.py": {"summary": counts}}
    >>> summary({"meta": {"version": "7"}, "totals": counts, "files": files})["parts"]["beliefs"]
    {'lines': 10, 'lines_run': 9, 'branches': 4, 'branches_run': 2}
    """
    parts: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(KEYS, 0))
    for path, one in measured["files"].items():
        names = Path(path).parts
        below = names[names.index("overcast") + 1 :]
        part = parts[below[0] if len(below) > 1 else "modules of the top"]
        for key, theirs in KEYS.items():
            part[key] += one["summary"][theirs]
    whole = {key: measured["totals"][theirs] for key, theirs in KEYS.items()}
    return {"coverage": measured["meta"]["version"], "parts": {"all": whole, **dict(sorted(parts.items()))}}


if __name__ == "__main__":
    measured = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(json.dumps(summary(measured), indent=1) + "\n", encoding="utf-8")
