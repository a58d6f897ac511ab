"""Files that are written whole or not at all."""

from __future__ import annotations

import glob
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

try:
    import fcntl
except ImportError:  # Windows has no such locks; what a killed process leaves behind stays there
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a file to write to, which takes the place of `path` once it is whole.

    Readers find the old file or the new one, also if two processes write at once. An existing file keeps its mode, and
    a symlink goes on pointing to it. What a process that was killed has left behind is removed by the next one.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device stays what it is
        with open(target, "wb") as device:
            yield device
        return
    partial = None
    try:
        _clear(target)
        file, partial = _open(target)
        with file:
            yield file
            file.flush()
            with suppress(FileNotFoundError):
                shutil.copymode(target, partial)
            os.fsync(file.fileno())
            os.replace(partial, target)
    except BaseException as error:
        if partial is not None:
            with suppress(OSError):
                os.unlink(partial)
        if isinstance(error, OSError) and error.errno and str(error.filename or ".partial").endswith(".partial"):
            error.filename = os.fspath(path)  # so that the message names the file that was to be written
        raise
    _sync(os.path.dirname(target))


def _open(target: str) -> tuple[IO[bytes], str]:
    """Return a new file next to the target, which is locked as long as it is written, and its path."""
    while True:
        partial = f"{target}.{uuid.uuid4().hex[:8]}.partial"
        file = open(partial, "xb")  # noqa: SIM115 - the caller closes it
        if fcntl is None:
            return file, partial
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:  # otherwise somebody took it for a left-over before the lock
            return file, partial
        file.close()


def _clear(target: str) -> None:
    """Remove unfinished files that no living process writes."""
    if fcntl is None:
        return
    for partial in glob.iglob(f"{glob.escape(target)}.{'[0-9a-f]' * 8}.partial"):
        with suppress(OSError), open(partial, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while somebody writes it
            os.unlink(partial)


def _sync(folder: str) -> None:
    """Make the new name of a file last; not all systems can open folders."""
    with suppress(OSError):
        handle = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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
