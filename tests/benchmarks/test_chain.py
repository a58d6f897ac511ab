"""What it costs to chain an event."""

from __future__ import annotations

import json

import chain


def test_chaining_takes_some_time_and_the_kept_figures_are_of_the_same_beliefs() -> None:
    found = chain.measured(1)
    assert min(found.values()) > 0.0
    kept = json.loads(chain.KEPT.read_text(encoding="utf-8"))
    assert kept["microseconds"].keys() == found.keys()
    assert kept["turns"] == chain.TURNS
