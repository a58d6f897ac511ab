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


def test_it_is_fast_enough() -> None:
    load, start = SOAK["load"], SOAK["start"]
    assert load["pairs"]["a_second"] >= 800
    assert load["pairs at 400 a second"]["p99_ms"] < 25
    assert load["batches of 100"]["outcomes_a_second"] >= 10_000
    assert all(load[name]["failures"] == 0 for name in ("pairs", "pairs at 400 a second", "batches of 100"))
    assert start["1000000 outcomes: seconds_from_snapshot"] < 5
    few, many = (start[f"{n} outcomes: folded_a_second"] for n in (100_000, 1_000_000))
    assert many > 0.8 * few  # linear in the log


def test_memory_stays_as_it_is() -> None:
    memory = SOAK["memory"]
    assert memory["pairs"] >= 100 * 3600
    assert memory["megabytes_grown_over_the_last_half"] < 1
