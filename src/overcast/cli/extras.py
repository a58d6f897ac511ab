"""Dependencies of the package and of its extras, by the metadata of the installed package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata

#: the purpose of each extra, except for those for developers
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

# A name, its extras, versions, and a condition: 'psycopg[binary]>=3.2; extra == "postgres"'.
REQUIREMENT = re.compile(r"([\w.-]+)\s*(?:\[[^]]*\])?\s*\(?([^;)]*)\)?\s*(?:;\s*(.*))?")
EXTRA = re.compile(r"extra == ['\"]([\w-]+)['\"]")


@dataclass(frozen=True)
class Library:
    """A dependency of the package or of one of its extras."""

    name: str
    at_least: str

    @cached_property
    def version(self) -> str | None:
        """The installed version, None if it is not installed."""
        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return None

    @property
    def old(self) -> bool:
        """Whether the installed version is too old."""
        return self.version is not None and _numbers(self.version) < _numbers(self.at_least)

    @property
    def serves(self) -> bool:
        """Whether it is installed in a sufficient version."""
        return self.version is not None and not self.old


def libraries() -> dict[str, list[Library]]:
    """Return the dependencies of each extra, and under '' those of the package.

    There are none if the package is imported from a folder without installation. Dependencies for some platforms only
    are left out.
    """
    out: dict[str, list[Library]] = {}
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
        out.setdefault(extra[1] if extra else "", []).append(library)
    return out


def lacking(extras: str) -> list[str]:
    """Return the names of libraries that comma-separated extras would install or update.

    >>> lacking("")
    []
    """
    known = libraries()
    missing = [library for extra in extras.split(",") for library in known.get(extra, []) if not library.serves]
    return sorted({library.name for library in missing})


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: (2, 10, 0) for 2.10.0rc1."""
    return tuple(int(part) for part in re.split(r"[^\d.]", version, maxsplit=1)[0].split(".") if part)
