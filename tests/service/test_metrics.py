"""Metrics belong to one application."""

from __future__ import annotations

from pathlib import Path

from service_support import FARM, served


def test_two_applications_count_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with served(tmp_path / "one") as one, served(tmp_path / "two") as two:
        one.post("/v1/bandits", FARM)
        line = 'overcast_requests_total{route="POST /v1/bandits",status="201"} 1.0'
        assert line in one.app.state.service.metrics.text().decode()
        assert line not in two.app.state.service.metrics.text().decode()
        one.engine.state, kept = None, one.engine.state
        assert "overcast_ready 0.0" in one.app.state.service.metrics.text().decode()
        one.engine.state = kept


def test_names_of_bandits_are_labels(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.post("/v1/bandits", FARM | {"name": "a.b-c"})
        assert 'overcast_bandit_pending{bandit="a.b-c"} 0.0' in api.get("/metrics").body
