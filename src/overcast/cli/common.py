"""Common parts of commands: types of arguments, options, tables, colours, progress and time."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from overcast import _check

if TYPE_CHECKING:
    from tqdm import tqdm

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_out(parser: argparse.ArgumentParser) -> None:
    """Add the option for the folder to write to."""
    out = Path("overcast-out")
    parser.add_argument("--out", type=Path, metavar="DIR", default=out, help="folder to write to (%(default)s)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option that prints JSON instead of tables."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def ensure_folder(folder: Path) -> Path:
    """Create a folder unless it exists, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def whole(text: str, at_least: int = 1) -> int:
    if not text.isdecimal() or int(text) < at_least:
        raise argparse.ArgumentTypeError(f"expected a whole number >= {at_least}, got {text!r}")
    return int(text)


def betas(text: str) -> tuple[float, ...]:
    values = _numbers(text)
    if min(values) < 0:
        raise argparse.ArgumentTypeError(f"expected numbers >= 0, got {text!r}")
    return tuple(dict.fromkeys(values))


def noise_values(text: str) -> tuple[float, ...]:
    values = _numbers(text)
    try:
        _check.centred("--noise", "values", values)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return values


def _numbers(text: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(math.isfinite(value) for value in values):
        raise argparse.ArgumentTypeError(f"expected numbers with commas between, e.g. 0.5,1,2, got {text!r}")
    return values


def progress(total: int, name: str, unit: str) -> tqdm[NoReturn]:
    """Return a progress bar, visible on a terminal only."""
    from tqdm import tqdm

    return tqdm(total=total, desc=name, unit=unit, disable=None)


class Watch:
    """A stopwatch of the time that the user has waited.

    before : seconds before its start
    """

    def __init__(self, before: float = 0.0) -> None:
        self._start = self._last = time.perf_counter() - before

    @property
    def whole(self) -> float:
        return time.perf_counter() - self._start

    def lap(self) -> float:
        """Return the seconds since the last call, or since the start."""
        before, self._last = self._last, time.perf_counter()
        return self._last - before


def age() -> float:
    """Return the age of this process in seconds, which includes the start of Python and imports.

    It is zero on systems other than Linux.
    """
    try:
        stat = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0.0
    began = int(stat.rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")  # since boot
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)


def print_json(data: dict[str, Any]) -> None:
    """Print data as JSON."""
    print(json.dumps(data, indent=2))


def print_rows(rows: Sequence[tuple[str, ...]], left: int = 1) -> None:
    """Print a table with its header, the first `left` columns flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        text = "  ".join(cells).rstrip()
        print(text if number else bold(text))


def bold(text: str) -> str:
    return painted(text, 1)


def painted(text: str, code: int) -> str:
    """Return text with an ANSI code on a colour terminal, unchanged elsewhere or if NO_COLOR is set."""
    takes = sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
    return f"\x1b[{code}m{text}\x1b[0m" if takes else text
