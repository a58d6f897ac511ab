"""One bandit: its charts, and the export of its log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dashboard_support import Visitor, words
from overcast.service.dashboard.pages.bandit import KEPT
from service_support import FARM, GAUSSIAN, Api, served


def test_a_bandit_and_its_charts(api: Api, visitor: Visitor) -> None:
    assert "No decision yet" in visitor.get("/bandits/farm").body
    for i in range(12):
        api.outcome(api.decide()["id"], reward=float(i), context=[20.0 + i, 1.0])
    open_ = api.decide()["id"]
    page = visitor.get("/bandits/farm?dim=1")
    for title in ("Reward over time", "What was chosen", "What each action would bring", "What is left to learn"):
        assert title in page.body
    assert page.body.count('<svg class="chart"') == 7
    assert "forecast of c2" in words(page)
    assert f"/bandits/farm/decisions/{open_}" in page.body
    assert "UCB on LinearModel" in words(page)
    at = re.search(r"live\?at=(\d+)", page.body)
    assert at is not None
    assert visitor.get(f"/bandits/farm/live?at={at[1]}&dim=1").status == 204
    api.outcome(open_, reward=99.0)
    news = visitor.get(f"/bandits/farm/live?at={at[1]}&dim=1")
    assert (news.status, "<html" in news.body) == (200, False)
    assert "What was chosen" in news.body
    assert "99" in words(visitor.get("/bandits/farm"))
    assert visitor.get("/bandits/farm?dim=99&x=é").status == 200


def test_a_shadow_is_compared(api: Api, visitor: Visitor) -> None:
    assert api.ask("PUT", "/v1/bandits/farm/shadow", {"policy": "Greedy"}).status == 200
    api.decide()
    page = visitor.get("/bandits/farm")
    assert "Shadow against live" in page.body
    assert "What Greedy expects to gain" in words(page)
    assert re.search(r"Both agree on \d+% of 1 decisions", words(page))
    assert page.body.count('<svg class="chart"') == 4
    assert "shadow would have taken" in words(visitor.get(f"/bandits/farm/decisions/{api.decide()['id']}"))


def test_whoever_looks_on_shares_the_charts(api: Api, visitor: Visitor) -> None:
    api.decide()
    visitor.get("/bandits/farm")
    api.decide()
    assert "decisions 1 " in words(visitor.get("/bandits/farm/live"))  # it is not older than a moment
    assert "decisions 2 " in words(visitor.get("/bandits/farm"))
    for i in range(2 * KEPT):
        visitor.get(f"/bandits/farm?dim={i}")
    for name in ("farm", "none"):
        other = Visitor(api).sign_in(api.new_key("read", bandits=["shop-*"]))
        assert other.get(f"/bandits/{name}/live").status == 404  # what is kept is for those who may see it


def test_pages_are_the_same_after_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.post("/v1/bandits", FARM)
        key = api.new_key("admin")
        for i in range(12):
            api.outcome(api.decide()["id"], reward=float(i), context=[20.0, 1.0])
        before = Visitor(api).sign_in(key).get("/bandits/farm").body
    with served(tmp_path) as api:
        after = Visitor(api).sign_in(key).get("/bandits/farm").body
    charts = [re.findall(r'<svg class="chart".*?</svg>', body, re.DOTALL) for body in (before, after)]
    assert charts[0] == charts[1]
    assert len(charts[0]) == 7


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_the_export_is_that_of_the_api(api: Api, visitor: Visitor, kind: str) -> None:
    api.outcome(api.decide()["id"], reward=1.0)
    assert f"/bandits/farm/export?format={kind}" in visitor.get("/bandits/farm").body
    found, right = visitor.get(f"/bandits/farm/export?format={kind}"), api.get(f"/v1/bandits/farm/log?format={kind}")
    assert (found.status, found.body) == (200, right.body)
    assert found.headers["content-disposition"] == f'attachment; filename="farm.{kind}"'
    assert visitor.get("/bandits/farm/export?format=exe").status == 422
    assert visitor.get("/bandits/none/export").status == 404
    assert Visitor(api).get("/bandits/farm/export").status == 303


def test_a_choice_by_chance_says_how_likely_it_was(api: Api) -> None:
    visitor = Visitor(api).sign_in()
    chance = {}
    for name, share in (("curious", 1.0), ("sure", 0.0)):
        assert api.post("/v1/bandits", FARM | {"name": name, "explore": share}).status == 201
        chance[name] = api.post(f"/v1/bandits/{name}/decisions", {"belief": GAUSSIAN}).body["probability"]
    assert chance["curious"] < chance["sure"] == 1.0
    assert f"was chosen, with probability {chance['curious']:.2g}." in words(visitor.get("/bandits/curious"))
    assert "▸ was chosen." in words(visitor.get("/bandits/sure"))


def test_erased_decisions_are_not_shown(api: Api, visitor: Visitor) -> None:
    api.outcome(api.decide(id="somebody")["id"], reward=1.0)
    assert "somebody" in visitor.get("/bandits/farm").body
    assert api.post("/v1/bandits/farm/erase", {"before": 3e9}).body["entries"] > 0
    assert "somebody" not in visitor.get("/bandits/farm").body
