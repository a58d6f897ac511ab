"""What stores share."""

from __future__ import annotations

import pytest

from overcast.service.store.base import Snapshots, grouped, last_older, listed, pending
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


def test_bisection_finds_the_last_row_before_a_time() -> None:
    times = {2: 1.0, 3: 2.0, 7: 2.0, 9: 5.0}  # with gaps, as erasure leaves them

    def at(position: int) -> tuple[int, float] | None:
        known = [one for one in times if one <= position]
        return (max(known), times[max(known)]) if known else None

    for time, positions in ((0.5, {0, 1}), (1.5, {2}), (2.0, {2}), (3.0, {7, 8}), (9.0, {9})):
        assert last_older(time, 9, at) in positions
