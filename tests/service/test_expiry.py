"""Outcomes that do not come in time."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path

import pytest

from overcast.service.fold import folded
from service_support import FARM, check_replay, later, served


def test_a_clock_that_is_set_back_delays_no_other_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10_000.0]
    monkeypatch.setattr("overcast.service.engine.time.time", lambda: now[0])
    with served(tmp_path, max_age=0.01) as api:
        api.post("/v1/bandits", FARM | {"wait": 60.0})
        api.decide(id="later")
        now[0] = 5000.0
        for id_ in ("one", "two"):
            api.decide(id=id_)
        now[0] = 5061.0
        for _ in range(1000):
            if api.state.lives["farm"].counts.expired == 2:
                break
            time.sleep(0.01)
        assert list(api.state.lives["farm"].open) == ["later"]
        check_replay(api.engine.store, api.state)
        now[0] = 5062.0
        api.decide(id="three")
        heads = [state.contents()["farm"].partition(b"\n")[0] for state in (api.state, folded(api.engine.store.read()))]
        assert heads[0] == heads[1]  # whether it was sorted or not
        assert list(json.loads(heads[0])["open"]) == ["three", "later"]


def test_a_default_that_cannot_count_lets_the_decision_be_forgotten(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path) as api:
        api.post("/v1/bandits", FARM | {"wait": 3600.0, "default": 1.0})
        made = api.decide()["id"]
        part = {"event": "part", "id": made, "reward": 1e200, "part": "a"}  # as an import may bring it
        with caplog.at_level(logging.CRITICAL, "overcast.service"):
            api.engine.do(lambda turn: turn.append("farm", "part", part, made))
            later(monkeypatch, 3601.0)
            assert api.get("/v1/bandits/farm").status == 200
            api.decide()
        assert api.get(f"/v1/bandits/farm/decisions/{made}").body["status"] == "expired"
        assert api.state.lives["farm"].counts.expired == 1
        assert api.state.lives["farm"].bandit.learnt.rounds == 0
        check_replay(api.engine.store, api.state)
