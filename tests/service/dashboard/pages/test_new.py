"""Creating a bandit."""

from __future__ import annotations

from dashboard_support import Visitor, words
from service_support import Api


def test_creating(api: Api, visitor: Visitor) -> None:
    fields = {"name": "shop", "actions": "a: 1, 0\nb: 0, 1", "features": "Bilinear", "policy": "Thompson"}
    assert visitor.post("/new", {**fields}).headers["location"] == "/bandits/shop"
    assert visitor.get("/bandits/shop").status == 200
    for wrong, word in (({"name": "a b"}, "name must match"), ({"actions": ""}, "got none"), ({}, "again")):
        answer = visitor.post("/new", {**fields, **wrong})
        assert answer.status in (409, 422)
        assert word in words(answer)
        assert "b: 0, 1" in answer.body or wrong.get("actions") == ""  # what was typed stays
    whole = '{"actions": ["a", "b"], "kernel": {"type": "RBF", "lengthscale": 1.0}, "ridge": 1.0}'
    assert visitor.post("/new", {"name": "kern", "config": whole}).status == 303
    for features in ("Quadratic", "Polynomial", "Linear"):
        made = visitor.post("/new", {**fields, "name": features, "features": features})
        assert made.status == 303, words(made)
    assert visitor.post("/new", {"name": "own", "actions": "a\nb", "features": "Disjoint"}).status == 303
