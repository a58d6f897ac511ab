"""The figures that `make soak` kept show what the site says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from soak.__main__ import PARTS

SOAK: dict[str, Any] = json.loads((Path(__file__).parents[3] / "benchmarks" / "soak.json").read_text())


def test_all_parts_are_there() -> None:
    assert SOAK.keys() == PARTS.keys()


@pytest.mark.parametrize("part", ["kills-sqlite", "kills-postgres", "faults", "outage"])
def test_nothing_was_lost_or_counted_twice(part: str) -> None:
    found = SOAK[part]
    assert found["lost"] == found["twice"] == found["apart"] == found["refused"] == 0


def test_often_enough() -> None:
    assert SOAK["kills-sqlite"]["deaths"] >= 50
    assert SOAK["kills-postgres"]["deaths"] >= 50
    assert SOAK["together"]["outcomes"] >= 20_000
    assert SOAK["together"]["processes"] >= 4


def test_power_cuts_lose_nothing_with_the_right_syncs_alone() -> None:
    power = SOAK["power"]
    assert power["FULL"]["wrong"] == 0
    assert power["FULL"]["cuts"] >= 100
    assert power["NORMAL"]["wrong"] > 0
    assert power["OFF"]["wrong"] > 0


def test_faults_are_answered_with_503_and_pass() -> None:
    for one in SOAK["faults"]["kinds"].values():
        assert one["acknowledged_meanwhile"] == 0
        assert one["works_again"] == one["times"]


def test_all_processes_had_the_same_state() -> None:
    found = SOAK["together"]
    assert found["same_in_all"]
    assert found["same_as_the_fold"]
    assert found["same_as_replay"]
    assert found["reads_behind_what_was_acknowledged"] == 0


def test_made_up_requests_were_many() -> None:
    assert SOAK["requests"]["operations"] >= 26
    assert SOAK["requests"]["examples_per_operation"] >= 300
