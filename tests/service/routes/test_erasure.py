"""Erasing entries of the log by request."""

from __future__ import annotations

import json
import time

from overcast.service.fold import Life, State, folded
from service_support import FARM, GAUSSIAN, Api, remembered

ERASE = "/v1/bandits/farm/erase"
ASKED = {"belief": GAUSSIAN, "id": "d"}


def test_entries_before_a_time(api: Api) -> None:
    api.outcome(api.decide()["id"], reward=1.0)
    state = remembered(api.state)
    assert api.post(ERASE, {"before": time.time() - 3600.0}).body == {"entries": 0}
    assert api.post(ERASE, {"before": time.time() + 1.0}).body == {"entries": 2}
    assert remembered(folded(api.engine.store.read())) == state == remembered(api.state)
    api.outcome(api.decide()["id"], reward=1.0)
    assert api.get("/v1/bandits/farm").body["outcomes"] == 2


def test_requests_about_open_decisions_are_answered_as_before(api: Api) -> None:
    api.post("/v1/bandits", FARM | {"name": "plain", "actions": [[1.0, 0.0], [0.0, 1.0]]})
    made = {name: api.post(f"/v1/bandits/{name}/decisions", ASKED).body for name in ("farm", "plain")}
    taken = [api.outcome("d", reward=reward, final=False, part=f"p{reward}").body for reward in (1.0, 2.0)]
    api.outcome(api.decide(id="ended")["id"], reward=1.0)
    for name in made:
        assert api.post(f"/v1/bandits/{name}/erase", {"before": time.time() + 1.0}).body["entries"] > 0
    again = State.of(api.state.position, api.state.contents())  # as after a restart
    assert remembered(again) == remembered(api.state) == remembered(folded(api.engine.store.read()))
    api.engine.do(lambda turn: setattr(api.state, "lives", again.lives))
    with api.unchanged():
        for name, first in made.items():
            answer = api.post(f"/v1/bandits/{name}/decisions", ASKED)
            assert (answer.status, answer.body) == (201, first)
            assert isinstance(answer.body["action"], str if name == "farm" else int)
            other = api.post(f"/v1/bandits/{name}/decisions", ASKED | {"belief": [1.0, 2.0]})
            api.refused(other, 409, "'d' again")
        for reward, first in zip((1.0, 2.0), taken, strict=True):
            answer = api.outcome("d", reward=reward, final=False, part=f"p{reward}")
            assert (answer.status, answer.body) == (200, first | {"repeated": True})
            api.refused(api.outcome("d", reward=5.0, final=False, part=f"p{reward}"), 409, "with another body")
            api.refused(api.outcome("d", reward=reward, part=f"p{reward}"), 409, "with another body")
        api.refused(api.outcome("ended", reward=1.0), 404, "must be one of the bandit")
    assert api.outcome("d", reward=3.0).body["total"] == 6.0
    assert api.outcome("d", reward=3.0).body["repeated"]
    # Its own row is gone, so the id is free again.
    assert api.post("/v1/bandits/farm/decisions", ASKED).body["position"] > made["farm"]["position"]
    record = api.get("/v1/bandits/farm/decisions/d").body
    assert (record["status"], record["events"]) == ("open", [])


def test_a_base_from_before_requests_were_kept(api: Api) -> None:
    api.decide(id="d")
    api.outcome("d", reward=1.0, final=False, part="a")
    head, _, file = api.state.lives["farm"].to_bytes().partition(b"\n")
    data = json.loads(head)
    data["open"]["d"] = {"time": data["open"]["d"]["time"], "total": 1.0, "parts": ["a"]}
    api.post(ERASE, {"before": time.time() + 1.0})
    old = Life.from_bytes(json.dumps(data).encode() + b"\n" + file)
    api.engine.do(lambda turn: turn.state.lives.update(farm=old))
    with api.unchanged():
        api.refused(api.outcome("d", reward=1.0, final=False, part="a"), 409, "given before")
        api.refused(api.post("/v1/bandits/farm/decisions", ASKED), 409, "'d' again")
    assert api.outcome("d", reward=1.0).body["total"] == 2.0


def test_a_bandit_as_a_whole(api: Api) -> None:
    api.decide()
    api.refused(api.post(ERASE, {"before": None}), 409, "must be retired")
    api.ask("DELETE", "/v1/bandits/farm")
    assert api.post(ERASE, {"before": None}).body == {"entries": 3}
    api.refused(api.get("/v1/bandits/farm"), 404, "must be one that exists")
    assert not any(row.bandit == "farm" for row in api.engine.store.read())
    assert api.post("/v1/bandits", FARM).status == 201  # the name is free
    assert remembered(folded(api.engine.store.read())) == remembered(api.state)


def test_who_may_erase(api: Api) -> None:
    other = api.new_key("decide", "outcome", "read")
    with api.unchanged():
        assert api.post(ERASE, {"before": time.time()}, key=other).status == 403
    api.refused(api.post("/v1/bandits/nobody/erase", {"before": 1.0}), 404, "must be one that exists")
    api.refused(api.post(ERASE, {}), 422, "before")
    api.refused(api.post(ERASE, {"before": "yesterday"}), 422, "before")
