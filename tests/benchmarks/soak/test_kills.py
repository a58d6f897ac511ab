"""The server dies under load."""

from __future__ import annotations

from pathlib import Path

from soak.kills import killed

RIGHT = {"lost": 0, "twice": 0, "apart": 0, "refused": 0}


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    found = killed(str(tmp_path / "log.db"), tmp_path, 3)
    assert found | RIGHT == found
    assert found["outcomes_acknowledged"] > 3


def test_nothing_acknowledged_is_lost_on_postgres_either(postgres: str, tmp_path: Path) -> None:
    found = killed(postgres, tmp_path, 2)
    assert found | RIGHT == found
    assert found["outcomes_acknowledged"] > 2
