"""`overcast doctor`: what is installed, what an extra would add, BLAS and threads."""

from __future__ import annotations

import argparse
import os
import platform
import textwrap
from pathlib import Path
from typing import Any

import overcast
from overcast import _threads
from overcast.cli.common import Commands, add_json, print_json, print_rows
from overcast.cli.extras import PURPOSES, Library, libraries

HELP = "what is installed, and what an extra would add"
EXTRAS = ""

#: columns that are left for what an extra adds, out of 80
WIDTH = 54


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "doctor",
        help=HELP,
        description="Say what is installed and what an extra would add, which BLAS libraries are in use, and how many "
        "threads they have. The exit code is 1 if a library that the package needs is missing or too old.",
    )
    add_json(parser)
    parser.set_defaults(run=_run, resumes=False)


def _run(args: argparse.Namespace) -> int:
    found = report()
    if args.json:
        print_json(found)
    else:
        _print(found)
    return 1 if found["problems"] else 0


def report() -> dict[str, Any]:
    """Return all that the command says, in the form of its JSON."""
    known = libraries()
    core = known.get("", [])
    problems = [f"{one.name} must be >= {one.at_least}, got {one.version}" for one in core if not one.serves]
    if not core:
        problems.append("overcast is imported from a folder, not installed, so what it needs is unknown")
    variables = {name: os.environ[name] for name in _threads.VARIABLES if os.environ.get(name)}
    return {
        "overcast": overcast.__version__,
        "folder": str(Path(overcast.__file__).parent),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": _cores(),
        "libraries": [_library(library) for library in core],
        "blas": _blas(),
        "held_at_one_thread": not _threads.CHOSEN_BY_USER,
        "variables": variables,
        "extras": [
            {"name": name, "purpose": PURPOSES[name], "libraries": [_library(library) for library in known[name]]}
            for name in PURPOSES
            if name in known
        ],
        "problems": problems,
    }


def _library(library: Library) -> dict[str, Any]:
    return {
        "name": library.name,
        "version": library.version,
        "at_least": library.at_least,
        "serves": library.serves,
    }


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _blas() -> list[dict[str, Any]]:
    """Return the BLAS libraries that NumPy and SciPy have loaded."""
    import scipy.linalg.blas  # noqa: F401 - a library is found once it is loaded
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    return [
        {
            "name": one["internal_api"],
            "version": one["version"],
            "threads": one["num_threads"],
            "folder": Path(one["filepath"]).parent.name,
        }
        for one in threadpool_info()
        if one["user_api"] == "blas"
    ]


def _print(found: dict[str, Any]) -> None:
    rows = [
        ("overcast", found["overcast"], ""),
        ("python", found["python"], f"{found['platform']}, {found['cores']} cores"),
        *((one["name"], one["version"] or "missing", f"needs >= {one['at_least']}") for one in found["libraries"]),
    ]
    print_rows([("package", "version", ""), *rows], left=3)
    print(f"in {found['folder']}\n")
    blas = [(one["name"], one["version"] or "", str(one["threads"]), one["folder"]) for one in found["blas"]]
    print_rows([("BLAS", "version", "threads", "from"), *blas], left=4)
    if found["held_at_one_thread"]:
        print("Overcast holds BLAS at one thread while it computes.\n")
    else:
        said = ", ".join(f"{name}={value}" for name, value in found["variables"].items())
        print(textwrap.fill(f"Overcast leaves threads alone, because of {said}.", 80), end="\n\n")
    rows = [("extra", "", "for")]
    for extra in found["extras"]:
        absent = [_wanted(one) for one in extra["libraries"] if not one["serves"]]
        rows.append((extra["name"], "lacking" if absent else "installed", extra["purpose"]))
        added = textwrap.wrap(", ".join(absent), initial_indent="adds ", width=WIDTH)
        rows.extend(("", "", line) for line in added)
    print_rows(rows, left=3)
    if any(row[1] == "lacking" for row in rows):
        print("Install one that is lacking with pip install 'overcast[EXTRA]'.")
    for problem in found["problems"]:
        print(f"\nProblem: {problem}")


def _wanted(library: dict[str, Any]) -> str:
    has = f" (has {library['version']})" if library["version"] else ""
    return f"{library['name']}>={library['at_least']}{has}"
