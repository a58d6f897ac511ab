"""What several commands share: types of arguments, options, tables and progress."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from overcast import _check

if TYPE_CHECKING:
    from tqdm import tqdm

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_out(parser: argparse.ArgumentParser) -> None:
    """Add the option for the folder to write to."""
    parser.add_argument("--out", type=Path, default=Path("overcast-out"), help="folder to write to (%(default)s)")


def made(folder: Path) -> Path:
    """Return a folder; make it unless it exists."""
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
    """Return a progress bar, which shows on a terminal only."""
    from tqdm import tqdm

    return tqdm(total=total, desc=name, unit=unit, disable=None)


def print_rows(rows: Sequence[tuple[str, ...]], left: int = 1) -> None:
    """Print a table, its first `left` columns flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
