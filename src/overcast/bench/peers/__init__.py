"""Other packages, one module each; a package is imported when its entry starts."""

from __future__ import annotations

import importlib
import importlib.util
from typing import NamedTuple

from overcast.bench.race import Entry


class Peer(NamedTuple):
    """A package to race against: the name of its distribution, and of the module that it is imported by."""

    package: str
    imported: str

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.imported) is not None

    @property
    def entries(self) -> list[Entry]:
        name = self.package.replace("-", "_")
        found: list[Entry] = importlib.import_module(f"{__name__}.{name}").ENTRIES
        return found


PEERS = [
    Peer("mabwiser", "mabwiser"),
    Peer("contextualbandits", "contextualbandits"),
    Peer("river", "river"),
    Peer("coba", "coba"),
    Peer("bayesianbandits", "bayesianbandits"),
    Peer("pymab", "pymab"),
    Peer("banditlab", "mab_framework"),
    Peer("vowpalwabbit", "vowpalwabbit"),
    Peer("scikit-learn", "sklearn"),
    Peer("gpytorch", "gpytorch"),
    Peer("botorch", "botorch"),
]
