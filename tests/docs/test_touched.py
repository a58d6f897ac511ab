"""The table in CONTRIBUTING of what a new kind of decision touches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "overcast"
MOST = 4
KINDS = [
    *("continuous actions", "a risk", "known costs", "a known payoff", "batches", "a likelihood"),
    *("evaluation from a log", "a belief", "a policy", "a route", "an adapter"),
]


def _rows() -> list[list[str]]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## What a new kind of decision touches")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_row(kind: str) -> None:
    assert len([row for row in _rows() if row[0].startswith(kind)]) == 1


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row[0])
def test_a_row_names_few_files_and_those_that_exist(row: list[str]) -> None:
    files = re.findall(r"(new )?`([\w/]+\.py)`", row[1])
    assert 1 <= len(files) <= MOST
    for new, name in files:
        assert (SRC / name).exists() != bool(new), name
    tests = re.findall(r"`([\w/]+\.py)`", row[2])
    assert all((ROOT / name).exists() for name in tests)
