"""Atomic writes of files."""

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
except ImportError:  # Windows has no such locks, so files left by a killed process stay
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a file to write to, which replaces `path` when it is complete.

    Readers see the old file or the new one, also if two processes write at once. An existing file keeps its mode, and a
    symlink its target. The next call removes the files of killed processes.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device is not replaced
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
            error.filename = os.fspath(path)  # so that the message names the target
        raise
    _sync(os.path.dirname(target))


def _open(target: str) -> tuple[IO[bytes], str]:
    """Create a locked file next to the target; return it with its path."""
    while True:
        partial = f"{target}.{uuid.uuid4().hex[:8]}.partial"
        file = open(partial, "xb")  # noqa: SIM115 - the caller closes it
        if fcntl is None:
            return file, partial
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:  # otherwise another process removed it before the lock
            return file, partial
        file.close()


def _clear(target: str) -> None:
    """Remove the unfinished files of killed processes."""
    if fcntl is None:
        return
    for partial in glob.iglob(f"{glob.escape(target)}.{'[0-9a-f]' * 8}.partial"):
        with suppress(OSError), open(partial, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while a process writes it
            os.unlink(partial)


def _sync(folder: str) -> None:
    """Sync a folder, so that a rename is durable, on systems that can open folders."""
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
    """Write a figure in the format of the path's ending, PNG by default."""
    path = Path(path)
    path = path if path.suffix else path.with_suffix(".png")
    options: dict[str, Any] = {"metadata": {"CreationDate": None}} if path.suffix == ".pdf" else {}
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=160, **options)
