"""Small tasks for races, and what all entries of a peer must do."""

from __future__ import annotations

import pytest

from overcast.bench import reference
from overcast.bench.peers import PEERS
from overcast.bench.race import race
from overcast.bench.tasks import Task, _curved, _linear
from overcast.features import Bilinear

SMALL: list[Task] = [
    _linear("blocks", "blocks", 6, 0, 3, 40),
    _linear("shared", "shared", 6, 2, 3, 40, Bilinear),
    _curved(20),
]


def check_peer(package: str) -> None:
    """Check that the entries of a package run, and choose as the bare calls do if they follow the same rule."""
    (peer,) = (peer for peer in PEERS if peer.package == package)
    if not peer.installed:
        pytest.skip(f"{package} is not installed; make bench-peers installs it")
    assert peer.entries
    for task in SMALL:
        entries = [entry for entry in peer.entries if task.kind in entry.kinds]
        assert all(entry.package == package for entry in entries)
        for entry, found in zip(entries, race(task, [*reference.ENTRIES, *entries])[3:], strict=True):
            assert (found.label, found.rule, found.rounds) == (entry.label, entry.rule, task.steps)
            assert found.seconds > 0.0
            if entry.same:
                assert found.agreement == 1.0, (task.name, entry)
