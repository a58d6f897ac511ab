"""Count the blocks of code of the site as they are run; a block of Python that nothing runs fails the build.

Cells run while their page is built. Prompts (`>>>`) run here, as they do with the tests. Blocks that need more, such as
a service, may run with the tests: the page then has the line `<!-- run by tests/client/test_clients.py -->`, and that
file reads the page. What is not Python, such as commands of the shell, is counted apart.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

BLOCK = re.compile(r"^ *```+(\{[\w-]+\}|\w*)([^\n]*)\n(.*?)^ *```+ *$", re.MULTILINE | re.DOTALL)

TESTED = re.compile(r"^<!-- run by (tests/\S+\.py) -->$", re.MULTILINE)

#: fences that are not code
MARKUP = ("{toctree}", "{eval-rst}", "{include}", "{image}")


DOCS = Path(__file__).resolve().parents[1]


class Counted(NamedTuple):
    """The blocks of a page: cells, blocks of prompts, blocks that are not Python, and Python that nothing runs."""

    cells: int
    prompts: int
    others: int
    idle: list[str]


def counted(text: str) -> Counted:
    r"""Return the blocks of a page.

    >>> counted("```{code-cell}\n1\n```\n\n```python\n>>> 1\n1\n```\n\n```sh\nls\n```\n\n```python\n1 + 1\n```\n")
    Counted(cells=1, prompts=1, others=1, idle=['1 + 1'])
    """
    cells = prompts = others = 0
    idle = []
    for kind, _, body in BLOCK.findall(text):
        if kind == "{code-cell}":
            cells += 1
        elif ">>> " in body:
            prompts += 1
        elif kind in ("python", "{code-block}"):
            idle.append(body.splitlines()[0])
        elif kind not in MARKUP:
            others += 1
    return Counted(cells, prompts, others, idle)


def run_by_tests(path: Path, text: str) -> bool:
    """Return whether a page names a test that reads it."""
    found = TESTED.search(text)
    test = path.parents[len(path.relative_to(DOCS).parts)] / found[1] if found else None
    return test is not None and path.name in test.read_text(encoding="utf-8")


def run_and_count(app: Sphinx, exception: Exception | None) -> None:
    """Run the prompts of all pages, and say how many blocks were run."""
    if exception is not None or app.builder.format != "html":
        return
    total = {"cells": 0, "prompts": 0, "others": 0}
    with_tests = 0
    pages = 0
    examples = 0
    for name in sorted(app.env.found_docs):
        path = Path(app.env.doc2path(name))
        text = path.read_text(encoding="utf-8")
        found = counted(text)
        if found.idle and run_by_tests(path, text):
            with_tests += len(found.idle)
        elif found.idle:
            raise ExtensionError(f"{path}: nothing runs the block that begins with {found.idle[0]!r}")
        ran: Any = app.env.nb_metadata.get(name, {}).get("exec_data") or {}
        if found.cells and not ran.get("succeeded"):
            raise ExtensionError(f"{path}: its {found.cells} cells were not run")
        if found.prompts:
            tried = doctest.testfile(str(path), module_relative=False)
            if tried.failed:
                raise ExtensionError(f"{path}: {tried.failed} of {tried.attempted} examples fail")
            examples += tried.attempted
        pages += bool(found.cells or found.prompts)
        for key in total:
            total[key] += getattr(found, key)
    run, cells, prompts = total["cells"] + total["prompts"], total["cells"], total["prompts"]
    print(f"{run} blocks of Python on {pages} of {len(app.env.found_docs)} pages were run:", end=" ")
    print(f"{cells} cells, and {prompts} blocks with {examples} prompts.", end=" ")
    print(f"{with_tests} more run with the tests; {total['others']} are commands, files or output.")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", run_and_count, priority=900)  # the theme has work to do before
    return {"parallel_read_safe": True, "parallel_write_safe": True}
