"""Count the blocks of code of the site as they are run; a block of Python that nothing runs fails the build.

Cells run while their page is built. Prompts (`>>>`) run here, as they do with the tests. What is not Python (commands of the
shell, files) is counted apart.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

BLOCK = re.compile(r"^ *```+(\{[\w-]+\}|\w*)([^\n]*)\n(.*?)^ *```+ *$", re.MULTILINE | re.DOTALL)

#: fences that are not code
MARKUP = ("{toctree}", "{eval-rst}", "{include}")


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


def run_and_count(app: Sphinx, exception: Exception | None) -> None:
    """Run the prompts of all pages, and say how many blocks were run."""
    if exception is not None or app.builder.format != "html":
        return
    total = {"cells": 0, "prompts": 0, "others": 0}
    pages = 0
    examples = 0
    for name in sorted(app.env.found_docs):
        path = Path(app.env.doc2path(name))
        found = counted(path.read_text(encoding="utf-8"))
        if found.idle:
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
    blocks = total["cells"] + total["prompts"]
    print(
        f"{blocks} blocks of Python on {pages} of {len(app.env.found_docs)} pages were run: {total['cells']} cells, and {total['prompts']} blocks "
        f"with {examples} prompts. {total['others']} blocks are commands, files or output."
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", run_and_count)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
