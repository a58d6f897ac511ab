"""The disk fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from required import lacking
from soak.disk import available
from soak.faults import KINDS, failed


@pytest.fixture(autouse=True)
def compiler() -> None:
    if not available():
        lacking("cc", "needs a C compiler (cc) for the layer under the disk")


def test_a_fault_answers_503_loses_nothing_and_passes(tmp_path: Path) -> None:
    found = failed(tmp_path, seconds=0.25)
    assert found["alive"]
    assert found["lost"] == found["twice"] == found["apart"] == found["refused"] == 0
    assert found["kinds"].keys() == KINDS.keys()
    for one in found["kinds"].values():
        assert (one["acknowledged_meanwhile"], one["works_again"]) == (0, 1)
        assert one["unavailable"] > 0
