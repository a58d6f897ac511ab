"""Several processes on one log."""

from __future__ import annotations

from pathlib import Path

from soak.together import together


def test_all_processes_come_to_the_state_of_the_fold(postgres: str, tmp_path: Path) -> None:
    found = together(postgres, tmp_path, 400, processes=3)
    assert found["refused"] == 0
    assert found["same_in_all"]
    assert found["same_as_the_fold"]
    assert found["same_as_replay"]
    assert found["reads"] > 0
    assert found["reads_behind_what_was_acknowledged"] == 0
