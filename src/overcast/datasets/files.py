"""Read tables from text files; errors name the file and the line."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from pathlib import Path

#: possible delimiters of cells; the first one counts if several are as frequent
DELIMITERS = (",", ";", "\t", "|")
NAMES = {";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
DECIMAL = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")


def bad(path: Path, line: int, text: str) -> ValueError:
    """Return a ValueError about a line of a file."""
    return ValueError(f"{path} line {line}: {text}")


def lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank."""
    try:
        content = path.read_bytes().decode(encoding)
    except UnicodeDecodeError as error:
        line = len((error.object[: error.start] + b".").splitlines())
        raise bad(path, line, f"expected {error.encoding} text, got byte {error.object[error.start]:#04x}") from None
    for number, text in enumerate(io.StringIO(content, newline=""), start=1):
        if not text.isspace():
            yield number, text.rstrip("\r\n")


def _of_table(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a table from its header on, without the comments (#) before it."""
    return dropwhile(lambda line: line[1].lstrip().startswith("#"), lines(path, "utf-8-sig"))


def delimiter(path: Path) -> str:
    """Guess the delimiter of a table by its header; a space stands for any number of spaces."""
    first = next((text for _, text in _of_table(path)), "")
    outside = re.sub(r'"[^"]*"', "", first)
    counts = {mark: outside.count(mark) for mark in DELIMITERS}
    best = max(counts, key=lambda mark: counts[mark])
    if counts[best]:
        return best
    return " " if " " in outside.strip() else ","


def table(path: Path, needed: Sequence[str], mark: str = ",") -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the cells by column of each row of a table; raise ValueError without `needed` columns.

    `mark` is the delimiter. Unless it is a comma, a comma within a number is a decimal point.
    """
    numbered = _of_table(path)
    number, first = next(numbered, (1, ""))
    columns = _cells(path, number, first, mark) if first else []
    wrong = [f"{name} is missing" for name in needed if name not in columns]
    wrong += [f"{name} comes twice" for name in columns if columns.count(name) > 1]
    if wrong:
        present = ", ".join(columns) or "none"
        expected = f"columns {', '.join(needed)}" if needed else "each column once"
        raise bad(path, number, f"expected {expected}; {wrong[0]}; found {present}")
    for number, text in numbered:
        cells = _cells(path, number, text, mark)
        if len(cells) != len(columns):
            raise bad(path, number, f"expected {len(columns)} cells, got {len(cells)}")
        if mark != ",":
            cells = [cell.replace(",", ".") if DECIMAL.fullmatch(cell) else cell for cell in cells]
        yield number, dict(zip(columns, cells, strict=True))


def _cells(path: Path, line: int, text: str, mark: str) -> list[str]:
    try:
        if mark == " ":
            return [cell.strip() for cell in next(csv.reader([" ".join(text.split())], delimiter=mark, strict=True))]
        return [cell.strip() for cell in next(csv.reader([text], delimiter=mark, strict=True))]
    except csv.Error as error:
        raise bad(path, line, f"expected cells between {NAMES.get(mark, 'commas')}, got {error}") from None


def real(path: Path, line: int, name: str, text: str) -> float:
    """Parse the number in a cell."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise bad(path, line, f"{name} must be a number, got {text!r}")
    return value


def whole(path: Path, line: int, name: str, text: str) -> int:
    """Parse the integer in a cell."""
    try:
        return int(text)
    except ValueError:
        raise bad(path, line, f"{name} must be a whole number, got {text!r}") from None


def find(folder: Path, names: Sequence[str], what: str) -> list[Path]:
    """Return the paths of these files in a folder; raise FileNotFoundError if one is missing."""
    if not folder.is_dir():
        present = "a file" if folder.exists() else "nothing"
        raise FileNotFoundError(f"{folder}: expected a folder with {what}, found {present}")
    paths = [folder / name for name in names]
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"{folder}: expected {what}; {path.name} is missing")
    return paths
