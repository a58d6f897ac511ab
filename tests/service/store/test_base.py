"""What stores share."""

from __future__ import annotations

import pytest

from overcast.service.store.base import Snapshots, grouped, listed, pending
from support import refused


def test_snapshots_survive_rows() -> None:
    snapshots = Snapshots(7, "1.0", {"": b"keys", "farm": b"\x00\xff"})
    assert grouped(listed(snapshots)) == snapshots
    assert grouped([]) is None


@pytest.mark.parametrize(("version", "left"), [(0, [1, 2, 3]), (1, [2, 3]), (3, [])])
def test_pending_steps(version: int, left: list[int]) -> None:
    assert [number for number, _ in pending({1: ("a",), 2: ("b",), 3: ("c",)}, version)] == left


def test_a_schema_from_the_future_is_refused() -> None:
    with refused(ValueError, "serve", "3 at most, got 4", "upgrade"):
        pending({1: (), 3: ()}, 4)
