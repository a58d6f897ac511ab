"""Shadows over the API."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import overcast as oc
from overcast.service.fold import State
from overcast.service.start import read_state
from overcast.service.store import SqliteStore
from service_support import FARM, GAUSSIAN, Api, check_replay, remembered, served

SHADOW = "/v1/bandits/farm/shadow"
DECISIONS = "/v1/bandits/farm/decisions"
KERNEL = {"type": "Product", "action_kernel": "Linear", "context_kernel": {"type": "RBF", "lengthscale": 5.0}}


def _season(api: Api, n: int, key: str = "d") -> list[str]:
    actions = []
    for i in range(n):
        made = api.decide(id=f"{key}{i}")
        api.outcome(made["id"], reward={"early": 1.0, "late": 2.0, "never": 0.0}[made["action"]])
        actions.append(made["action"])
    return actions


@pytest.mark.parametrize(
    "body",
    [{"policy": "Greedy"}, {"kernel": KERNEL, "ridge": 1.0}, {"features": "Bilinear", "policy": "Thompson"}],
    ids=["policy", "kernel", "both"],
)
def test_a_shadow_sees_everything_and_never_acts(body: dict[str, Any], tmp_path: Path) -> None:
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    chosen = []
    for name in ("with", "without"):
        with served(tmp_path / name) as api:
            api.post("/v1/bandits", FARM)
            chosen.append(_season(api, 5, "before"))
            if name == "with":
                assert api.ask("PUT", SHADOW, body).body["decisions"] == 0
            chosen[-1] += _season(api, 12)
            if name == "with":
                found = api.get(SHADOW).body
                assert (found["decisions"], found["failed"]) == (12, None)
                assert 0 <= found["agreed"] <= 12
                assert found["expected"] >= 0.0 or "Thompson" in str(body)  # it takes what it thinks best, or a draw
                assert (found["outcomes"], found["difference"]) == (0, None)  # nothing was explored
                shadow = api.state.lives["farm"].shadow
                assert shadow is not None
                assert shadow.bandit.learnt.rounds == (17 if body.keys() == {"policy"} else 12)
                record = api.get(f"{DECISIONS}/d3").body
                assert record["shadow"] in ("early", "late", "never")
                check_replay(api.engine.store, api.state)
                state = api.state
                again = State.of(state.position, state.contents())
                assert remembered(again) == remembered(state)
    assert chosen[0] == chosen[1]  # the shadow changes nothing


def test_the_state_of_a_shadow_survives_a_start(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.post("/v1/bandits", FARM | {"explore": 0.3})
        api.ask("PUT", SHADOW, {"policy": "Greedy"})
        _season(api, 6)
        api.decide(id="open")
        before, told = remembered(api.state), api.get(SHADOW).body
        key = api.key
    store = SqliteStore(tmp_path / "log.db")
    found, position, _ = read_state(store)
    store.close()
    assert position > 0  # from the snapshot
    assert remembered(found) == before
    with served(tmp_path) as api:
        assert api.get(SHADOW, key=key).body == told


def test_the_difference_is_estimated_from_explored_decisions(api: Api) -> None:
    """The shadow always prefers `late`, which pays 2; the bandit explores half of the time, and its policy is held at
    what pays 1. The difference is known: 2 minus the mean reward of the bandit. The estimate is doubly robust, so that
    five standard errors leave a false alarm of less than 1e-6."""
    teach = [("early", 1.0), ("late", 2.0), ("never", 0.0)] * 4
    for i, (action, reward) in enumerate(teach):
        api.outcome(api.decide(available=[action], id=f"t{i}")["id"], reward=reward)
    api.ask("PATCH", "/v1/bandits/farm", {"policy": {"type": "UCB", "beta": 0.0}, "explore": 1.0})
    assert api.ask("PUT", SHADOW, {"policy": "Greedy"}).status == 200
    actions = _season(api, 300)
    found = api.get(SHADOW).body
    assert found["outcomes"] == 300
    assert found["agreed"] == actions.count("late")
    paid = [{"early": 1.0, "late": 2.0, "never": 0.0}[one] for one in actions]
    assert abs(found["difference"] - (2.0 - sum(paid) / 300)) <= 2.5 * found["two_se"]
    assert 0.0 < found["two_se"] < 1.0
    check_replay(api.engine.store, api.state)


def test_put_again_keeps_it_and_another_starts_anew(api: Api) -> None:
    api.refused(api.get(SHADOW), 404, "got none")
    api.ask("PUT", SHADOW, {"policy": "Greedy"})
    _season(api, 2)
    with api.unchanged():
        assert api.ask("PUT", SHADOW, {"policy": {"type": "Greedy"}}).body["decisions"] == 2
    assert api.ask("PUT", SHADOW, {"policy": "UCB"}).body["decisions"] == 0
    assert api.ask("DELETE", SHADOW).status == 200
    with api.unchanged():
        assert api.ask("DELETE", SHADOW).status == 200
    api.refused(api.get(SHADOW), 404, "got none")
    check_replay(api.engine.store, api.state)


def test_what_is_refused(api: Api) -> None:
    with api.unchanged():
        api.refused(api.ask("PUT", SHADOW, {}), 422, "got neither")
        api.refused(api.ask("PUT", SHADOW, {"policy": "Nobody"}), 422, "type must be one of")
        api.refused(api.ask("PUT", SHADOW, {"ridge": 1.0}), 422, "one of features, kernel and model")
        api.refused(api.ask("PUT", "/v1/bandits/none/shadow", {"policy": "Greedy"}), 404, "'none'")
        read = {"policy": {"type": "UCB", "beta": {"type": "Expected"}}, "features": "Bilinear"}
        api.refused(api.ask("PUT", SHADOW, read), 422, "confidence")


def test_a_shadow_that_cannot_follow_stops_and_the_bandit_goes_on(api: Api) -> None:
    """Its model cannot do with other actions than those that it started with."""
    api.ask("PUT", SHADOW, {"model": {"type": "Exp4", "features": "Bilinear", "experts": 4}, "policy": "Proportional"})
    waiting = api.decide()["id"]
    assert api.post("/v1/bandits/farm/actions", {"actions": {"soon": [0.2, 0.2]}}).status == 201
    assert "cannot come and go" in api.get(SHADOW).body["failed"]
    assert api.outcome(waiting, reward=1.0).status == 200
    assert api.post(DECISIONS, {"belief": GAUSSIAN}).status == 201
    assert api.get(SHADOW).body["decisions"] == 1
    check_replay(api.engine.store, api.state)


def test_a_shadow_without_a_policy_follows_that_of_the_bandit(api: Api) -> None:
    for name, body in (("farm", {"kernel": KERNEL, "ridge": 1.0}), ("other", {"policy": "Thompson"})):
        api.post("/v1/bandits", FARM | {"name": name})
        api.ask("PUT", f"/v1/bandits/{name}/shadow", body)
        assert api.ask("PATCH", f"/v1/bandits/{name}", {"policy": "Greedy"}).status == 200
    shadows = [api.state.lives[name].shadow for name in ("farm", "other")]
    assert [shadow and shadow.bandit.policy for shadow in shadows] == [oc.Greedy(), oc.Thompson()]
    check_replay(api.engine.store, api.state)


def test_huge_rewards_leave_the_comparison_finite(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.post("/v1/bandits", FARM | {"explore": 0.5})
        api.ask("PUT", SHADOW, {"policy": "Greedy"})
        for i in range(12):
            api.outcome(api.decide(id=f"d{i}")["id"], reward=1e150 if i % 2 else -1e150)
        found = api.get(SHADOW)
        assert found.status == 200
        assert found.body["outcomes"] > 2
        shadow = api.state.lives["farm"].shadow
        assert shadow is not None
        assert all(map(math.isfinite, (shadow.compared.gain, shadow.compared.squares, shadow.compared.expected)))
        assert remembered(State.of(api.state.position, api.state.contents())) == remembered(api.state)
