"""Erasing entries of the log by request."""

from __future__ import annotations

import time

from overcast.service.fold import folded
from service_support import FARM, Api, remembered

ERASE = "/v1/bandits/farm/erase"


def test_entries_before_a_time(api: Api) -> None:
    api.outcome(api.decide()["id"], reward=1.0)
    state = remembered(api.state)
    assert api.post(ERASE, {"before": time.time() - 3600.0}).body == {"entries": 0}
    assert api.post(ERASE, {"before": time.time() + 1.0}).body == {"entries": 2}
    assert remembered(folded(api.engine.store.read())) == state == remembered(api.state)
    api.outcome(api.decide()["id"], reward=1.0)
    assert api.get("/v1/bandits/farm").body["outcomes"] == 2


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
