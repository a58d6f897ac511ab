"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import uuid
from collections.abc import Callable
from typing import IO

try:
    import fcntl
except ImportError:  # Windows has no such locks; what a killed process leaves behind stays there
    fcntl = None  # type: ignore[assignment]


def replace(path: str | os.PathLike[str], write: Callable[[IO[bytes]], None]) -> None:
    """Let `write` fill a file that takes the place of `path` once it is complete, with the mode of the file before.

    A link stays a link, and the file it points to is replaced. Whatever happens half-way, the former file stays. What a
    process that was killed has left behind is removed by the next one.
    """
    target = os.path.realpath(path)
    _clear(target)
    file, partial = _open(target)
    try:
        with file:
            write(file)
            file.flush()
            with contextlib.suppress(FileNotFoundError):
                os.chmod(partial, os.stat(target).st_mode & 0o7777)
            os.fsync(file.fileno())
            os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)
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
    for partial in glob.iglob(f"{glob.escape(target)}.*.partial"):
        with contextlib.suppress(OSError), open(partial, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while somebody writes it
            os.unlink(partial)


def _sync(folder: str) -> None:
    """Make the new name of a file last; not all systems can open folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
