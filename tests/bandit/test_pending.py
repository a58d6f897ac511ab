"""Open decisions and their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import overcast as oc
from memory_support import unchanged
from overcast.bandit.pending import KNOWN_TOKENS, OpenDecision, Pending
from support import refused


def _bandit() -> oc.Bandit:
    return oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB(1.0))


def test_a_name_of_your_own() -> None:
    bandit = _bandit()
    decision = bandit.decide([1.0], id="monday")
    assert decision.id == "monday"
    bandit.learn("monday", 2.0)
    again = bandit.decide([1.0], id="monday")  # the first is closed
    bandit.forget(again)
    assert bandit.learnt.rounds == 1


@pytest.mark.parametrize(
    ("given", "kind", "word"),
    [
        (3, TypeError, "string"),
        ("", ValueError, "1 to 1000"),
        ("x" * 1001, ValueError, "1 to 1000"),
        (b"x", TypeError, ""),
    ],
)
def test_names_that_are_refused(given: Any, kind: type[Exception], word: str) -> None:
    bandit = _bandit()
    with unchanged(bandit), refused(kind, "Bandit", "id", word):
        bandit.decide([1.0], id=given)


def test_a_name_is_taken_while_the_decision_is_open() -> None:
    bandit = _bandit()
    bandit.decide([1.0], id="monday")
    own = bandit.decide([1.0])
    with unchanged(bandit), refused(ValueError, "Bandit", "id must differ from those of open decisions", "'monday'"):
        bandit.decide([1.0], id="monday")
    token = own.id.rpartition("-")[0]
    with unchanged(bandit), refused(ValueError, "Bandit", "must not look like one of the bandit's own"):
        bandit.decide([1.0], id=f"{token}-3")


@pytest.mark.parametrize("how", ["learn", "forget"])
def test_what_a_closed_ticket_is_told(how: str) -> None:
    bandit = _bandit()
    own, mine = bandit.decide([1.0]), bandit.decide([1.0], id="mine")
    for decision in (own, mine):
        if how == "learn":
            bandit.learn(decision, 1.0)
        else:
            bandit.forget(decision)
    calls: list[Callable[[Any], None]] = [lambda d: bandit.learn(d, 1.0), bandit.forget]
    for call in calls:
        with unchanged(bandit), pytest.raises(ValueError, match=r"^Bandit: ") as caught:
            call(own)
        assert str(caught.value) == (
            f"Bandit: decision must be open, got {own.id}, which has its reward already or was forgotten"
        )
        with unchanged(bandit), pytest.raises(ValueError, match=r"^Bandit: ") as caught:
            call("mine")
        assert str(caught.value) == (
            "Bandit: decision must be an open one of this bandit, got str 'mine', which is of another, has its reward "
            "already or was forgotten"
        )


def test_the_marks_of_adopted_decisions_are_known() -> None:
    bandit, other = _bandit(), _bandit()
    decision = other.decide([1.0])
    bandit.adopt(decision)
    bandit.learn(decision, 1.0)
    with refused(ValueError, "Bandit", "has its reward already"):
        bandit.learn(decision, 1.0)
    assert bandit.decide([1.0]).id.rpartition("-")[0] not in (decision.id.rpartition("-")[0], "")


def test_names_of_your_own_may_look_like_any_mark_but_the_present_one() -> None:
    """A replayed bandit takes the same names as the one that lived."""
    bandit, other = _bandit(), _bandit()
    for number in (7, 8):
        bandit.adopt(other.decide([1.0], id=f"order-202611-{number}"))
    assert bandit.decide([1.0], id="order-202611-9").id == "order-202611-9"


def test_a_decision_is_adopted_once() -> None:
    bandit, other = _bandit(), _bandit()
    decision = other.decide([1.0])
    bandit.adopt(decision)
    with unchanged(bandit), refused(ValueError, "Bandit", "must not be open already"):
        bandit.adopt(decision)
    with unchanged(bandit), refused(TypeError, "Bandit", "decision must be a Decision"):
        bandit.adopt("x")  # type: ignore[arg-type]
    with unchanged(bandit), refused(ValueError, "Bandit", "dimension 1, got 2"):
        bandit.adopt(oc.Bandit(["a", "b"], other.model, other.policy).decide([1.0, 2.0]))


def test_a_decision_about_another_vector_is_not_adopted() -> None:
    """Without names, only the vector tells that an index means another action."""
    model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)
    bandit, other = oc.Bandit([[1.0], [2.0]], model, oc.UCB()), oc.Bandit([[1.0], [3.0]], model, oc.UCB())
    decision = oc.Decision.from_json(other.decide([1.0]).to_json())
    with unchanged(bandit), refused(ValueError, "Bandit", "one of the bandit's own actions", "3."):
        bandit.adopt(decision)
    bandit.adopt(other.decide([1.0], available=[0]))


def test_not_all_marks_are_kept() -> None:
    tickets = Pending()
    first = tickets.tokens[0]
    for _ in range(KNOWN_TOKENS + 5):
        tickets.new_instance()
    assert len(tickets.tokens) == KNOWN_TOKENS + 1
    assert first not in tickets.tokens


def test_the_share_that_is_awaited() -> None:
    """Of decisions 2 to 5, number 5 has its reward and 3 has not: half of those that could have come."""
    tickets = Pending()
    for t in range(1, 7):
        tickets.add(str(t), OpenDecision(0, t, f"evidence {t}", np.zeros((2, 1))))
    tickets.close("1")
    assert tickets.awaited() == ([f"evidence {t}" for t in (6, 5, 4, 3, 2)], 1.0)
    tickets.close("5")
    assert tickets.awaited() == ([f"evidence {t}" for t in (6, 4, 3, 2)], 0.25)
    assert Pending().awaited() == ([], 1.0)


def test_adopted_marks_are_bounded() -> None:
    bandit = _bandit()
    for i in range(KNOWN_TOKENS + 20):
        bandit.adopt(bandit.propose([1.0], id=f"order{i:07d}-1"))  # looks like a mark of 12 characters and a number
    assert len(bandit.state.pending.tokens) <= KNOWN_TOKENS + 1
    bandit.adopt(bandit.propose([1.0], id=f"order{KNOWN_TOKENS:07d}-2"))
