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

#: width of the column of what an extra adds
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
    data = report()
    if args.json:
        print_json(data)
    else:
        _print(data)
    return 1 if data["problems"] else 0


def report() -> dict[str, Any]:
    """Return the output of the command as JSON data."""
    known = libraries()
    core = known.get("", [])
    problems = [
        f"{library.name} must be >= {library.at_least}, got {library.version}" for library in core if not library.serves
    ]
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
            "name": info["internal_api"],
            "version": info["version"],
            "threads": info["num_threads"],
            "folder": Path(info["filepath"]).parent.name,
        }
        for info in threadpool_info()
        if info["user_api"] == "blas"
    ]


def _print(data: dict[str, Any]) -> None:
    rows = [
        ("overcast", data["overcast"], ""),
        ("python", data["python"], f"{data['platform']}, {data['cores']} cores"),
        *((one["name"], one["version"] or "missing", f"needs >= {one['at_least']}") for one in data["libraries"]),
    ]
    print_rows([("package", "version", ""), *rows], left=3)
    print(f"in {data['folder']}\n")
    blas = [(one["name"], one["version"] or "", str(one["threads"]), one["folder"]) for one in data["blas"]]
    print_rows([("BLAS", "version", "threads", "from"), *blas], left=4)
    if data["held_at_one_thread"]:
        print("Overcast holds BLAS at one thread while it computes.\n")
    else:
        settings = ", ".join(f"{name}={value}" for name, value in data["variables"].items())
        print(textwrap.fill(f"Overcast leaves threads alone, because of {settings}.", 80), end="\n\n")
    rows = [("extra", "", "for")]
    for extra in data["extras"]:
        absent = [_wanted(one) for one in extra["libraries"] if not one["serves"]]
        rows.append((extra["name"], "lacking" if absent else "installed", extra["purpose"]))
        added = textwrap.wrap(", ".join(absent), initial_indent="adds ", width=WIDTH)
        rows.extend(("", "", line) for line in added)
    print_rows(rows, left=3)
    if any(row[1] == "lacking" for row in rows):
        print("Install one that is lacking with pip install 'overcast[EXTRA]'.")
    for problem in data["problems"]:
        print(f"\nProblem: {problem}")


def _wanted(library: dict[str, Any]) -> str:
    has = f" (has {library['version']})" if library["version"] else ""
    return f"{library['name']}>={library['at_least']}{has}"
