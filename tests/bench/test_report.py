"""Tables, records and the picture of a race."""

from __future__ import annotations

import json
from pathlib import Path

from overcast.bench import report
from overcast.bench.race import Result

FOUND = [
    Result("a task", "bare NumPy and SciPy", "", "UCB", True, 2e-5, 1.0, 60),
    Result("a task", "overcast", "0.1.0", "UCB", True, 4e-5, 1.0, 60),
    Result("a task", "other", "2.3", "Thompson", False, 1.2345678e-2, 0.25, 20),
    Result("a task", "third", "1.0", "UCB", True, 1e-5, 0.5, 60),
    Result("another", "overcast", "0.1.0", "UCB", True, 1e-3, 1.0, 60),
]


def test_rows_go_from_the_fastest_to_the_slowest_and_say_who_chooses_differently() -> None:
    (name, rows), (other, _) = report.tables(FOUND)
    assert (name, other) == ("a task", "another")
    assert rows == [
        ("third 1.0", "UCB", "10", "0.25", "50%"),
        ("bare NumPy and SciPy", "UCB", "20", "0.5", "100%"),
        ("overcast 0.1.0", "UCB", "40", "1", "100%"),
        ("other 2.3", "Thompson", "12,346", "309", "-"),
    ]


def test_a_record_holds_the_results() -> None:
    data = json.loads(json.dumps(report.record(FOUND, ["missing one"])))
    assert data["missing"] == ["missing one"]
    back = report.results(data)
    assert [r._replace(seconds=0.0) for r in back] == [r._replace(seconds=0.0) for r in FOUND]
    assert back[2].seconds == 0.01235


def test_the_picture_has_a_bar_per_entry() -> None:
    axes = report.draw(FOUND).axes
    assert [len(ax.patches) for ax in axes] == [4, 1]
    labels = [label.get_text() for label in axes[0].get_yticklabels()]
    assert labels == ["other: Thompson", "overcast: UCB", "bare NumPy and SciPy: UCB", "third: UCB"]
    assert axes[0].get_xscale() == "log"


def test_the_readme_shows_what_the_command_found() -> None:
    root = Path(__file__).parents[2]
    data = json.loads((root / "benchmarks" / "peers.json").read_text(encoding="utf-8"))
    found = report.results(data)
    assert report.brief(found) in (root / "README.md").read_text(encoding="utf-8")
    assert all(r.agreement == 1.0 for r in found if r.same)
    assert not data["missing"]


def test_the_brief_names_the_fastest_two() -> None:
    *_, first, _ = report.brief(FOUND[:4] + [r._replace(task="another") for r in FOUND[:2]]).splitlines()
    assert first == "| a task | 40 | 20 | third (UCB) 10, other (Thompson) 12,346 |"
