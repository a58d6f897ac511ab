"""Keys over the API."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from overcast.service import Limits
from service_support import FARM, GAUSSIAN, Api, later, served

DECISIONS = "/v1/bandits/farm/decisions"


@pytest.mark.parametrize("key", ["", "nonsense", "oc_0123456789abcdef_" + "A" * 43, "oc_é", "Bearer x"])
def test_no_key_and_wrong_keys(api: Api, key: str) -> None:
    with api.unchanged():
        answer = api.post(DECISIONS, {"belief": GAUSSIAN}, key=key)
        api.refused(answer, 401, "key: must be a valid one")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_key_with_another_secret_is_wrong(api: Api) -> None:
    other = api.new_key("admin")
    mixed = api.key[: len("oc_0123456789abcdef_")] + other[len("oc_0123456789abcdef_") :]
    assert api.get("/v1/bandits", key=mixed).status == 401


def test_scopes(api: Api) -> None:
    decide, outcome, read = (api.new_key(scope) for scope in ("decide", "outcome", "read"))
    made = api.post(DECISIONS, {"belief": GAUSSIAN}, key=decide)
    assert made.status == 201
    path = f"{DECISIONS}/{made.body['id']}"
    with api.unchanged():
        for key in (outcome, read):
            api.refused(api.post(DECISIONS, {"belief": GAUSSIAN}, key=key), 403, "must have the scope decide")
        for key in (decide, read):
            api.refused(api.post(f"{path}/outcome", {"reward": 1.0}, key=key), 403, "scope outcome")
        for key in (decide, outcome):
            api.refused(api.get(path, key=key), 403, "scope read")
            api.refused(api.get("/metrics", key=key), 403, "scope read")
        for key in (decide, outcome, read):
            api.refused(api.post("/v1/bandits", FARM | {"name": "x"}, key=key), 403, "scope admin")
            api.refused(api.post("/v1/keys", {"name": "x", "scopes": ["admin"]}, key=key), 403, "scope admin")
    assert api.post(f"{path}/outcome", {"reward": 1.0}, key=outcome).status == 200
    assert api.get(path, key=read).status == 200


def test_a_bandit_that_a_key_may_not_see_is_as_one_that_does_not_exist(api: Api) -> None:
    key = api.new_key("decide", "read", "admin", bandits=["shop-*"])
    hidden = api.get("/v1/bandits/farm", key=key)
    absent = api.get("/v1/bandits/harm", key=key)
    assert hidden.status == absent.status == 404
    assert hidden.body["error"]["message"].replace("farm", "harm") == absent.body["error"]["message"]
    assert api.get("/v1/bandits", key=key).body == {"bandits": []}
    with api.unchanged():
        api.refused(api.post(DECISIONS, {"belief": GAUSSIAN}, key=key), 404, "'farm'")
        api.refused(api.post("/v1/bandits", FARM | {"name": "farm2"}, key=key), 403, "may not use this name")
        api.refused(api.post("/v1/keys", {"name": "x", "scopes": ["admin"]}, key=key), 403, "see all bandits")
        api.refused(api.get("/metrics", key=key), 403, "see all bandits")
    assert api.post("/v1/bandits", FARM | {"name": "shop-1"}, key=key).status == 201
    assert [one["name"] for one in api.get("/v1/bandits", key=key).body["bandits"]] == ["shop-1"]


def test_revocation_works_at_once(api: Api) -> None:
    key = api.new_key("read")
    assert api.get("/v1/bandits", key=key).status == 200
    id_ = key.split("_")[1]
    assert api.ask("DELETE", f"/v1/keys/{id_}").status == 200
    api.refused(api.get("/v1/bandits", key=key), 401, "valid")
    api.refused(api.ask("DELETE", f"/v1/keys/{id_}"), 404, "must be one that exists")


def test_the_last_admin_stays(api: Api) -> None:
    with api.unchanged():
        api.refused(api.ask("DELETE", f"/v1/keys/{api.key.split('_')[1]}"), 409, "last one")
    api.new_key("admin")
    assert api.ask("DELETE", f"/v1/keys/{api.key.split('_')[1]}").status == 200


def test_a_key_whose_patterns_happen_to_fit_all_bandits_is_no_last_admin(api: Api) -> None:
    """It cannot make keys, so there must be one beside it that can."""
    for patterns in (["**"], ["*?", "?*"], ["[!x]*", "x*", ""]):
        made = api.post("/v1/keys", {"name": "test", "scopes": ["admin"], "bandits": patterns})
        if made.status == 422:
            continue
        key = made.body["key"]
        with api.unchanged():
            for given in (key, api.key):
                answer = api.ask("DELETE", f"/v1/keys/{api.key.split('_')[1]}", key=given)
                api.refused(answer, 403 if given == key else 409, "see all bandits" if given == key else "last one")
    assert api.get("/v1/keys").status == 200


def test_expiry(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    key = api.new_key("read", expires=time.time() + 3600.0)
    assert api.get("/v1/bandits", key=key).status == 200
    later(monkeypatch, 3601.0)
    assert api.get("/v1/bandits", key=key).status == 401
    api.refused(api.post("/v1/keys", {"name": "x", "scopes": ["read"], "expires": 1.0}), 422, "future")


def test_a_key_is_shown_once_and_not_stored(api: Api) -> None:
    key = api.new_key("read")
    listed = api.get("/v1/keys")
    secret = key.split("_", 2)[2]
    assert secret not in str(listed.body)
    assert len(listed.body["keys"]) == 2
    assert all(secret not in row.body for row in api.engine.store.read())


def test_keys_survive_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        first, read = api.key, api.new_key("read")
    with served(tmp_path) as api:
        assert api.key == ""  # there is no second first key
        assert api.get("/v1/bandits", key=read).status == 200
        assert api.get("/v1/keys", key=first).status == 200


def test_rate(tmp_path: Path) -> None:
    with served(tmp_path, limits=Limits(rate=0.001)) as api:  # so low that no machine is too slow to exceed it
        answers = [api.get("/v1/bandits") for _ in range(2)]
        assert answers[0].status == 200
        api.refused(answers[-1], 429, "0.001 times a second")
        assert int(answers[-1].headers["retry-after"]) >= 1
        other = api.engine.do(lambda turn: len(turn.state.keys))
        assert other == 1


def test_a_key_expires_within_the_calendar(api: Api) -> None:
    with api.unchanged():
        far = {"name": "far", "scopes": ["read"], "expires": 1e15}
        api.refused(api.post("/v1/keys", far), 422, "expires")
    assert api.new_key("read", expires=253_402_300_799.0)
