from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from untuned.report import Ratio, Row, keep, ratio, scores, table


def row(name: str, setting: str, value: float) -> Row:
    ratios: dict[str, dict[str, Ratio | None]] = {"own": {"30": Ratio(value, value - 0.1, value + 0.1)}}
    return Row(name, setting, ratios, {"own": {"30": 1.0}}, {"30": [value, 0.01]}, 1.0)


def test_the_interval_of_a_ratio_holds_the_truth() -> None:
    """In 400 repetitions, 95 % ± 4 standard errors of them: a false alarm in one of 10,000 cases."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        common = rng.gamma(4.0, size=200)
        found = ratio(list(0.5 * common + rng.gamma(2.0, size=200)), list(common + rng.gamma(1.0, size=200)))
        assert found is not None
        inside += found.low <= 4.0 / 5.0 <= found.high
    assert inside / 400 == pytest.approx(0.95, abs=0.045)


def test_no_ratio_to_an_opponent_without_regret() -> None:
    assert ratio([1.0, 2.0], [0.0, 0.0]) is None


def test_scores_count_problems_with_known_contexts_in_both_settings() -> None:
    rows = [row("a", "hidden", 4.0), row("a", "observed", 1.0), row("b", "both", 1.0)]
    hidden, observed = scores(rows)
    assert (hidden.setting, hidden.problems, hidden.worst, hidden.above) == ("hidden", 2, 4.0, ["a"])
    assert hidden.mean == pytest.approx(2.0)
    assert (observed.setting, observed.problems, observed.above) == ("observed", 2, [])
    said = table(rows)
    assert "a · hidden: own T=30 4.00 (3.90–4.10)" in said
    assert "round   30: 100.0% – 400.0%" in said


def test_a_summary_keeps_other_parts(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    keep(path, "ucb", "choose", 100, [row("a", "hidden", 1.0)])
    before = path.read_text(encoding="utf-8")
    keep(path, "ucb", "known", 100, [row("b", "both", 1.0)])
    keep(path, "ids", "known", 100, [row("b", "both", 1.0)])
    keep(path, "ucb", "choose", 100, [row("a", "hidden", 1.0)])
    text = path.read_text(encoding="utf-8")
    assert len(text) > len(before)
    assert text.count('"choose"') == 1
    assert text.count('"known"') == 2
