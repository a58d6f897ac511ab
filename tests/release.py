"""Try the package as it would be released, where its wheel is installed and nothing else; `make release-check` does so.

`python tests/release.py ROOT bare` tries the package without extras, and with `experiments` instead the demo.
"""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import overcast

CORE = {"numpy", "overcast", "scipy", "threadpoolctl"}


def command(*args: str) -> str:
    """Run the installed command; return what it prints."""
    path = Path(sys.executable).with_name("overcast")
    return subprocess.run([path, *args], capture_output=True, text=True, check=True).stdout


def bare(root: Path) -> None:
    """Try what needs no extra: the import, the first example of the front page, the overview and the doctor."""
    assert Path(overcast.__file__).is_relative_to(sys.prefix), f"{overcast.__file__} is not the one installed"
    there = {one.metadata["Name"].lower() for one in metadata.distributions()} - {"pip", "setuptools"}
    assert there == CORE, f"installed are {', '.join(sorted(there))}"
    readme = (root / "README.md").read_text(encoding="utf-8")
    first = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)[0]
    example = doctest.DocTestParser().get_doctest(first, {}, "README.md", None, None)
    assert example.examples, "the first example of README.md must be one with prompts"
    tried = doctest.DocTestRunner().run(example)
    assert tried.failed == 0
    print(command(), command("doctor"), sep="\n")
    found = json.loads(command("doctor", "--json"))
    assert (found["problems"], found["overcast"]) == ([], metadata.version("overcast"))


def experiments(root: Path) -> None:
    """Try the demo, and the change log."""
    print(command("demo"))
    log = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.findall(rf"^## {re.escape(overcast.__version__)} \((.*)\)$", log, re.MULTILINE)
    assert heading, f"CHANGELOG.md has no section {overcast.__version__} (DATE)"
    print(f"CHANGELOG.md: {overcast.__version__} ({heading[0]})")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", heading[0]):
        print("Before the release, write its date there.")


if __name__ == "__main__":
    {"bare": bare, "experiments": experiments}[sys.argv[2]](Path(sys.argv[1]))
