"""Health, readiness and metrics."""

from __future__ import annotations

from service_support import Api


def test_health_and_readiness_need_no_key(api: Api) -> None:
    assert api.get("/healthz", key="").body == {"status": "alive", "position": None}
    assert api.get("/readyz", key="").body == {"status": "ready", "position": api.state.position}


def test_not_ready_until_the_log_is_folded(api: Api) -> None:
    state, api.engine.max_age = api.engine.state, 60.0
    api.engine.do(lambda turn: None)
    api.engine.state = None
    api.refused(api.get("/readyz", key=""), 503, "not ready")
    api.refused(api.get("/v1/bandits"), 503, "not ready")
    assert api.get("/healthz", key="").status == 200
    api.engine.state = state


def test_metrics(api: Api) -> None:
    made = api.decide()
    api.decide()
    api.outcome(made["id"], reward=1.0)
    answer = api.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    for line in (
        'overcast_bandit_decisions_total{bandit="farm"} 2.0',
        'overcast_bandit_outcomes_total{bandit="farm"} 1.0',
        'overcast_bandit_pending{bandit="farm"} 1.0',
        f"overcast_log_position {float(api.state.position)}",
        'overcast_requests_total{route="POST /v1/bandits/{name}/decisions",status="201"} 2.0',
    ):
        assert line in answer.body
    assert "overcast_commit_seconds_count" in answer.body
    api.refused(api.get("/metrics", key=""), 401, "valid")
