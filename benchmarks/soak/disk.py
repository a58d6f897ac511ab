"""A disk that a power cut hits, or that fails: a layer in C under the files of one folder (`disk.c`)."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

_HEAD = struct.Struct("<QQIII4x")
#: bytes that a disk writes whole or not at all
SECTOR = 512


class Event(NamedTuple):
    """What happened to a file: o(pened anew), w(rite), t(runcate), s(ync), u(nlink), d: sync of the folder."""

    time: float
    kind: str
    name: str
    offset: int
    data: bytes


class Disk:
    """A folder with the layer under it.

    Parameters
    ----------
    home : where the layer, its journal and the folder itself are made
    """

    def __init__(self, home: Path) -> None:
        self.folder, self.journal, self.fault = home / "disk", home / "journal", home / "fault"
        self.folder.mkdir()
        self.fault.write_bytes(b"\0")
        self._layer = home / "disk.so"
        source = Path(__file__).with_name("disk.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", self._layer, source, "-ldl"], check=True)

    @property
    def environment(self) -> dict[str, str]:
        """Variables that put the layer under a process."""
        return {
            "LD_PRELOAD": str(self._layer),
            "SOAK_DISK_FOLDER": str(self.folder),
            "SOAK_DISK_JOURNAL": str(self.journal),
            "SOAK_DISK_FAULT": str(self.fault),
        }

    def fail(self, kind: str) -> None:
        """Let the disk be f(ull), r(ead-only), fail at w(rites), at s(yncs), at a(ll); or nothing of this, by ''."""
        with open(self.fault, "r+b") as file:
            file.write(kind.encode() or b"\0")

    def events(self) -> Iterator[Event]:
        """Return all that happened, in order."""
        with open(self.journal, "rb") as file:
            while len(head := file.read(_HEAD.size)) == _HEAD.size:
                nanoseconds, offset, kind, name, data = _HEAD.unpack(head)
                text, content = file.read(name).decode(), file.read(data)
                if len(content) == data:  # else the process died while it wrote this down
                    yield Event(nanoseconds / 1e9, chr(kind), text, offset, content)


class Platter:
    """What is on the disk itself, and what the machine only remembers."""

    def __init__(self) -> None:
        self._safe: dict[str, bytearray] = {}  # contents as of the last sync of each file
        self._entries: set[str] = set()  # names as of the last sync of the folder
        self._names: set[str] = set()
        self._pending: dict[str, list[Event]] = {}

    def happen(self, event: Event) -> None:
        if event.kind == "d":
            self._entries = set(self._names)
        elif event.kind == "o":
            self._names.add(event.name)
            self._safe[event.name], self._pending[event.name] = bytearray(), []
        elif event.kind == "u":
            self._names.discard(event.name)
        elif event.kind == "s":
            for one in self._pending.get(event.name, ()):
                _apply(self._safe[event.name], one)
            self._pending[event.name] = []
        else:
            self._pending.setdefault(event.name, []).append(event)

    def cut(self, folder: Path, rng: np.random.Generator | None = None) -> None:
        """Write the files that are left after a power cut into a new folder.

        rng : None to lose all that was not synced; else some of it gets to the disk, sector by sector
        """
        folder.mkdir()
        for name in sorted(self._entries | (self._names if rng is not None else set())):
            if name.endswith(("-shm", ".lock")) or name not in self._safe:
                continue
            certain = name in self._entries
            if not certain and rng is not None and rng.random() < 0.5:
                continue
            content = bytearray(self._safe[name])
            for event in self._pending.get(name, ()) if rng is not None else ():
                assert rng is not None
                _partly(content, event, rng)
            (folder / name).write_bytes(content)


def _apply(content: bytearray, event: Event) -> None:
    if event.kind == "t":
        del content[event.offset :]
        content.extend(bytes(event.offset - len(content)))
    else:
        content.extend(bytes(max(0, event.offset - len(content))))
        content[event.offset : event.offset + len(event.data)] = event.data


def _partly(content: bytearray, event: Event, rng: np.random.Generator) -> None:
    if event.kind == "t":
        if rng.random() < 0.5:
            _apply(content, event)
        return
    for start in range(0, len(event.data), SECTOR):
        if rng.random() < 0.5:
            _apply(content, event._replace(offset=event.offset + start, data=event.data[start : start + SECTOR]))


def available() -> bool:
    """Return whether the layer can be built here."""
    return shutil.which("cc") is not None
