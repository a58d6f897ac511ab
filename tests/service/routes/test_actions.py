"""Actions that come and go over the API."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from overcast.spaces.actions import Actions
from service_support import FARM, GAUSSIAN, Api, check_replay

ACTIONS = "/v1/bandits/farm/actions"


def test_add_change_retire(api: Api) -> None:
    api.outcome(api.decide()["id"], reward=1.0)
    added = api.post(ACTIONS, {"actions": {"soon": [0.2, 0.2]}})
    assert (added.status, added.body["actions"]) == (201, 4)
    changed = api.ask("PATCH", f"{ACTIONS}/soon", {"vector": [0.3, 0.3]})
    assert changed.body["action_list"][3] == {"name": "soon", "vector": [0.3, 0.3], "active": True}
    retired = api.ask("DELETE", f"{ACTIONS}/early")
    assert retired.body["actions"] == 3
    assert api.decide()["action"] != "early"
    assert api.state.lives["farm"].bandit.learnt.rounds == 1
    check_replay(api.engine.store, api.state)


def test_rename(api: Api) -> None:
    waiting = api.decide(available=["early"], id="monday")
    both = api.ask("PATCH", f"{ACTIONS}/early", {"name": "first/one", "vector": [0.9, 0.1]}).body
    assert both["action_list"][0] == {"name": "first/one", "vector": [0.9, 0.1], "active": True}
    assert api.outcome(waiting["id"], reward=1.0).status == 200
    assert api.state.lives["farm"].bandit.learnt.rounds == 1
    assert api.decide(available=["first/one"])["action"] == "first/one"
    assert api.post(
        "/v1/bandits/farm/decisions", {"belief": GAUSSIAN, "available": ["early"], "id": "monday"}
    ).body == (waiting)  # the same request gets the same answer
    with api.unchanged():
        path = f"{ACTIONS}/{quote('first/one', safe='')}"
        assert api.ask("PATCH", path, {"name": "first/one"}).status == 200
        api.refused(api.ask("PATCH", path, {"name": "late"}), 409, "'late' again")
        api.refused(api.ask("PATCH", path, {"name": "late", "vector": [1.0, 2.0]}), 409, "'late' again")
        api.refused(api.ask("PATCH", path, {"name": "a\nb"}), 422, "must match")
        api.refused(api.ask("PATCH", path, {}), 422, "got neither")
        api.refused(api.ask("PATCH", f"{ACTIONS}/early", {"name": "x"}), 404, "'early'")
    check_replay(api.engine.store, api.state)


def test_a_new_vector_brings_a_retired_action_back(api: Api) -> None:
    api.ask("DELETE", f"{ACTIONS}/early")
    back = api.ask("PATCH", f"{ACTIONS}/early", {"vector": [1.0, 0.0]}).body
    assert back["action_list"][0]["active"]


def test_wrong_changes_change_nothing(api: Api) -> None:
    with api.unchanged():
        api.refused(api.post(ACTIONS, {"actions": {"early": [1.0, 1.0]}}), 409, "'early' again")
        api.refused(api.post(ACTIONS, {"actions": {"x": [1.0]}}), 422, "2 entries")
        api.refused(api.ask("PATCH", f"{ACTIONS}/nobody", {"vector": [1.0, 1.0]}), 404, "'nobody'")
        api.refused(api.ask("DELETE", f"{ACTIONS}/nobody"), 404, "'nobody'")
    for name in ("early", "late"):
        assert api.ask("DELETE", f"{ACTIONS}/{name}").status == 200
    with api.unchanged():
        api.refused(api.ask("DELETE", f"{ACTIONS}/never"), 422, "at least one")


def test_any_name_is_only_a_name(api: Api) -> None:
    names = ["<script>alert(1)</script>", "'; DROP TABLE log; --", "a/b", "ä ö", "../..", "%2e"]
    added = api.post(ACTIONS, {"actions": {name: [0.1, 0.1 * i] for i, name in enumerate(names)}})
    assert added.status == 201
    for name in names:
        assert api.decide(available=[name])["action"] == name
        assert api.ask("DELETE", f"{ACTIONS}/{quote(name, safe='')}").status == 200
    check_replay(api.engine.store, api.state)


def test_actions_without_names_go_by_their_index(api: Api) -> None:
    api.post("/v1/bandits", FARM | {"name": "plain", "actions": [[1.0, 0.0], [0.0, 1.0]]})
    made = api.post("/v1/bandits/plain/decisions", {"belief": [1.0, 2.0], "available": [1]})
    assert made.body["action"] == 1
    assert api.ask("DELETE", "/v1/bandits/plain/actions/1").body["actions"] == 1
    api.refused(api.ask("PATCH", "/v1/bandits/plain/actions/0", {"vector": [1.0, 1.0]}), 422, "must have a name")


def test_a_change_that_is_refused_changes_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*args: object) -> None:
        raise ValueError("Bandit: name must be another")

    monkeypatch.setattr(Actions, "renamed", refuses)
    with api.unchanged():
        answer = api.ask("PATCH", f"{ACTIONS}/early", {"vector": [0.3, 0.3], "name": "first"})
        api.refused(answer, 422, "must be another")
