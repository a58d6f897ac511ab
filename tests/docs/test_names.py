"""Names in code font exist: paths and calls are looked up in the package, single words in its sources."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

import overcast as oc
from examples import modules
from overcast.service import Settings

ROOT = Path(__file__).parents[2]
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SUPPORT.md", *PAGES)
FILES = {"csv", "db", "html", "json", "key", "md", "parquet", "pdf", "png", "py", "toml", "txt", "yaml"}
OTHERS = {"concurrent"}  # packages of others

#: what lower-case words at the start of a path stand for, besides the package's modules
INSTANCES = {
    "bandit": "Bandit",
    "belief": "Belief",
    "decision": "Decision",
    "found": "Verification",
    "features": "FeatureMap",
    "limits": "Limits",
    "runs": "Runs",
}

MODULES = {module.__name__.removeprefix("overcast."): module for module in modules(oc)}
CLASSES = {
    name: kind
    for module in MODULES.values()
    for name, kind in inspect.getmembers(module, inspect.isclass)
    if kind.__module__.startswith("overcast")
}


def text_of(document: str) -> str:
    """Return a document without its blocks of code, which are doctests, outputs or commands."""
    return re.sub(r"^```.*?^```", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def expressions(document: str) -> Iterator[ast.expr]:
    """Yield each piece of code font that is a Python expression; the rest are commands, options and folders."""
    for code in re.findall(r"`([^`\n]+)`", text_of(document)):
        try:
            yield ast.parse(code, mode="eval").body
        except SyntaxError:
            continue


@cache
def words_of_the_sources() -> set[str]:
    """Return all names in the package's sources, and the words of strings such as names of commands; of docstrings only
    those of their examples."""
    words: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        words.update(re.findall(r"\w+", " ".join(re.findall(r"^ +>>> (.*)", source, re.MULTILINE))))
        for node in ast.walk(ast.parse(source)):
            names = (getattr(node, part, None) for part in ("id", "attr", "arg", "name"))
            words.update(name for name in names if isinstance(name, str))
            for child in () if isinstance(node, ast.Expr) else ast.iter_child_nodes(node):
                if isinstance(child, ast.Constant) and isinstance(child.value, str):
                    words.update(re.findall(r"\w+", child.value))
    return words


def has(kind: Any, name: str) -> bool:
    """Return whether a module, or a class, or an instance of that class, has an attribute."""
    own = getattr(kind, "__mro__", ())
    declared = any(name in vars(base).get("__annotations__", {}) for base in own)
    return hasattr(kind, name) or declared or any(f"self.{name}" in _source(base) for base in own)


@cache
def _source(kind: type) -> str:
    return inspect.getsource(kind) if kind.__module__.startswith("overcast") else ""


def attribute(kind: Any, name: str) -> Any:
    """Return an attribute; for a property, the class that it says it returns."""
    found = getattr(kind, name, None)
    if isinstance(found, property):
        return CLASSES.get(str(inspect.signature(found.fget).return_annotation)) if found.fget else None
    return found


def faults(path: list[str]) -> str | None:
    """Return what is wrong with a path such as `models.Exp4` or `runs.regret`; None if all of it exists."""
    first, *rest = path
    starts: list[Any] = [
        oc if first in ("oc", "overcast") else None,
        MODULES.get(first),
        MODULES.get(f"datasets.{first}"),
    ]
    starts += [CLASSES.get(first), CLASSES.get(INSTANCES.get(first, ""))]
    for start in filter(None, starts):
        found: Any = start
        for name in rest:
            if found is None or not has(found, name):
                break
            found = attribute(found, name)
        else:
            return None
    return f"{'.'.join(path)} does not exist"


def path_of(node: ast.expr) -> list[str] | None:
    """Return the names of `a.b.c`; None for any other expression."""
    if isinstance(node, ast.Name):
        return [node.id]
    before = path_of(node.value) if isinstance(node, ast.Attribute) else None
    return [*before, node.attr] if before and isinstance(node, ast.Attribute) else None


def callee(path: list[str]) -> Any:
    """Return what a call such as `bandit.learn(...)` calls; None if it is not known here."""
    found: Any = oc if path[0] == "oc" else CLASSES.get(INSTANCES.get(path[0], path[0]), MODULES.get(path[0]))
    found = found or getattr(oc, path[0], None)
    for name in path[1:]:
        found = getattr(found, name, None)
    return found


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_in_code_font_exist(document: str) -> None:
    paths = [path_of(node.func if isinstance(node, ast.Call) else node) for node in expressions(document)]
    wrong = [
        faults(path) for path in paths if path and len(path) > 1 and path[0] not in OTHERS and path[-1] not in FILES
    ]
    assert [fault for fault in wrong if fault] == []


def variables() -> set[str]:
    """Return the variables that hold settings of the service."""
    data = msgspec.to_builtins(Settings())
    return {f"OVERCAST_{name.upper()}" for name in [*data, *(f"limits_{name}" for name in data["limits"])]}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_single_words_in_code_font_are_names_in_the_sources(document: str) -> None:
    used = words_of_the_sources()
    defined = re.findall(r"^>>> (?:class )?(\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    files = {path.name for path in ROOT.iterdir()}
    known = used | set(defined) | files | {"constraints", "EXAMPLES", "OVERCAST_DATA"} | variables()
    words = [path for node in expressions(document) if (path := path_of(node)) and len(path) == 1]
    assert [word for (word,) in words if word not in known] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_calls_in_code_font_take_the_arguments_they_are_given(document: str) -> None:
    wrong = []
    for node in expressions(document):
        path = path_of(node.func) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and path and (found := callee(path)) is not None and callable(found):
            taken = inspect.signature(found).parameters
            wrong += [f"{'.'.join(path)}({key.arg}=)" for key in node.keywords if key.arg not in taken]
    assert wrong == []


def test_names_that_do_not_exist_are_found() -> None:
    assert faults(["runs", "regret"]) is None
    assert faults(["bandit", "learnt", "theta"]) is None
    assert faults(["bandit", "learnt", "sigma"]) == "bandit.learnt.sigma does not exist"
    assert faults(["models", "Outlook"]) == "models.Outlook does not exist"
    assert faults(["Round", "noise"]) == "Round.noise does not exist"
