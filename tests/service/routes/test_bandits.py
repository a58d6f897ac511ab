"""Bandits over the API."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast.service import Limits
from service_support import FARM, GAUSSIAN, Api, check_replay, served


def test_create_list_inspect_change_retire(api: Api) -> None:
    made = api.get("/v1/bandits/farm").body
    assert made["model"]["type"] == "models.LinearModel"
    assert made["policy"] == {"type": "policies.UCB", "beta": 2.0}
    assert [one["name"] for one in made["action_list"]] == ["early", "late", "never"]
    api.outcome(api.decide()["id"], reward=1.0)
    changed = api.ask("PATCH", "/v1/bandits/farm", {"policy": {"type": "Thompson"}})
    assert changed.body["policy"]["type"] == "policies.Thompson"
    assert changed.body["learnt"]["rounds"] == 1  # what was learnt stays
    assert api.get("/v1/bandits").body["bandits"][0]["outcomes"] == 1
    open_one = api.decide()
    assert api.ask("DELETE", "/v1/bandits/farm").body["retired"]
    with api.unchanged():
        assert api.ask("DELETE", "/v1/bandits/farm").status == 200
        api.refused(api.post("/v1/bandits/farm/decisions", {"belief": GAUSSIAN}), 409, "retired")
        api.refused(api.post("/v1/bandits", FARM), 409, "'farm' again")
    assert api.outcome(open_one["id"], reward=1.0).status == 200  # what was decided before still counts


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"name": "../etc"}, "must match"),
        ({"name": "x; DROP TABLE log"}, "must match"),
        ({"actions": {}}, "at least one"),
        ({"actions": {"a": [1.0], "b": [1.0, 2.0]}}, "one length"),
        ({"actions": {"a\n": [1.0]}}, "must match"),
        ({"features": {"type": "Function", "fn": "os.system", "dim": 1}}, "Function holds code"),
        ({"features": {"type": "features.Design"}}, "type must be one of"),
        ({"features": {"type": "Bilinear", "wrong": 1}}, "'wrong'"),
        ({"features": {"type": "builtins.eval"}}, "type must be one of"),
        ({"features": None}, "one of features, kernel and model"),
        ({"kernel": "RBF"}, "one of features, kernel and model"),
        ({"policy": {"type": "UCB", "beta": -1.0}}, "beta"),
        ({"policy": "LinearModel"}, "type must be one of"),
        ({"samples": 10**9}, "100000 at most"),
        ({"samples": 0}, "samples"),
        ({"objective": {"type": "CVar"}}, "type must be one of Mean"),
        ({"default": 1.0}, "must go with wait"),
        ({"wait": -1.0}, "> 0"),
        ({"seed": -1}, ">= 0"),
        ({"context": []}, "context must have at least one"),
        ({"context": ["warm", "warm"]}, "'warm' twice"),
        ({"context": "warm"}, "expected `array | null`"),
        ({"history": 10}, "history"),
    ],
)
def test_a_wrong_configuration_changes_nothing(api: Api, change: dict[str, Any], word: str) -> None:
    with api.unchanged():
        answer = api.post("/v1/bandits", FARM | {"name": "other"} | change)
        api.refused(answer, 422, word)


def test_limits_of_actions(tmp_path: Path) -> None:
    with served(tmp_path, limits=Limits(actions=3, dimensions=2)) as api:
        api.refused(api.post("/v1/bandits", FARM | {"actions": list("abcd")}), 422, "3 at most")
        api.refused(api.post("/v1/bandits", FARM | {"actions": [[1.0, 2.0, 3.0]]}), 422, "2 entries at most")
        api.refused(api.post("/v1/bandits", FARM | {"context": list("abc")}), 422, "2 names at most")
        assert api.post("/v1/bandits", FARM).status == 201
        api.refused(api.post("/v1/bandits/farm/actions", {"actions": {"x": [1.0, 2.0]}}), 422, "3 at most")


def test_names_of_the_context(api: Api) -> None:
    made = api.post("/v1/bandits", FARM | {"name": "named", "context": ["warm", "wet"]}).body
    assert made["context"] == ["warm", "wet"]
    assert api.get("/v1/bandits/farm").body["context"] is None
    for name, belief in (("named", {"wet": 1.0, "warm": 20.0}), ("farm", [20.0, 1.0])):
        decided = api.post(f"/v1/bandits/{name}/decisions", {"id": "d", "belief": belief})
        assert decided.status == 201, decided.body
    body = {"reward": 2.0, "context": {"wet": 0.5, "warm": 18.0}}
    assert api.post("/v1/bandits/named/decisions/d/outcome", body).status == 200
    assert api.post("/v1/bandits/farm/decisions/d/outcome", {"reward": 2.0, "context": [18.0, 0.5]}).status == 200
    one, two = (api.post(f"/v1/bandits/{name}/estimate", {"belief": [21.0, 0.3]}).body for name in ("named", "farm"))
    assert one["actions"] == two["actions"]
    with api.unchanged():
        api.refused(api.post("/v1/bandits/named/decisions", {"belief": {"warm": 20.0, "dry": 1.0}}), 422, "wet")
    check_replay(api.engine.store, api.state)


def test_a_wrong_change_changes_nothing(api: Api) -> None:
    with api.unchanged():
        api.refused(api.ask("PATCH", "/v1/bandits/farm", {"policy": "Nobody"}), 422, "type must be one of")
        api.refused(api.ask("PATCH", "/v1/bandits/farm", {"policy": "Greedy", "default": 1.0}), 422, "with wait")
        api.refused(api.ask("PATCH", "/v1/bandits/none", {"policy": "Greedy"}), 404, "'none'")


def test_another_policy_keeps_what_was_learnt(api: Api) -> None:
    for reward in (1.0, 3.0, 2.0):
        api.outcome(api.decide()["id"], reward=reward)
    bandit = api.state.lives["farm"].bandit
    before = bandit.estimate([20.0, 1.0])
    for policy in ("Thompson", {"type": "EpsilonGreedy", "epsilon": 0.1}, {"type": "UCB", "beta": 1.0}):
        assert api.ask("PATCH", "/v1/bandits/farm", {"policy": policy}).status == 200
        after = bandit.estimate([20.0, 1.0])
        np.testing.assert_array_equal(after.mean, before.mean)
        np.testing.assert_array_equal(after.width, before.width)
    check_replay(api.engine.store, api.state)


TOML = """
name = "field"
ridge = 1.0
seed = 3
[actions]
early = [1.0, 0.0]
"late one" = [0.0, 1.0]
[features]
type = "Bilinear"
[policy]
type = "UCB"
beta = 2.0
"""


def test_a_bandit_from_toml_is_that_from_json(api: Api) -> None:
    toml = {"Content-Type": "application/toml"}
    made = api.post("/v1/bandits", TOML.encode(), headers=toml)
    assert made.status == 201
    data = tomllib.loads(TOML) | {"name": "other"}
    other = api.post("/v1/bandits", data).body
    different = {"name", "created", "position"}
    assert {k: v for k, v in made.body.items() if k not in different} == {
        k: v for k, v in other.items() if k not in different
    }
    with api.unchanged():
        for raw in (b"=", b"\xff", b"a = nan", b"a = 1979-05-27", b"x=" + b"[" * 5000, b"a" + b".a" * 100_000 + b"=1"):
            api.refused(api.post("/v1/bandits", raw, headers=toml), 400, "must be TOML")
        api.refused(api.post("/v1/bandits", TOML.replace("seed", "sed").encode(), headers=toml), 422, "sed")
        api.refused(api.post("/v1/bandits/farm/decisions", b"", headers=toml), 415, "must be application/json")


def test_a_share_of_uniform_choices(api: Api) -> None:
    """Five standard errors: a false alarm has probability below 1e-6 for each of the three actions."""
    changed = api.ask("PATCH", "/v1/bandits/farm", {"explore": 0.5}).body
    assert (changed["explore"], changed["policy"]["type"]) == (0.5, "policies.UCB")
    asked = [{"belief": GAUSSIAN, "id": f"d{i}"} for i in range(900)]
    items = api.post("/v1/bandits/farm/decisions", {"decisions": asked}).body["decisions"]
    made = [item["decision"] for item in items]
    stated = {one["action"]: one["probability"] for one in made}
    assert sum(stated.values()) == pytest.approx(1.0)
    for action, p in stated.items():
        found = np.mean([one["action"] == action for one in made])
        assert abs(found - p) <= 5.0 * math.sqrt(p * (1.0 - p) / 900)
    check_replay(api.engine.store, api.state)
    # Another policy keeps the share, and the same decisions come out of the same seed and ids.
    assert api.ask("PATCH", "/v1/bandits/farm", {"policy": "Greedy"}).body["explore"] == 0.5
    for name in ("one", "two"):
        api.post("/v1/bandits", FARM | {"name": name, "explore": 0.9})
    twice = [
        [
            one["decision"]["action"]
            for one in api.post(f"/v1/bandits/{name}/decisions", {"decisions": asked[:50]}).body["decisions"]
        ]
        for name in ("one", "two")
    ]
    assert twice[0] == twice[1]
    assert len(set(twice[0])) == 3
    assert api.ask("PATCH", "/v1/bandits/farm", {"explore": 0}).body["explore"] == 0.0


def test_forecasts_are_recalibrated_as_in_the_library(api: Api) -> None:
    made = oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(2.0)
    bandit = oc.Bandit(FARM["actions"], *made, recalibrate=True)
    first = api.post("/v1/bandits", FARM | {"name": "weather", "recalibrate": True}).body
    assert (first["recalibrate"], first["correction"]["outcomes"]) == (True, 0)
    rng = np.random.default_rng(0)
    for i in range(30):
        mean = rng.normal([20.0, 1.0], [5.0, 0.5])
        belief = {"type": "Gaussian", "mean": mean.tolist(), "cov": [1.0, 0.1]}
        context = rng.normal(mean + np.array([2.0, 0.0]), [3.0, 0.3]).tolist()  # two too low, and far too sure
        here = bandit.decide(oc.belief_from_json(belief))
        there = api.post("/v1/bandits/weather/decisions", {"belief": belief}).body
        assert (here.action, here.mean, here.width) == (there["action"], there["mean"], there["width"])
        bandit.learn(here, float(i % 3), context)
        body = {"reward": float(i % 3), "context": context}
        assert api.post(f"/v1/bandits/weather/decisions/{there['id']}/outcome", body).status == 200
    found, own = api.get("/v1/bandits/weather").body["correction"], bandit.recalibrated
    assert own is not None
    assert found["outcomes"] == own.outcomes == 30
    for name in ("bias", "slope", "factor"):
        assert found[name] == getattr(own, name).tolist()
    assert found["factor"][0] > 1.5
    assert api.get("/v1/bandits/farm").body["correction"] is None
    check_replay(api.engine.store, api.state)


def test_what_cannot_be_explored(api: Api) -> None:
    repeated = {"type": "Repeated", "policy": "Thompson", "n": 20}
    with api.unchanged():
        for change in ({"explore": 0.1, "policy": "Thompson"}, {"explore": 0.1, "samples": 5}):
            api.refused(api.post("/v1/bandits", FARM | {"name": "x"} | change), 422, "probabilities are known")
        api.refused(api.post("/v1/bandits", FARM | {"name": "x", "explore": 1.5}), 422, "<= 1")
    api.ask("PATCH", "/v1/bandits/farm", {"explore": 0.1})
    with api.unchanged():
        api.refused(api.ask("PATCH", "/v1/bandits/farm", {"policy": "Thompson"}), 422, "probabilities are known")
    assert api.ask("PATCH", "/v1/bandits/farm", {"policy": repeated}).body["explore"] == 0.1
    assert 1 / 30 <= api.decide()["probability"] <= 1.0


def test_an_estimate_records_nothing(api: Api) -> None:
    api.outcome(api.decide()["id"], reward=1.0)
    expected = api.state.lives["farm"].bandit.estimate(oc.belief_from_json(GAUSSIAN))
    with api.unchanged():
        answer = api.post("/v1/bandits/farm/estimate", {"belief": GAUSSIAN})
    assert [one["mean"] for one in answer.body["actions"]] == expected.mean.tolist()
    assert [one["width"] for one in answer.body["actions"]] == expected.width.tolist()
    assert answer.body["position"] == api.state.position
    api.refused(api.post("/v1/bandits/farm/estimate", {"belief": [1.0]}), 422, "dimension 2")
