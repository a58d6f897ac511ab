"""Dependencies of the package and of its extras, by the metadata of the installed package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata

#: what an extra is for; extras for developers are not listed
PURPOSES = {
    "plot": "pictures",
    "scores": "scores of forecasts; with plot overcast calibrate",
    "experiments": "overcast demo, reproduce and bench",
    "movielens": "MovieLens: download and embedding",
    "dask": "overcast reproduce --dask: many machines",
    "gym": "environments as Gymnasium has them, and back",
    "service": "overcast serve: decisions over HTTP",
    "client": "oc.Client: ask a service from Python",
    "parquet": "overcast serve: logs as Parquet",
    "postgres": "overcast serve with PostgreSQL",
    "completion": "overcast completion: the shell's Tab key",
}

# A name, extras of its own, versions, and a condition: 'psycopg[binary]>=3.2; extra == "postgres"'.
REQUIREMENT = re.compile(r"([\w.-]+)\s*(?:\[[^]]*\])?\s*\(?([^;)]*)\)?\s*(?:;\s*(.*))?")
EXTRA = re.compile(r"extra == ['\"]([\w-]+)['\"]")


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

    There are none if the package is not installed, but imported from a folder. A library that only some platforms need
    is left out.
    """
    found: dict[str, list[Library]] = {}
    try:
        requirements = metadata.requires("overcast") or []
    except metadata.PackageNotFoundError:
        requirements = []
    for text in requirements:
        name, versions, condition = REQUIREMENT.fullmatch(text).groups("")  # type: ignore[union-attr] # as pip wrote it
        extra = EXTRA.fullmatch(condition)
        if condition and not extra:
            continue
        at_least = re.search(r">=\s*([\d.]+)", versions)
        library = Library(name, at_least[1] if at_least else "0")
        found.setdefault(extra[1] if extra else "", []).append(library)
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
