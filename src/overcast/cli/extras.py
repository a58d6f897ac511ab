"""What the package needs and what its extras add, by the metadata of the installed package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata

#: what an extra is for; extras for developers are not listed
PURPOSES = {
    "plot": "pictures",
    "scores": "scores of forecasts: CRPS, energy score",
    "experiments": "overcast demo, overcast reproduce",
    "movielens": "MovieLens: download and embedding",
    "dask": "overcast reproduce --dask: many machines",
    "gym": "environments as Gymnasium has them, and back",
    "completion": "overcast completion: the shell's Tab key",
}

REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:>=(?P<at_least>[\d.]+))?(?:; extra == ['\"](?P<extra>[\w-]+)['\"])?")


@dataclass(frozen=True)
class Library:
    """A library that the package or one of its extras needs."""

    name: str
    at_least: str

    @cached_property
    def version(self) -> str | None:
        """The version that is installed; None if there is none."""
        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return None

    @property
    def old(self) -> bool:
        """Whether the version that is installed is too old."""
        return self.version is not None and _numbers(self.version) < _numbers(self.at_least)

    @property
    def serves(self) -> bool:
        """Whether it is installed, in a version that will do."""
        return self.version is not None and not self.old


def libraries() -> dict[str, list[Library]]:
    """Return the libraries of each extra; those of the package itself have the key ''.

    There are none if the package is not installed, but imported from a folder.
    """
    found: dict[str, list[Library]] = {}
    try:
        requirements = metadata.requires("overcast") or []
    except metadata.PackageNotFoundError:
        requirements = []
    for text in requirements:
        read = REQUIREMENT.fullmatch(text)
        if read is None:
            raise ValueError(f"overcast: cannot read the requirement {text!r} of the installed package")
        library = Library(read["name"], read["at_least"] or "0")
        found.setdefault(read["extra"] or "", []).append(library)
    return found


def lacking(extras: str) -> list[str]:
    """Return the names of the libraries that extras, with commas between, would bring or renew.

    >>> lacking("")
    []
    """
    known = libraries()
    found = [library for extra in extras.split(",") for library in known.get(extra, []) if not library.serves]
    return sorted({library.name for library in found})


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with: 2.10.0rc1 is (2, 10, 0)."""
    return tuple(int(part) for part in re.split(r"[^\d.]", version, maxsplit=1)[0].split(".") if part)
