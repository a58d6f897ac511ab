"""The power fails."""

from __future__ import annotations

import pytest

from required import lacking
from soak.disk import available
from soak.power import cut


@pytest.fixture(autouse=True)
def compiler() -> None:
    if not available():
        lacking("cc", "needs a C compiler (cc) for the layer under the disk")


def test_a_power_cut_takes_nothing_that_was_acknowledged() -> None:
    found = cut("FULL", 1, 12, 0.8)
    assert found["cuts"] == 12
    assert found["wrong"] == found["lost"] == found["twice"] == found["apart"] == found["unreadable"] == 0
    assert found["outcomes"] > 10


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_without_the_syncs_it_does(synchronous: str) -> None:
    assert cut(synchronous, 1, 8, 0.8)["lost"] > 0
