"""Signing in and out."""

from __future__ import annotations

import pytest

from dashboard_support import Visitor, words
from service_support import Api


def test_signing_in(api: Api) -> None:
    visitor = Visitor(api)
    page = visitor.get("/sign-in?next=/bandits/farm")
    assert 'value="/bandits/farm"' in page.body
    wrong = visitor.post("/sign-in", {"key": "oc_nonsense"})
    assert wrong.status == 401
    assert "not valid" in words(wrong)
    assert "oc_nonsense" not in wrong.body
    narrow = visitor.post("/sign-in", {"key": api.new_key("decide")})
    assert narrow.status == 403
    assert "lacks the scope read" in words(narrow)
    done = visitor.post("/sign-in", {"key": api.key, "next": "/bandits/farm"})
    assert (done.status, done.headers["location"]) == (303, "/bandits/farm")
    assert visitor.get("/sign-in").headers["location"] == "/"


@pytest.mark.parametrize("wanted", ["https://evil.example", "//evil.example", "/\\evil.example", "/bandits//evil", "x"])
def test_nobody_is_led_to_another_site(api: Api, wanted: str) -> None:
    visitor = Visitor(api)
    visitor.get("/sign-in")
    assert visitor.post("/sign-in", {"key": api.key, "next": wanted}).headers["location"] == "/"
