"""What a decision tells, and its record."""

from __future__ import annotations

import json
import pickle
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import overcast as oc
from overcast.decisions.record import FIELDS, Decision, Option, Ranking
from overcast.models import Estimate
from overcast.spaces.actions import Actions
from support import refused

MEAN = np.array([0.1, 0.5, -0.2, 0.5])
WIDTH = np.array([1.0, 2.0, 3.0, 2.0])
SCORES = np.array([1.1, 2.5, 2.8, 2.5])
BELIEF = oc.Gaussian([1.0, 2.0], [0.5, 0.25])


def _decision(scores: list[float] | None = None, actions: Any = ("a", "b", "c", "d"), mask: Any = None) -> Decision:
    values = SCORES if scores is None else np.array(scores)
    ranking = Ranking(Actions(actions), Estimate(MEAN, WIDTH), MEAN, values, oc.UCB(1.0))
    seed = ("0" * 31 + "f", 7, 2)
    return Decision("token-1", 12.5, BELIEF, None, mask, ranking, int(values.argmax()), 0.25, seed, 3, 7)


def test_the_chosen_action() -> None:
    decision = _decision()
    assert (decision.id, decision.action, decision.index) == ("token-1", "c", 2)
    assert (decision.mean, decision.width, decision.score) == (-0.2, 3.0, 2.8)
    assert all(type(value) is float for value in (decision.mean, decision.width, decision.score))
    assert repr(decision) == "Decision(action='c', mean=-0.2, width=3, score=2.8)"


def test_without_names_the_action_is_its_vector() -> None:
    vectors = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(_decision(actions=vectors).action, [4.0, 5.0])
    np.testing.assert_array_equal(_decision(actions=vectors).top(2)[1].action, [2.0, 3.0])


def test_the_best_come_first_and_ties_by_index() -> None:
    assert _decision().top(4) == [
        Option("c", 2, -0.2, 3.0, 2.8, -0.2),
        Option("b", 1, 0.5, 2.0, 2.5, 0.5),
        Option("d", 3, 0.5, 2.0, 2.5, 0.5),
        Option("a", 0, 0.1, 1.0, 1.1, 0.1),
    ]
    for n in (1, 2, 3):
        assert _decision().top(n) == _decision().top(4)[:n]
    assert _decision().top(100) == _decision().top(4)


def test_unavailable_actions_are_left_out() -> None:
    decision = _decision([-np.inf, 1.0, -np.inf, 2.0])
    assert [option.action for option in decision.top(4)] == ["d", "b"]
    assert [option.action for option in decision.top(1)] == ["d"]


def test_an_infinite_score_is_the_best_one() -> None:
    decision = _decision([1.0, np.inf, -np.inf, 2.0])
    assert decision.action == "b"
    assert [option.action for option in decision.top(4)] == ["b", "d", "a"]


@pytest.mark.parametrize(("n", "kind"), [(0, ValueError), (-1, ValueError), (1.0, TypeError), (None, TypeError)])
def test_bad_n(n: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"^Decision: n must be ") as caught:
        _decision().top(n)
    assert "\n" not in str(caught.value)


def test_the_record() -> None:
    mask = np.array([True, False, True, False])
    assert _decision(mask=mask).to_json() == {
        "version": 2,
        "id": "token-1",
        "time": 12.5,
        "belief": {"type": "Gaussian", "mean": [1.0, 2.0], "cov": [0.5, 0.25]},
        "move": None,
        "available": ["a", "c"],
        "action": "c",
        "index": 2,
        "mean": -0.2,
        "width": 3.0,
        "score": 2.8,
        "value": -0.2,
        "probability": 0.25,
        "seed": "0" * 31 + "f" + "0" * 15 + "7" + "0" * 15 + "2",
        "samples": 3,
        "round": 7,
    }
    assert set(_decision().to_json()) == set(FIELDS)
    assert _decision().to_json()["available"] is None


@pytest.mark.parametrize(
    "actions", [("a", "b", "c", "d"), np.arange(8.0).reshape(4, 2), {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0}]
)
@pytest.mark.parametrize("mask", [None, np.array([True, False, True, True])])
def test_a_record_comes_back(actions: Any, mask: Any) -> None:
    decision = _decision(actions=actions, mask=mask)
    again = Decision.from_json(json.loads(json.dumps(decision.to_json(), allow_nan=False)))
    assert again.to_json() == decision.to_json()
    assert repr(again) == repr(decision)
    assert again.available == decision.available
    with refused(ValueError, "Decision", "top needs the scores of all actions"):
        again.top(1)


def test_a_record_of_version_1_compared_means() -> None:
    record = _decision().to_json() | {"version": 1}
    del record["value"]
    assert Decision.from_json(record).value == Decision.from_json(record).mean == -0.2


def test_a_correction_is_part_of_the_record() -> None:
    model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)
    bandit = oc.Bandit({"a": [1.0, 0.0], "b": [0.0, 1.0]}, model, oc.UCB(1.0), recalibrate=True)
    for i in range(10):
        bandit.learn(bandit.decide(oc.Gaussian([float(i)], 1.0)), 1.0, context=[i + 3.0])
    decision = bandit.decide(oc.Gaussian([4.0], 1.0))
    again = Decision.from_json(json.loads(json.dumps(decision.to_json())))
    assert decision.move is not None
    assert again.move is not None
    for mine, theirs in zip(decision.move, again.move, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert decision.belief.moved(*decision.move).mean()[0] > 6.0
    assert decision.belief.mean()[0] == 4.0


def test_names_that_json_would_change_are_refused() -> None:
    with refused(TypeError, "Decision", "names that are strings or numbers", "('x', 2)"):
        _decision(actions={("x", i): float(i) for i in range(4)}).to_json()


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"version": 3}, ValueError, ["version must be 2 at most, got 3"]),
        ({"version": "1"}, TypeError, ["version"]),
        ({"belief": None}, ValueError, ["belief"]),
        ({"id": 3}, TypeError, ["id must be a string"]),
        ({"id": ""}, ValueError, ["id"]),
        ({"id": "x" * 1001}, ValueError, ["1 to 1000 characters"]),
        ({"mean": "x"}, TypeError, ["mean"]),
        ({"score": None}, TypeError, ["score"]),
        ({"time": float("nan")}, ValueError, ["time"]),
        ({"index": -1}, ValueError, ["index"]),
        ({"round": 0}, ValueError, ["round"]),
        ({"probability": 1.5}, ValueError, ["probability"]),
        ({"samples": 0}, ValueError, ["samples"]),
        *(({"samples": n}, ValueError, ["samples must be 1000000 at most"]) for n in (1_000_001, 10**9, 10**30)),
        ({"seed": "abc"}, ValueError, ["seed"]),
        ({"move": {"shift": [1.0]}}, ValueError, ["move"]),
        ({"move": {"shift": [1.0], "scale": [1.0], "blur": [0.0]}}, ValueError, ["shift", "(2,)"]),
        ({"available": 3}, ValueError, ["available"]),
        ({"mood": "good"}, ValueError, ["'mood'"]),
    ],
)
def test_records_with_faults(changes: dict[str, Any], kind: type[Exception], words: list[str]) -> None:
    record = _decision().to_json() | changes
    with pytest.raises(kind, match=r"^\w+: [^\n]+$") as caught:
        Decision.from_json(record)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("name", sorted(set(FIELDS) - {"version"}))
def test_a_record_that_lacks_something(name: str) -> None:
    record = _decision().to_json()
    del record[name]
    with refused(ValueError, "Decision", f"got none named {name}"):
        Decision.from_json(record)


@pytest.mark.parametrize("data", [None, [], "x", 3])
def test_what_is_no_record(data: Any) -> None:
    with refused(ValueError, "Decision", "JSON object"):
        Decision.from_json(data)


def test_a_pickled_decision_is_a_record_without_bandit_and_policy() -> None:
    """The policy holds a function, which cannot be pickled."""
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB(lambda t: 2.0))
    decision = bandit.decide([1.0])
    again = pickle.loads(pickle.dumps(decision))
    assert again.to_json() == decision.to_json()
    assert again.top(2) == decision.top(2)
    assert again.plot().get_xlabel() == decision.plot().get_xlabel()
    plt.close("all")
    with pytest.raises(ValueError, match="got a record or a copy"):
        again.explain()
    bandit.learn(again, 1.0)
