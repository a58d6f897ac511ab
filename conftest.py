"""Doctests run on the modules that tests import.

pytest imports the file that it looks for doctests in by itself. If the package imports the same module on the way,
there are two, and an object of one is no instance of the class in the other.
"""

from __future__ import annotations

import importlib
from pathlib import Path

SOURCE = Path(__file__).parent / "src"


def pytest_collect_file(file_path: Path) -> None:
    """Import a module of the package as everybody does; pytest takes the one that is there."""
    if file_path.is_relative_to(SOURCE) and file_path.suffix == ".py" and file_path.stem != "__main__":
        parts = file_path.relative_to(SOURCE).with_suffix("").parts
        importlib.import_module(".".join(part for part in parts if part != "__init__"))
