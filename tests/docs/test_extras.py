"""Each extra is enough for what it is for, and whoever lacks one is told its name.

Everything is installed here, so modules that an extra does not bring are hidden. `make test-extras` installs them one
by one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from extras import PROGRAMS, program

HIDE = """
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


@cache
def needed(name: str, extras: frozenset[str]) -> frozenset[str]:
    """Return the distributions that pip would install for a requirement, by their normal names."""
    try:
        all_of_it = map(Requirement, requires(name) or [])
    except PackageNotFoundError:  # for another platform, or another version of Python
        return frozenset()
    found: set[str] = {canonicalize_name(name)}
    for one in all_of_it:
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras | {""}):
            found |= needed(one.name, frozenset(one.extras))
    return frozenset(found)


def run(program: str, extras: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program where the modules of everything but the package with these extras are hidden."""
    kept = needed("overcast", frozenset(extras.split(",")))
    hidden = {
        module
        for module, names in packages_distributions().items()
        if not kept & {canonicalize_name(name) for name in names}
    }
    path = folder / "program.py"
    path.write_text(f"HIDDEN = {hidden!r}\n{HIDE}\n{program}")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MPL"))}
    return subprocess.run(
        [sys.executable, path], cwd=folder, capture_output=True, text=True, timeout=120, check=False, env=plain
    )


@pytest.mark.parametrize("extras", PROGRAMS)
def test_an_extra_is_enough_for_what_it_is_for(extras: str, tmp_path: Path) -> None:
    ended = run(program(extras), extras, tmp_path)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr


@pytest.mark.parametrize(
    ("extras", "lacking", "message"),
    [
        ("", "plot", "Runs: plot needs matplotlib; install it with pip install 'overcast[plot]'"),
        ("scores", "plot,scores", "Calibration: plot needs matplotlib; install it with pip install 'overcast[plot]'"),
        ("", "scores", "calibration: scores need scoringrules; install it with pip install 'overcast[scores]'"),
        ("", "gym", "as_gym needs Gymnasium; install it with pip install 'overcast[gym]'"),
        ("", "client", "Client needs httpx; install it with pip install 'overcast[client]'"),
        ("plot,scores", "experiments", "install it with pip install 'overcast[experiments]'"),
    ],
)
def test_a_program_without_its_extra_is_told_which(extras: str, lacking: str, message: str, tmp_path: Path) -> None:
    ended = run(program(lacking), extras, tmp_path)
    assert ended.returncode != 0
    assert message in ended.stderr


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["reproduce", "movielens"], "needs surprise; install it with pip install 'overcast[movielens]'"),
        (["data", "movielens"], "needs platformdirs; install it with pip install 'overcast[movielens]'"),
        (["serve"], "needs msgspec; install it with pip install 'overcast[service]'"),
        (["reproduce", "synthetic", "--dask", "x"], "--dask needs Dask; install it with pip install 'overcast[dask]'"),
    ],
)
def test_a_command_without_its_extra_says_so_in_one_line(command: list[str], message: str, tmp_path: Path) -> None:
    ended = run(f"from overcast.cli import main\nsys.exit(main({command}))", "experiments", tmp_path)
    assert (ended.returncode, ended.stderr) == (1, f"overcast: {message}\n")
