"""Adapters of installed packages, registered by an entry point."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import overcast as oc
from overcast.adapters import plugins
from support import refused

CODE = """
import overcast as oc

class Gust:
    def __init__(self, *speeds):
        self.speeds = speeds

asked = []

def as_belief(obj, *, model, level, member_dim):
    asked.append({"model": model, "level": level, "member_dim": member_dim})
    if not isinstance(obj, Gust):
        return None
    if model == "wrong":
        return [1.0] if level else 1.0
    found = [oc.Gaussian([speed], 1.0) for speed in obj.speeds]
    return found if len(found) > 1 else found[0]
"""


@pytest.fixture
def gusts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type]:
    """A package with an adapter, as an installer would leave it."""
    (tmp_path / "gust_forecasts.py").write_text(CODE)
    info = tmp_path / "gust_forecasts-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gust-forecasts\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[overcast.adapters]\ngust = gust_forecasts:as_belief\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.adapters.cache_clear()
    yield __import__("gust_forecasts").Gust
    plugins.adapters.cache_clear()
    sys.modules.pop("gust_forecasts", None)


def test_an_installed_adapter_is_asked(gusts: type) -> None:
    assert repr(oc.as_belief(gusts(7.0))) == "Gaussian(mean=[7.0], cov=[1.0])"
    assert [belief.mean()[0] for belief in oc.as_beliefs(gusts(7.0, 9.0))] == [7.0, 9.0]
    with refused(ValueError, "as_belief", "must hold one forecast, got 2 rows"):
        oc.as_belief(gusts(7.0, 9.0))
    for level in (None, 0.5):
        with refused(TypeError, "as_belief", "the adapter 'gust' must return a belief, a sequence of beliefs, or None"):
            oc.as_belief(gusts(7.0), model="wrong", level=level)


def test_an_adapter_gets_the_options_and_counts_as_having_used_them(gusts: type) -> None:
    asked = sys.modules["gust_forecasts"].asked
    options: dict[str, Any] = {"model": "GFS", "level": 0.8, "member_dim": "run"}
    assert oc.as_belief(gusts(7.0), **options).mean()[0] == 7.0
    assert asked == [options]
    for name in options:
        one = {name: options[name]}
        assert oc.as_beliefs(gusts(7.0), **one)[0].mean()[0] == 7.0
        assert asked[-1] == {"model": None, "level": None, "member_dim": None} | one


def test_an_adapter_that_declines_has_used_no_option(gusts: type) -> None:
    options: tuple[dict[str, Any], ...] = ({"model": "GFS"}, {"level": 0.8}, {"member_dim": "run"})
    for option in options:
        with refused(ValueError, "as_belief", f"{next(iter(option))} must be left out"):
            oc.as_belief({"warm": 21.0}, **option)
    bounds = {"lower": 1.0, "upper": 2.0}
    assert oc.as_belief(bounds, level=0.8).quantile(0.9)[0] == pytest.approx(2.0)


def test_other_objects_are_read_as_before(gusts: type) -> None:
    assert repr(oc.as_belief({"warm": 21.0})) == "PointMass([21.0])"


def test_without_packages_there_are_none() -> None:
    plugins.adapters.cache_clear()
    assert plugins.adapters() == ()
