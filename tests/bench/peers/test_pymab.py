"""pymab in the race."""

from __future__ import annotations

from bench_support import check_peer


def test_it_runs_and_chooses_as_the_bare_calls_if_its_rule_is_the_same() -> None:
    check_peer("pymab")
