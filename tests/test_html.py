"""Tables for notebooks."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from overcast import _html

MODEL = oc.LinearModel(oc.features.Disjoint(1))
EVIL = "<script>alert('1')</script>&\""


class Page(HTMLParser):
    """The tags and the text of a page; it fails where a tag is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data}\n"


def _evil_bandit() -> oc.Bandit:
    return oc.Bandit({EVIL: [1.0], "b": [0.0]}, oc.LinearModel(oc.features.Linear()), oc.UCB(), context=[EVIL])


def _runs() -> oc.Runs:
    env = oc.environments.CoinFlip()
    return oc.simulate(env, oc.LinearModel(env.features), oc.UCB(), steps=3, trials=2)


def _corrected() -> oc.Recalibrated:
    out = oc.Recalibrated()
    for day in range(5):
        out.learn([float(day)], [day + 2.0])
    return out


SHOWN: dict[str, tuple[Any, list[str]]] = {
    "belief": (oc.Gaussian([21.0, 0.5], sd=[2.0, 0.1]).named([EVIL, "wet"]), [EVIL, "wet", "21", "0.1"]),
    "points": (oc.PointMass([3.25]), ["c1", "3.25"]),
    "ensemble": (oc.Ensemble([[1.0], [2.0]]), ["Ensemble of 2 members, 1 dimension"]),
    "without a mean": (oc.as_belief(scipy.stats.cauchy()), ["50 %", "c1"]),
    "many names": (oc.Bandit(["a"], MODEL, oc.UCB(), context=list("uvwxyz")), ["u, v, w, x, y, 1 more"]),
    "sampler": (oc.Sampler(lambda n, rng: 1 / 0, 1), ["known by draws alone"]),
    "many dimensions": (oc.Gaussian(np.zeros(40), 1.0), ["c12", "28 more dimensions"]),
    "bandit": (_evil_bandit(), [EVIL, "UCB()", "0, 0 open"]),
    "decision": (_evil_bandit().decide([1.0]), [f"▸ {EVIL}", "Decision 1"]),
    "record": (oc.Decision.from_json(_evil_bandit().decide([1.0]).to_json()), [f"▸ {EVIL}"]),
    "calibration": (oc.calibration.check([[0.0], [1.0]], [0.5, 0.75], names=[EVIL]), [EVIL, "2 forecasts", "nominal"]),
    "recalibrated": (_corrected(), ["by 5 outcomes", "slope"]),
    "nothing learnt": (oc.Recalibrated(), ["by 0 outcomes"]),
    "runs": (_runs(), ["2 trials of 3 steps", "expected regret", "UCB()"]),
}


@pytest.mark.parametrize("name", SHOWN)
def test_everything_has_a_short_table_without_script_in_which_all_is_escaped(name: str) -> None:
    shown, expected = SHOWN[name]
    html = shown._repr_html_()
    page = Page(html)
    assert page.tags <= {"div", "strong", "table", "tr", "td", "th"}
    assert page.attributes <= {"style"}
    for text in expected:
        assert text in page.text
    assert len(html) < 20_000
    assert "color: inherit" in html


def test_the_rows_of_a_decision_are_the_best_actions() -> None:
    bandit = oc.Bandit(np.arange(100.0)[:, None], oc.LinearModel(oc.features.Linear()), oc.EpsilonGreedy(0.5))
    decision = bandit.decide([1.0])
    text = Page(decision._repr_html_()).text
    assert "85 more with lower scores" in text
    assert f"with probability {decision.probability:.3g}" in text
    assert [f"action {option.index}" in text for option in decision.top(15)] == [True] * 15


def test_a_bold_row_and_a_note_of_two_lines() -> None:
    html = _html.table("t", ["", "x"], [["a", "1"], ["b", "2"]], "one\ntwo", bold=1)
    assert html.count("font-weight: bold") == 2
    assert Page(html).text.split() == ["t", "x", "a", "1", "b", "2", "one", "two"]
    assert "<table" not in _html.table("t", [], [])
