"""Figures of runs on the pages come from files that commands wrote; none is typed by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = ("README.md", *sorted(str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md")))

#: what a figure of a run looks like: a mean with its error, a share, a factor, a time
MEASURED = re.compile(r"\d\s±\s\d|\d ?%|\d times\b|\d (?:seconds|minutes|ms|µs)\b")

#: definitions that look like it: nominal levels, thresholds of the text, and constants of the code
DEFINED = re.compile(
    r"\d+ % intervals?|5 and 95 %|0 ± 0|80 % or (?:more|at)|misses 80 %|that 80 % of the errors"
    r"|grown by 40 %|1\.3 times as large"
)


def prose(text: str) -> str:
    """Return a page without its blocks, code font and tables."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]+`|^\|.*$", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_no_figure_of_a_run_is_typed_by_hand(page: str) -> None:
    left = DEFINED.sub("", prose((ROOT / page).read_text(encoding="utf-8")))
    assert [left[max(0, m.start() - 30) : m.end() + 20] for m in MEASURED.finditer(left)] == []


def test_typed_figures_are_found() -> None:
    typed = "it ends at -31.1 ± 1.1, in 88 % of the trials, after 43 seconds, 5 times as fast"
    assert len(MEASURED.findall(typed)) == 4


def test_each_run_beside_the_figures_is_the_one_that_its_line_asks_for() -> None:
    lines = [line.split() for line in (DOCS / "results" / "further.txt").read_text().splitlines()]
    assert {f"{name}.json" for name, *_ in lines} == {path.name for path in (DOCS / "results" / "further").iterdir()}
    for name, experiment, *options in lines:
        found = json.loads((DOCS / "results" / "further" / f"{name}.json").read_text(encoding="utf-8"))
        asked = dict(zip(options[::2], options[1::2], strict=True))
        assert found["experiment"] == experiment
        assert found["steps"] == int(asked.get("--steps", 1000))
        assert not found.get("generated", False)
        if "--belief" in asked:
            assert found["belief"] == asked["--belief"]
        if "--noise" in asked:
            assert found["noise_values"] == [float(asked["--noise"])]


def test_exact_stays_above_zero_against_the_best_variety_of_the_season_that_came() -> None:
    data = json.loads((DOCS / "results" / "all.json").read_text(encoding="utf-8"))
    crops = next(one for one in data["experiments"] if one["experiment"] == "crops")
    exact = next(v for v in crops["variants"] if v["setting"] == "exact")
    assert exact["regret"]["mean"] < 0 < exact["clairvoyant_regret"]["mean"] - exact["clairvoyant_regret"]["two_se"]
    assert all(v["clairvoyant_regret"]["mean"] >= exact["clairvoyant_regret"]["mean"] for v in crops["variants"])
