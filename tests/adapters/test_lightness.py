"""Importing the package loads no adapter, and no adapter imports what it adapts."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import overcast

FOLDER = Path(overcast.__file__).parent / "adapters"
FAMILIES = (
    *("columns", "distributions", "ensembles", "hubverse", "labelled", "mappings", "pairs", "plugins", "summaries"),
    *("tables", "timeseries"),
)
#: packages of which forecasts come, and others that take long to import
OTHERS = (
    *("pandas", "xarray", "matplotlib", "arviz", "torch", "jax", "numpyro", "tensorflow", "tensorflow_probability"),
    *("statsmodels", "prophet", "statsforecast", "gluonts", "darts", "sktime", "skpro", "ngboost", "polars"),
    "scipy.stats",
)


def loaded(program: str) -> set[str]:
    """Return the modules that a program leaves in a fresh interpreter."""
    code = f"import sys\n{program}\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_loads_no_adapter_and_nobody_else() -> None:
    found = loaded("import overcast")
    assert not found & {f"overcast.adapters.{name}" for name in FAMILIES}
    assert not found & set(OTHERS)


def test_arrays_and_beliefs_need_no_adapter() -> None:
    found = loaded(
        "import overcast as oc; oc.as_belief([1.0, 2.0]); oc.as_belief(oc.Gaussian(1.0, 1.0)); oc.as_belief(2.0)"
    )
    assert not found & {f"overcast.adapters.{name}" for name in FAMILIES}


def test_reading_forecasts_imports_nobody() -> None:
    program = """
import overcast as oc
try:
    oc.as_belief(object())
except TypeError:
    pass
oc.as_belief({"warm": 21.0})
"""
    assert not loaded(program) & set(OTHERS)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_modules_import_numpy_and_the_package_only(path: Path) -> None:
    used: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            used |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            used.add((node.module or "").partition(".")[0])
    assert used <= {"numpy", "overcast", *sys.stdlib_module_names}


def test_every_family_is_a_module() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == {*FAMILIES, "__init__", "convert", "forecasts", "tuples"}
