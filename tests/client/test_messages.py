"""Requests and answers as data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import overcast as oc
from overcast.client import Decided, ServiceError, messages
from support import refused

PATH = "/v1/bandits/farm"


@pytest.mark.parametrize(
    "given",
    [
        [20.0, 1.0],
        np.array([[20.0, 1.0], [21.0, 0.0]]),
        {"warm": 20.0, "wet": 1.0},
        pd.Series({"warm": 20.0, "wet": 1.0}),
        oc.Gaussian([20.0, 1.0], [4.0, 0.1]).named(["warm", "wet"]),
        stats.multivariate_normal([20.0, 1.0], [[1.0, 0.5], [0.5, 2.0]]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_any_belief_becomes_the_same_belief_there(given: Any) -> None:
    request = messages.decision(PATH, given, None, None)
    there, here = oc.belief_from_json(request.body["belief"]), oc.as_belief(given)
    assert there.to_json() == here.to_json()
    assert there.names == here.names
    assert messages.question(PATH, given).body == {"belief": request.body["belief"]}


def test_every_decision_has_an_id_of_its_own() -> None:
    requests = [messages.decision(PATH, [1.0], None, None) for _ in range(100)]
    assert len({request.body["id"] for request in requests}) == 100
    assert all(request.repeatable for request in requests)
    assert messages.decision(PATH, [1.0], None, "monday").body["id"] == "monday"


@pytest.mark.parametrize(
    ("available", "sent"),
    [
        (["a", "b"], ["a", "b"]),
        (np.array([0, 2]), [0, 2]),
        ([True, False, True], [0, 2]),
        (np.array([False, True]), [1]),
        ({"a": True, "b": False}, ["a"]),
    ],
)
def test_available_actions(available: Any, sent: list[Any]) -> None:
    assert messages.decision(PATH, [1.0], available, None).body["available"] == sent


def test_outcomes() -> None:
    decided = Decided("a/b", "late", 1.0, 0.5, 2.0, None, 3)
    request = messages.outcome(PATH, decided, True, np.array([1.0, 2.0]), True, None)
    assert request.path == "/v1/bandits/farm/decisions/a%2Fb/outcome"
    assert request.body == {"reward": 1.0, "context": [1.0, 2.0]}
    belief = oc.Gaussian([1.0], 0.5)
    assert messages.outcome(PATH, "x", 2, belief, True, None).body["context"] == belief.to_json()
    named = messages.outcome(PATH, "x", 2, {"wet": 1.0}, True, None).body["context"]
    assert oc.belief_from_json(named).names == ("wet",)
    assert messages.outcome(PATH, "x", 2, None, False, "p").body == {"reward": 2.0, "final": False, "part": "p"}
    with refused(ValueError, "Bandit", "reward"):
        messages.outcome(PATH, "x", float("nan"), None, True, None)
    with refused(TypeError, "Client", "decision must be a string"):
        messages.cancellation(PATH, 3)


@pytest.mark.parametrize(
    ("actions", "sent"),
    [
        (["a", "b"], ["a", "b"]),
        (np.eye(2), [[1.0, 0.0], [0.0, 1.0]]),
        ({"a": np.array([1, 2])}, {"a": [1.0, 2.0]}),
        (pd.DataFrame({"x": [1, 2]}, index=["a", "b"]), {"a": [1.0], "b": [2.0]}),
    ],
    ids=str,
)
def test_actions(actions: Any, sent: Any) -> None:
    request = messages.creation("farm", actions, None, None, {"features": "Bilinear"})
    assert request.body == {"name": "farm", "actions": sent, "features": "Bilinear"}
    assert not request.repeatable  # a second one would be refused


def test_a_model_with_a_function_cannot_be_sent() -> None:
    model = oc.LinearModel(oc.features.Function(lambda x, c: x, 1))
    with refused(TypeError, "Client", "model must not hold a function"):
        messages.creation("farm", ["a"], model, None, {})


def test_errors_are_one_line_with_status_and_code() -> None:
    error = messages.read_error(409, {"error": {"code": "conflict", "message": "a\nb", "field": "id"}}, "")
    assert (str(error), error.status, error.code, error.field) == ("Client: 409 conflict: a b", 409, "conflict", "id")
    other = messages.read_error(502, None, "<html>\nBad Gateway")
    assert str(other) == "Client: 502 unknown: <html> Bad Gateway"
    assert isinstance(other, ServiceError)
