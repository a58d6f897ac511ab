"""Deciding by hand."""

from __future__ import annotations

from dashboard_support import Visitor, words
from service_support import Api


def test_only_some_actions(api: Api, visitor: Visitor) -> None:
    made = visitor.post("/bandits/farm/ask", {"mean": "20, 1", "some": "on", "available": ["never"]})
    assert "never open" in words(visitor.get(made.headers["location"]))
    none = visitor.post("/bandits/farm/ask", {"mean": "20, 1", "some": "on"})
    assert none.status == 422
    wrong = visitor.post("/bandits/farm/ask", {"belief": '{"type": "Nonsense"}'})
    assert wrong.status == 422
    assert "Nonsense" in words(wrong)
