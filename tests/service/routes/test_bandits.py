"""Bandits over the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import overcast as oc
from overcast.service import Limits
from service_support import FARM, GAUSSIAN, Api, served


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
        ({"objective": {"type": "CVaR"}}, "not offered"),
        ({"default": 1.0}, "must go with wait"),
        ({"wait": -1.0}, "> 0"),
        ({"seed": -1}, ">= 0"),
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
        assert api.post("/v1/bandits", FARM).status == 201
        api.refused(api.post("/v1/bandits/farm/actions", {"actions": {"x": [1.0, 2.0]}}), 422, "3 at most")


def test_a_wrong_change_changes_nothing(api: Api) -> None:
    with api.unchanged():
        api.refused(api.ask("PATCH", "/v1/bandits/farm", {"policy": "Nobody"}), 422, "type must be one of")
        api.refused(api.ask("PATCH", "/v1/bandits/farm", {"policy": "Greedy", "default": 1.0}), 422, "with wait")
        api.refused(api.ask("PATCH", "/v1/bandits/none", {"policy": "Greedy"}), 404, "'none'")


def test_an_estimate_records_nothing(api: Api) -> None:
    api.outcome(api.decide()["id"], reward=1.0)
    expected = api.state.lives["farm"].bandit.estimate(oc.belief_from_json(GAUSSIAN))
    with api.unchanged():
        answer = api.post("/v1/bandits/farm/estimate", {"belief": GAUSSIAN})
    assert [one["mean"] for one in answer.body["actions"]] == expected.mean.tolist()
    assert [one["width"] for one in answer.body["actions"]] == expected.width.tolist()
    assert answer.body["position"] == api.state.position
    api.refused(api.post("/v1/bandits/farm/estimate", {"belief": [1.0]}), 422, "dimension 2")
