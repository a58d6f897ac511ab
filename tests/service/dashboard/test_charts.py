"""Charts show what they are given, and nothing of it breaks them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import msgspec
import numpy as np
import pytest
from markupsafe import Markup

import overcast as oc
from overcast.service.dashboard import charts
from overcast.service.dashboard.charts import Fan, Option
from overcast.service.dashboard.window import Seen, Window, _Record

EVIL = '"><script>alert(1)</script>'
BELIEF = msgspec.Raw(b'{"type": "Gaussian", "mean": [1.0], "cov": [1.0]}')


def seen(i: int, action: str = "a", width: float = 1.0) -> Seen:
    return Seen(f"d{i}", 1.7e9 + i, i, _Record(0, action, 0.0, width, None, i, BELIEF))


def some(n: int, actions: int = 3) -> Window:
    rewards = [(1.7e9 + i, float(np.sin(i)), i % 7 == 0) for i in range(n)]
    return Window([seen(i, f"action {i % actions}", 1.0 / (i + 1)) for i in range(n)], rewards)


def parsed(found: Markup | None) -> ET.Element:
    assert found is not None
    assert "style=" not in found
    assert "nan" not in found
    assert "inf" not in found
    return ET.fromstring(str(found))


def dots(found: Markup | None, kind: str) -> int:
    paths = [one.attrib["d"] for one in parsed(found).iter() if one.attrib.get("class") == f"dots {kind}"]
    return sum(path.count("h0") for path in paths)


def test_moving_means() -> None:
    assert charts.moving([1.0, 2.0, 3.0, 4.0], 2) == [1.0, 1.5, 2.5, 3.5]
    assert charts.moving([], 2) == []
    assert (charts.length(3), charts.length(200), charts.length(10_000)) == (5, 20, 50)


def test_every_reward_is_a_dot_and_defaults_look_different() -> None:
    found = charts.rewards(some(50))
    assert (dots(found, "came"), dots(found, "default")) == (42, 8)
    assert charts.rewards(Window()) is None
    parsed(charts.rewards(some(1)))


def test_lines_have_few_points() -> None:
    found = charts.rewards(some(5000))
    (line,) = [one.attrib["d"] for one in parsed(found).iter() if one.attrib.get("class") == "line mean"]
    assert line.count("L") <= charts.POINTS


def test_shares_sum_to_one_and_rare_actions_are_together() -> None:
    found, areas = charts.shares(some(200, actions=10))
    parsed(found)
    assert len(areas) == charts.AREAS + 1
    assert areas[-1].action == "others"
    assert sum(area.share for area in areas) == pytest.approx(1.0)
    assert charts.shares(some(1)) == (None, [])
    parsed(charts.shares(some(2))[0])


def test_estimates_mark_the_choice_and_hold_it_even_if_it_is_far_down() -> None:
    options = [Option(f"a{i}", float(-i), 0.1, chosen=i == 30) for i in range(40)]
    found = parsed(charts.estimates(options))
    rows = [one for one in found.iter() if one.attrib.get("class", "").startswith("option")]
    assert len(rows) == charts.OPTIONS + 1
    assert any("▸ a30" in (one.text or "") for one in found.iter())
    assert charts.estimates([Option("a", float("nan"), 1.0)]) is None
    parsed(charts.estimates([Option("a", 0.0, 0.0, True)]))


def test_widths_without_a_positive_one() -> None:
    parsed(charts.widths(some(30)))
    assert charts.widths(Window([seen(1, width=0.0)])) is None
    parsed(charts.widths(Window([seen(1, width=2.0)])))


def test_fans_show_what_came() -> None:
    drawn = [Fan(seen(i), [0.0, 1.0, 2.0, 3.0, 4.0], 2.0 if i % 2 else None) for i in range(1, 11)]
    found = charts.fans(drawn, "rain")
    assert dots(found, "truth") == 5
    endless = Fan(seen(11), [float("-inf"), 1.0, 2.0, 3.0, float("inf")], 1.0)
    parsed(charts.fans([*drawn, endless], "rain"))
    assert charts.fans([Fan(seen(1), [float("nan")] * 5, None)], "rain") is None


def test_calibration() -> None:
    rng = np.random.default_rng(0)
    found = oc.calibration.check([oc.Gaussian([0.0], 1.0)] * 60, rng.normal(size=60))
    bars = [one for one in parsed(charts.pit(found)).iter() if one.attrib.get("class") == "histogram"]
    assert len(bars) == 10
    parsed(charts.coverage(found))


def test_sparklines_and_strips() -> None:
    parsed(charts.sparkline(some(300)))
    assert charts.sparkline(some(1)) is None
    parsed(charts.strip(np.arange(5.0), 7.0))
    parsed(charts.strip(np.zeros(5), None))
    assert charts.strip(np.array([-np.inf, 0.0, 1.0, 2.0, np.inf]), None) is None


def test_no_name_becomes_markup() -> None:
    window = Window([seen(i, EVIL) for i in range(30)], some(30).rewards)
    found = [
        charts.shares(window)[0],
        charts.estimates([Option(EVIL, 1.0, 1.0, True)]),
        charts.fans([Fan(seen(1), [0.0, 1.0, 2.0, 3.0, 4.0], 1.0)], EVIL),
    ]
    for one in found:
        assert "<script" not in str(one)
        parsed(one)
