"""Docstrings begin with what a thing does or is, in plain words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import overcast as oc

SOURCES = Path(__file__).parents[2] / "src"
#: a first line that says "what …" is a riddle: it does not name the thing
RIDDLE = re.compile(r"(Return )?what\b", re.IGNORECASE)


def _first_lines() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path.relative_to(SOURCES)}:{getattr(node, 'name', '')}", text.splitlines()[0]


def test_no_first_line_is_a_riddle() -> None:
    lines = list(_first_lines())
    assert len(lines) > 1000
    assert [where for where, line in lines if RIDDLE.match(line)] == []


def test_the_package_lists_public_names_alone() -> None:
    assert set(dir(oc)) == {*oc.__all__, "__version__"}
