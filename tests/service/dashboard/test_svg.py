"""Axes and marks."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from overcast.service.dashboard.svg import Chart, log_ticks, number, short, spread, ticks, time_ticks, widened


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 7.0), (1e-6, 3e-6), (-1e9, 1e9), (19.99, 20.01)])
def test_ticks_are_few_and_lie_within(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 2 <= len(found) <= 11
    assert all(low - 1e-9 * (high - low) <= one <= high + 1e-9 * (high - low) for one in found)


@pytest.mark.parametrize("length", [0.01, 1.0, 59.0, 4000.0, 90_000.0, 1e6, 1e8])
def test_times_are_few_and_told_apart(length: float) -> None:
    found = time_ticks(1.7e9 + 0.5, 1.7e9 + 0.5 + length)
    assert 1 <= len(found) <= 6
    assert len({words for _, words in found}) == len(found)
    assert all(1.7e9 + 0.5 <= at <= 1.7e9 + 0.5 + length + 1e-6 for at, _ in found)


def test_logarithms_have_round_numbers() -> None:
    assert [words for _, words in log_ticks(0.0, 1.0)] == ["1", "2", "5", "10"]
    assert len(log_ticks(-20.0, 20.0)) <= 8


def test_numbers_for_people() -> None:
    assert [number(one) for one in (0.0, 1234.5, -0.5, 1e9, 1e-9, float("nan"))] == [
        *("0", "1,234", "−0.5", "1.00e+09", "1.00e−09", "–")
    ]


def test_intervals_are_never_empty() -> None:
    for low, high in (widened(2.0, 2.0), widened(0.0, 0.0), spread([]), spread([5.0]), spread([float("inf"), 1.0])):
        assert high > low
    assert spread([1.0, 5.0], zero=True)[0] == 0.0
    assert spread([-5.0, -1.0], zero=True)[1] == 0.0


def test_a_chart_is_well_formed_and_escapes_all_words() -> None:
    evil = '<script>alert("1")</script>'
    chart = Chart((0.0, 1.0), (0.0, 10.0), (evil, evil), evil)
    chart.line([(0.0, 0.0), (1.0, 10.0)], "mean")
    chart.dots([(0.5, 5.0)], "came")
    chart.area([0.0, 1.0], [0.0, 0.0], [1.0, 2.0], "a0", evil)
    chart.bar((0.1, 0.2), (0.0, 5.0), "bar", evil)
    chart.text(10.0, 10.0, evil)
    text = str(chart.svg([(0.0, evil)]))
    assert "<script" not in text
    tree = ET.fromstring(text)
    assert tree.attrib["aria-label"] == evil
    assert [one.text for one in tree.iter() if one.text == evil]
    assert "style=" not in text  # the content security policy would drop it


def test_data_become_pixels() -> None:
    chart = Chart((0.0, 10.0), (0.0, 10.0), ("x", "y"), "t")
    assert chart.at_x(0.0) < chart.at_x(10.0)
    assert chart.at_y(0.0) > chart.at_y(10.0)
    chart.line([], "mean")
    chart.dots([], "came")
    assert not re.search('class="(line|dots)', str(chart.svg()))


def test_long_words_are_cut() -> None:
    assert short("abcdef", 4) == "abc…"
    assert short("abc", 4) == "abc"


def test_times_beyond_the_calendar_have_no_ticks() -> None:
    assert time_ticks(0.0, 1e15) == time_ticks(-1e12, 0.0) == []
    assert 1 <= len(time_ticks(0.0, 2.5e11)) <= 6
