"""What a decision tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from overcast.actions import Actions
from overcast.decision import Decision, Option
from overcast.models import Estimate

MEAN = np.array([0.1, 0.5, -0.2, 0.5])
WIDTH = np.array([1.0, 2.0, 3.0, 2.0])
SCORES = np.array([1.1, 2.5, 2.8, 2.5])


def _decision(scores: list[float] | None = None, actions: Any = ("a", "b", "c", "d")) -> Decision:
    values = SCORES if scores is None else np.array(scores)
    return Decision("token-1", Actions(actions), int(values.argmax()), Estimate(MEAN, WIDTH), values)


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
        Option("c", 2, -0.2, 3.0, 2.8),
        Option("b", 1, 0.5, 2.0, 2.5),
        Option("d", 3, 0.5, 2.0, 2.5),
        Option("a", 0, 0.1, 1.0, 1.1),
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
