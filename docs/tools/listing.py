"""The directive `listing`: public names of a module, each documented from its docstring, with its example."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx


class Listing(Directive):
    """`listing:: overcast.policies` documents the names below it, or all names in `__all__`."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        module = importlib.import_module(self.arguments[0])
        names = [name for line in self.content for name in line.split()] or list(module.__all__)
        lines: list[str] = []
        for name in names:
            lines += _lines(self.arguments[0], name, getattr(module, name))
        found = nodes.section()
        found.document = self.state.document
        self.state.nested_parse(StringList(lines, source="listing"), self.content_offset, found)
        return found.children


def _lines(module: str, name: str, thing: Any) -> list[str]:
    if inspect.ismodule(thing):
        return []
    if inspect.isclass(thing):
        return [f".. autoclass:: {module}.{name}", ""]
    if inspect.isroutine(thing):
        return [f".. autofunction:: {module}.{name}", ""]
    return [f".. autodata:: {module}.{name}", ""]


def plain(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Let docstrings be plain text: `names` are code, no other character has a meaning of its own, and a line such as
    "ridge : lambda > 0" describes a name."""
    out: list[str] = []
    section = False
    for line in lines:
        section = section or line.startswith("----")
        described = re.match(r"([\w*, ]+) : (.+)", line)
        if line.lstrip().startswith((">>>", "...")):
            out.append(line)
        elif described:
            names, text = described.groups()
            out += [names if section else f"``{names}``", f"    {_escaped(text)}"]
        else:
            out.append(_escaped(line))
    lines[:] = out


def _escaped(line: str) -> str:
    parts = line.split("`")
    if len(parts) % 2 == 0:
        return line
    parts[::2] = [re.sub(r"([|*\\]|(?<=\w)_(?=\W|$))", r"\\\1", part) for part in parts[::2]]
    return "``".join(parts)


def unsaid(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples, which the docstring of the class describes."""
    return True if (inspect.getdoc(thing) or "").startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("listing", Listing)
    app.connect("autodoc-process-docstring", plain, priority=400)  # before sections are found, at 500
    app.connect("autodoc-skip-member", unsaid)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
