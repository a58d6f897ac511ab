"""The judge of recalibration, and what it found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recalibration import judge
from recalibration.records import generated

RESULTS = Path(judge.__file__).parent / "results.json"
#: what recalibration promises to be no worse on
PROMISED = (
    *("Innsbruck, temperature", "Innsbruck, rain", "Innsbruck, rain of three days"),
    *("seasonal bias", "changed model", "coastal station", "slow drift", "generated rain"),
)


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    return {row["name"]: row for row in json.loads(RESULTS.read_text(encoding="utf-8"))["summary"]}


@pytest.mark.parametrize("name", PROMISED)
def test_no_interval_lies_above_zero(rows: dict[str, Any], name: str) -> None:
    against = {key: value for key, value in rows[name]["differences"].items() if key.startswith("EMOS")}
    assert len(against) in (2, 4)
    for mean, low, high in against.values():
        assert low <= mean <= high
        assert low <= 0.0


def test_where_nothing_changes_the_loss_is_small(rows: dict[str, Any]) -> None:
    """A year of outcomes is all that EMOS needs then: recalibration is at most half a per cent worse."""
    for name in ("right forecasts", "constant bias", "heavy tails", "multiplied"):
        row = rows[name]
        for method, (mean, _, _) in row["differences"].items():
            assert mean < 0.005 * row["crps"][method]


def test_a_short_record_is_judged() -> None:
    pytest.importorskip("scoringrules")
    whole = generated("constant bias", 4)
    short = replace(whole, days=whole.days[:80], members=whole.members[:80], outcomes=whole.outcomes[:80])
    found = judge.judged(short)
    assert set(found) == {judge.OURS, judge.RAW, judge.FORMER, "EMOS, normal, 30 days", "EMOS, normal, 365 days"}
    assert {len(values) for values in found.values()} == {40}
    assert found[judge.OURS].mean() < found[judge.RAW].mean()


def test_intervals() -> None:
    """Independent days have the usual standard error: within a third, four of its own errors; correlated ones more."""
    rng = np.random.default_rng(0)
    steps = rng.normal(1.0, 2.0, 5000)
    mean, low, high = judge.over_days(steps)
    assert mean == pytest.approx(steps.mean())
    assert (high - low) / 3.92 == pytest.approx(2.0 / np.sqrt(5000), rel=0.34)
    slow = np.convolve(steps, np.ones(10) / np.sqrt(10), "valid")
    _, low, high = judge.over_days(slow)
    assert (high - low) / 3.92 > 2.0 * 2.0 / np.sqrt(5000)
    mean, low, high = judge.over_records(np.array([1.0, 2.0, 3.0]))
    assert mean == 2.0
    assert high - mean == pytest.approx(4.302652729911275 / np.sqrt(3))


def test_the_table_names_every_opponent(rows: dict[str, Any]) -> None:
    text = "\n".join(judge.lines(list(rows.values())))
    assert "EMOS, censored gamma, 365 days" in text
    assert text.count("recalibrated") == len(rows)
