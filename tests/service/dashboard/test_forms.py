"""What people type."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from overcast.service.dashboard import forms
from overcast.service.errors import Refusal


def form(**fields: Any) -> forms.Form:
    return forms.read(urlencode(fields, doseq=True).encode())


def test_beliefs() -> None:
    assert forms.belief(form(mean="20, 1", sd="2 0.5")) == {"type": "Gaussian", "mean": [20.0, 1.0], "cov": [4.0, 0.25]}
    assert forms.belief(form(mean="20, 1", sd="2"))["cov"] == [4.0, 4.0]
    assert forms.belief(form(mean="−3")) == {"type": "PointMass", "c": [-3.0]}
    assert forms.belief(form(mean="1", belief='{"type": "X"}')) == {"type": "X"}


def test_actions() -> None:
    assert forms.actions(form(actions="a: 1, 0\n\n b : 0 1 ")) == {"a": [1.0, 0.0], "b": [0.0, 1.0]}
    assert forms.actions(form(actions="a\r\nb")) == ["a", "b"]
    assert forms.actions(form(actions="9:30: 1")) == {"9:30": [1.0]}


def test_bandits() -> None:
    made = forms.bandit(form(name="x", actions="a\nb", features="Disjoint", policy="Thompson", wait="60", default=""))
    assert made["features"] == {"type": "Disjoint", "k": 2}
    assert (made["policy"], made["wait"], made["recalibrate"]) == ("Thompson", 60.0, False)
    assert "default" not in made
    assert forms.bandit(form(name="x", features="Polynomial", actions="a:1"))["features"]["degree"] == 2
    assert forms.bandit(form(name="x", config='{"actions": ["a"]}')) == {"name": "x", "actions": ["a"]}
    assert forms.bandit(form(config="[]")) == []


def test_outcomes_and_keys() -> None:
    assert forms.outcome(form(reward="1.5")) == {"reward": 1.5, "context": None}
    assert forms.outcome(form(reward="1.5", context="1, 2"))["context"] == [1.0, 2.0]
    assert forms.outcome(form(reward="1", part="a")) == {"reward": 1.0, "context": None, "part": "a", "final": False}
    assert forms.key(form(name="n", scope=["read", "decide"], bandits="a-*, b", days="1"), 5.0) == {
        "name": "n",
        "scopes": ["read", "decide"],
        "bandits": ["a-*", "b"],
        "expires": 86405.0,
    }
    assert forms.key(form(name="n", bandits=""), 5.0) == {"name": "n", "scopes": []}


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: forms.belief(form(mean="")), "mean must be given"),
        (lambda: forms.belief(form(mean="1 2", sd="1 2 3")), "sd must be 2 numbers"),
        (lambda: forms.belief(form(mean="1", sd="-1")), "zero or more"),
        (lambda: forms.belief(form(mean="nan")), "mean: must be numbers"),
        (lambda: forms.belief(form(belief="{")), "belief: must be JSON"),
        (lambda: forms.belief(form(belief="[" * 100_000)), "belief: must be JSON"),
        (lambda: forms.actions(form(actions=" ")), "got none"),
        (lambda: forms.actions(form(actions="a: 1\na: 2")), "twice"),
        (lambda: forms.actions(form(actions="a: 1\nb")), "without one"),
        (lambda: forms.outcome(form(reward="")), "reward must be given"),
        (lambda: forms.outcome(form(reward="inf")), "must be numbers"),
        (lambda: forms.read(b"\xff=%ff"), "form: must be one of this dashboard"),
        (lambda: forms.read(b"&".join([b"a=1"] * 3000)), "form: must be one of this dashboard"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(call: Any, word: str) -> None:
    with pytest.raises(Refusal) as refused:
        call()
    assert word in refused.value.message
    assert "\n" not in refused.value.message
