"""One decision, its outcome, and its end."""

from __future__ import annotations

import re

from dashboard_support import EVIL, Visitor, words
from service_support import Api


def test_deciding_by_hand(api: Api, visitor: Visitor) -> None:
    visitor.get("/bandits/farm/ask")
    made = visitor.post("/bandits/farm/ask", {"mean": "20, 1", "sd": "2, 0.3"})
    assert made.status == 303
    path = made.headers["location"]
    page = visitor.get(path)
    assert re.search(r"(early|late|never) open", words(page))
    assert "What came of it?" in page.body
    wrong = visitor.post(f"{path}/outcome", {"reward": "much"})
    assert (wrong.status, "must be numbers" in words(wrong)) == (422, True)
    assert visitor.post(f"{path}/outcome", {"reward": "0.5", "part": EVIL}).status == 422
    assert visitor.post(f"{path}/outcome", {"reward": "0.5", "part": "first"}).status == 303
    assert "first: 0.5" in words(visitor.get(path))
    assert visitor.post(f"{path}/outcome", {"reward": "1.0", "context": "21, 0.9"}).status == 303
    page = visitor.get(path)
    assert "outcome: 1.5" in words(page)
    assert "What came of it?" not in page.body
    assert "taken for certain" in words(page)
    again = visitor.post(f"{path}/outcome", {"reward": "7"})
    assert (again.status, "has its outcome" in words(again)) == (409, True)
    assert 'value="20, 1"' in visitor.get("/bandits/farm/ask").body  # the last one is what to start from


def test_cancelling(api: Api, visitor: Visitor) -> None:
    path = f"/bandits/farm/decisions/{api.decide()['id']}"
    assert visitor.post(f"{path}/cancel").status == 303
    assert "cancelled" in words(visitor.get(path))
