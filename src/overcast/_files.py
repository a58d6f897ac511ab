"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a file to write to, which takes the place of `path` once it is whole.

    Readers find the old file or the new one, also if two processes write at once. An existing file keeps its mode, and
    a symlink goes on pointing to it.
    """
    target = os.path.realpath(path)
    partial = f"{target}.{uuid.uuid4().hex[:8]}.partial"
    try:
        with open(partial, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(target, partial)
        os.replace(partial, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(partial)
        if isinstance(error, OSError) and error.filename in (None, partial):
            error.filename = os.fspath(path)  # so that the message names the file that was to be written
        raise


def write_text(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure in the format that the ending of the path tells, which is PNG if it has none."""
    path = Path(path)
    path = path if path.suffix else path.with_suffix(".png")
    options: dict[str, Any] = {"metadata": {"CreationDate": None}} if path.suffix == ".pdf" else {}
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=160, **options)
