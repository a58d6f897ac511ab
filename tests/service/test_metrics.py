"""Metrics belong to one application."""

from __future__ import annotations

import re
import time
from pathlib import Path

from overcast.service.engine import Engine
from overcast.service.metrics import Metrics
from overcast.service.store import SqliteStore
from service_support import FARM, served


def test_two_applications_count_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with served(tmp_path / "one") as one, served(tmp_path / "two") as two:
        one.post("/v1/bandits", FARM)
        line = 'overcast_requests_total{route="POST /v1/bandits",status="201"} 1.0'
        assert line in one.app.state.service.metrics.text().decode()
        assert line not in two.app.state.service.metrics.text().decode()


def test_before_the_log_is_folded_it_is_not_ready(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.db")
    text = Metrics(Engine(store)).text().decode()
    assert "overcast_ready 0.0" in text
    assert "overcast_log_position" not in text
    store.close()


def test_names_of_bandits_are_labels(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.post("/v1/bandits", FARM | {"name": "a.b-c"})
        assert 'overcast_bandit_pending{bandit="a.b-c"} 0.0' in api.get("/metrics").body


def test_everything_that_is_watched_is_there(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.post("/v1/bandits", FARM | {"wait": 0.01})
        kept = FARM | {"name": "kept"}
        api.post("/v1/bandits", kept)
        ids = [api.post("/v1/bandits/kept/decisions", {"belief": [1.0, 2.0]}).body["id"] for _ in range(4)]
        api.post(f"/v1/bandits/kept/decisions/{ids[0]}/outcome", {"reward": 1.0})
        api.ask("DELETE", f"/v1/bandits/kept/decisions/{ids[1]}")
        api.decide()
        for _ in range(500):
            if api.state.lives["farm"].counts.expired:
                break
            time.sleep(0.01)
        text = api.get("/metrics").body
        for name, value in (("decisions", 4), ("outcomes", 1), ("cancelled", 1), ("expired", 0)):
            assert f'overcast_bandit_{name}_total{{bandit="kept"}} {value:.1f}' in text
            assert f"# TYPE overcast_bandit_{name}_total counter" in text
        assert 'overcast_bandit_pending{bandit="kept"} 2.0' in text
        assert 'overcast_bandit_expired_total{bandit="farm"} 1.0' in text
        assert f"overcast_log_position {api.state.position:.1f}" in text
        assert 0.0 <= float(re.findall(r"^overcast_log_age_seconds (\S+)", text, re.MULTILINE)[0]) < 60.0
        route = 'route="POST /v1/bandits/{name}/decisions"'
        assert f'overcast_request_seconds_bucket{{le="5.0",{route}}} 5.0' in text
        assert f'overcast_requests_total{{{route},status="201"}} 5.0' in text
        assert float(re.findall(r"overcast_commit_seconds_count (\S+)", text)[0]) >= 9
