"""The site documents every public name, and shows results of the paper's size."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

import overcast as oc

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def _documented() -> dict[str, int]:
    """Return the full names that the pages of the reference list, and how often."""
    found: dict[str, int] = {}
    for page in (DOCS / "reference").glob("*.md"):
        for module, names in re.findall(
            r"^\.\. listing:: (\S+)\n(?:\n((?:   .+\n)+))?", page.read_text(), re.MULTILINE
        ):
            for name in names.split() or importlib.import_module(module).__all__:
                thing = getattr(importlib.import_module(module), name)
                key = f"{getattr(thing, '__module__', module)}.{getattr(thing, '__qualname__', name)}"
                found[key] = found.get(key, 0) + 1
    return found


def _public() -> dict[str, Any]:
    """Return all public names: those in `__all__` of the package, and of the modules that stand there."""
    parts = [thing for name in oc.__all__ if inspect.ismodule(thing := getattr(oc, name))]
    assert all(hasattr(module, "__all__") for module in parts)
    listed = [getattr(module, name) for module in (oc, *parts) for name in module.__all__]
    return {f"{thing.__module__}.{thing.__qualname__}": thing for thing in listed if hasattr(thing, "__qualname__")}


def test_every_public_name_is_documented_once() -> None:
    found, public = _documented(), _public()
    assert len(public) > 100
    assert not set(public) - set(found)
    twice = {name for name, times in found.items() if times > 1}
    assert not twice


def test_every_public_name_has_an_example() -> None:
    """They run as doctests with the tests."""
    assert [name for name, thing in _public().items() if ">>> " not in (inspect.getdoc(thing) or "")] == []


def test_the_results_of_the_paper_are_of_its_size() -> None:
    data = json.loads((DOCS / "results" / "all.json").read_text(encoding="utf-8"))
    sizes = {one["experiment"]: (one["trials"], one["steps"], len(one["variants"])) for one in data["experiments"]}
    assert sizes == {"synthetic": (100, 1000, 7), "movielens": (200, 1000, 7), "crops": (100, 1000, 7)}
