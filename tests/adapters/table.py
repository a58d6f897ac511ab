"""The table source × belief × exact of docs/forecasts-in.md, from results of real libraries and recorded objects.

PYTHONPATH=tests .venv/bin/python tests/adapters/table.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from adapters import recorded

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "forecasts-in.md"
RESULTS = HERE / "results.json"
START, END = "<!-- table -->\n", "<!-- end of table -->"


def rows() -> list[dict[str, str]]:
    """Return what was found, real objects first."""
    known: list[dict[str, str]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    own = [
        {"source": one.source, "belief": one.belief, "exact": one.exact, "library": "recorded"}
        for one in recorded.CASES
    ]
    return known + own


def table() -> str:
    """Return the table in Markdown."""
    lines = ["| source | belief | exact | tested with |", "|---|---|---|---|"]
    keys = ("source", "belief", "exact", "library")
    lines += ["| " + " | ".join(row[key] for key in keys) + " |" for row in rows()]
    return "\n".join(lines) + "\n"


def between(text: str) -> str:
    """Return the table that a page holds."""
    found = re.search(f"{START}(.*?){END}", text, re.DOTALL)
    assert found is not None
    return found[1]


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page.replace(START + between(page) + END, START + table() + END), encoding="utf-8")
