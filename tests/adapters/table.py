"""The tables of docs/forecasts-in.md: sources, from results of real libraries and recorded objects, and spreads.

PYTHONPATH=tests .venv/bin/python tests/adapters/table.py
"""

from __future__ import annotations

import json
from pathlib import Path

from adapters import recorded
from published import LAWS, PUBLISHED, spread

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "forecasts-in.md"
RESULTS = HERE / "results.json"


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


def spreads() -> str:
    """Return the table of standard deviations, divided by the truth, of beliefs from published levels."""
    lines = [f"| published | {' | '.join(LAWS)} |", "|---|---|---|---|"]
    lines += [f"| {name} | " + " | ".join(f"{spread(name, law):.2f}" for law in LAWS) + " |" for name in PUBLISHED]
    return "\n".join(lines) + "\n"


#: the tables by their names in the page
TABLES = {"sources": table, "spreads": spreads}


def written(page: str) -> str:
    """Return a page with its tables renewed."""
    for name, make in TABLES.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = page.partition(start)
        _, found, after = rest.partition(end)
        assert found, name
        page = before + start + make() + end + after
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
