"""Files that earlier releases wrote load, and the bandit knows what it knew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from memory_support import decisions_of, differences

FIXTURES = Path(__file__).parent / "fixtures"
FILES = sorted(FIXTURES.glob("version*/*.npz"))
POINTS = [oc.PointMass([0.5, -1.0]), oc.PointMass([1.5, 0.25])]


def _expected(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))[path.stem]
    return found


def _agrees(bandit: oc.Bandit, expected: dict[str, Any], when: str = "") -> None:
    found = [bandit.estimate(point) for point in POINTS]
    if bandit.samples is not None:  # a point has no draws that differ
        assert bandit.samples in (3, "t")
    np.testing.assert_allclose([one.mean for one in found], expected[f"{when}mean"], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose([one.width for one in found], expected[f"{when}width"], rtol=1e-8, atol=1e-9)


def test_there_is_a_file_for_every_version_so_far() -> None:
    assert {path.parent.name for path in FILES} == {"version3", "version4", "version5", "version6"}


each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")


@each_file
def test_a_file_of_an_earlier_release_loads(path: Path, tmp_path: Path) -> None:
    bandit, expected = oc.Bandit.load(path), _expected(path)
    assert bandit.learnt.rounds == expected["rounds"]
    assert bandit.learnt.open == len(expected["open"])
    _agrees(bandit, expected)
    bandit.save(tmp_path / "again")
    again = oc.Bandit.load(tmp_path / "again")
    assert differences(again, bandit) == []
    for i, ticket in enumerate(expected["open"]):
        for each in (bandit, again):
            each.learn(ticket, float(i), context=[0.5, 0.5] if i else None)
    _agrees(bandit, expected, "later ")
    assert differences(again, bandit) == []
    bandit.learn(bandit.decide(POINTS[0]), 1.0)


@each_file
def test_a_bandit_decides_as_it_did_under_the_release_that_wrote_it(path: Path) -> None:
    expected = json.loads((FIXTURES / "decisions.json").read_text(encoding="utf-8"))
    assert decisions_of(oc.Bandit.load(path)) == expected[path.parent.name][path.stem]
