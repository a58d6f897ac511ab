"""Outcomes over the API."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast.service.routes import outcomes as routes
from service_support import FARM, GAUSSIAN, Api, check_replay, later, served


def test_an_outcome_counts_once(api: Api) -> None:
    made = api.decide()
    first = api.outcome(made["id"], reward=2, context=[19.0, 1.1])
    assert (first.status, first.body) == (200, {"id": made["id"], "repeated": False, "final": True, "total": 2.0})
    with api.unchanged():
        again = api.outcome(made["id"], context=[19.0, 1.1], reward=2.0)
        assert (again.status, again.body["repeated"]) == (200, True)
        api.refused(api.outcome(made["id"], reward=3.0, context=[19.0, 1.1]), 409, "has its outcome")
        api.refused(api.outcome(made["id"], reward=2.0), 409, "has its outcome")
    assert api.state.lives["farm"].bandit.learnt.rounds == 1


def test_whole_numbers_and_floats_are_the_same_outcome(api: Api) -> None:
    contexts: list[Any] = [[19, 1], {"type": "Gaussian", "mean": [19, 1], "cov": [1, 1]}]
    floats: list[Any] = [[19.0, 1.0], {"type": "Gaussian", "mean": [19.0, 1.0], "cov": [1.0, 1]}]
    for one, other in zip([*contexts, *floats], [*floats, *contexts], strict=True):
        id_ = api.decide()["id"]
        assert api.outcome(id_, reward=1, context=one).status == 200
        with api.unchanged():
            again = api.outcome(id_, reward=1.0, context=other)
            assert (again.status, again.body["repeated"]) == (200, True)


def test_an_outcome_of_an_earlier_release_is_known_by_its_numbers_as_they_were_sent(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_, context = api.decide()["id"], {"type": "PointMass", "c": [19, 1]}
    with monkeypatch.context() as patched:
        patched.setattr(routes, "with_floats", lambda data: data)
        assert api.outcome(id_, reward=1, context=context).status == 200
    with api.unchanged():
        assert api.outcome(id_, reward=1, context=context).body["repeated"]


def test_late_and_out_of_order(api: Api) -> None:
    ids = [api.decide()["id"] for _ in range(5)]
    for i in (3, 0, 4):
        assert api.outcome(ids[i], reward=float(i)).status == 200
    assert list(api.state.lives["farm"].open) == [ids[1], ids[2]]
    check_replay(api.engine.store, api.state)


def test_parts_sum_up(api: Api) -> None:
    id_ = api.decide()["id"]
    assert api.outcome(id_, reward=1.0, final=False, part="a").body["total"] == 1.0
    assert api.outcome(id_, reward=0.5, final=False, part="b").body["total"] == 1.5
    with api.unchanged():
        again = api.outcome(id_, reward=1.0, final=False, part="a")
        assert (again.status, again.body["repeated"]) == (200, True)
        api.refused(api.outcome(id_, reward=9.0, final=False, part="a"), 409, "another body")
        api.refused(api.outcome(id_, reward=1.0, final=False), 422, "part must name")
        api.refused(api.outcome(id_, reward=1.0, final=False, part="c", context=[1.0, 2.0]), 422, "final part")
        api.refused(api.outcome(id_, reward=1.0, part="a"), 409, "another body")
    last = api.outcome(id_, reward=0.25, context=[1.0, 2.0])
    assert (last.status, last.body["total"]) == (200, 1.75)
    with api.unchanged():
        assert api.outcome(id_, reward=0.5, final=False, part="b").status == 200
        api.refused(api.outcome(id_, reward=1.0, final=False, part="new"), 409, "has its outcome")
    event = api.get(f"/v1/bandits/farm/decisions/{id_}").body["events"][-1]["event"]
    assert event["reward"] == 1.75
    assert api.state.lives["farm"].bandit.learnt.rounds == 1
    check_replay(api.engine.store, api.state)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"reward": NaN}', 400),
        (b'{"reward": 1e999}', 400),
        (b'{"reward": "1"}', 422),
        (b'{"reward": 1, "context": [1]}', 422),
        (b'{"reward": 1, "context": [1, null]}', 422),
        (b'{"reward": 1, "context": {"type": "Gaussian", "mean": [1], "cov": [1]}}', 422),
        (b'{"reward": 1, "contxt": [1, 2]}', 422),
        (b"{}", 422),
    ],
)
def test_wrong_outcomes_change_nothing(api: Api, body: bytes, status: int) -> None:
    id_ = api.decide()["id"]
    with api.unchanged():
        answer = api.post(f"/v1/bandits/farm/decisions/{id_}/outcome", body)
        assert answer.status in (status, 422)
        api.refused(answer, answer.status, "")
    assert api.outcome(id_, reward=1.0).status == 200


@pytest.mark.parametrize(
    "context",
    [
        {"type": "Gaussian", "mean": [19.0, 1.1], "cov": [0.1, 0.0]},
        {"type": "Ensemble", "points": [[19.0, 1.0], [20.0, 1.2]]},
        {"wet": 1.1, "warm": 19.0},
    ],
    ids=["gaussian", "ensemble", "names"],
)
def test_a_context_may_be_a_belief_or_come_by_name(api: Api, context: Any) -> None:
    named = GAUSSIAN | {"names": ["warm", "wet"]}
    bandit = oc.Bandit(FARM["actions"], oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(2.0))
    here, there = bandit.decide(oc.belief_from_json(named)), api.decide(belief=named)
    bandit.learn(here, 2.0, oc.as_belief(context))
    assert api.outcome(there["id"], reward=2.0, context=context).status == 200
    with api.unchanged():
        assert api.outcome(there["id"], reward=2.0, context=context).body["repeated"]
    found = api.state.lives["farm"].bandit.estimate([20.0, 1.0])
    np.testing.assert_array_equal(found.mean, bandit.estimate([20.0, 1.0]).mean)
    check_replay(api.engine.store, api.state)


def test_a_batch_takes_contexts_and_parts(api: Api) -> None:
    ids = [api.decide()["id"] for _ in range(3)]
    items = [
        {"id": ids[0], "reward": 1.0, "context": GAUSSIAN},
        {"id": ids[1], "reward": 1.0, "final": False, "part": "a"},
        {"id": ids[1], "reward": 2.0, "context": [19.0, 1.0]},
        {"id": ids[2], "reward": 1.0, "context": {"type": "Gaussian", "mean": [1.0], "cov": [1.0]}},
        {"id": ids[2], "reward": 1.0, "context": {"type": "Nothing"}},
    ]
    verdicts = api.post("/v1/bandits/farm/outcomes", {"outcomes": items}).body["outcomes"]
    assert [one["status"] for one in verdicts] == [200, 200, 200, 422, 422]
    assert list(api.state.lives["farm"].open) == [ids[2]]
    check_replay(api.engine.store, api.state)


def test_a_reward_that_sums_beyond_bounds_is_refused(api: Api) -> None:
    id_ = api.decide()["id"]
    assert api.outcome(id_, reward=9e149, final=False, part="a").status == 200
    with api.unchanged():
        for body in ({"reward": 1.7e308, "part": "b"}, {"reward": 2e149, "part": "b"}):
            api.refused(api.outcome(id_, final=False, **body), 422, "1e+150 at most")
            api.refused(api.outcome(id_, **body), 422, "1e+150 at most")


def test_what_expires_can_always_be_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path) as api:
        api.refused(api.post("/v1/bandits", FARM | {"wait": 9.0, "default": 1e308}), 422, "1e+150 at most")
        assert api.post("/v1/bandits", FARM | {"wait": 3600.0, "default": 9e149}).status == 201
        id_ = api.decide()["id"]
        with api.unchanged():
            for reward in (1.7e308, 2e149):
                api.refused(api.outcome(id_, reward=reward, final=False, part="p"), 422, "1e+150 at most")
        assert api.outcome(id_, reward=5e148, final=False, part="p").status == 200
        with api.unchanged():
            for default in (1e308, 9.9e149):
                api.refused(api.ask("PATCH", "/v1/bandits/farm", {"default": default}), 422, "1e+150 at most")
        later(monkeypatch, 3601.0)
        assert api.get("/v1/bandits/farm").status == 200
        assert api.state.lives["farm"].counts.expired == 1
        api.decide()
        check_replay(api.engine.store, api.state)


def test_an_unknown_decision(api: Api) -> None:
    with api.unchanged():
        api.refused(api.outcome("nobody", reward=1.0), 404, "'nobody'")


def test_a_batch_has_a_verdict_for_each(api: Api) -> None:
    ids = [api.decide()["id"] for _ in range(3)]
    items: list[Any] = [{"id": id_, "reward": 1.0} for id_ in ids]
    items += [items[0], {"id": ids[1], "reward": 2.0}, {"id": "x", "reward": 1.0}, {"id": ids[0]}, 3]
    answer = api.post("/v1/bandits/farm/outcomes", {"outcomes": items})
    assert answer.status == 200
    verdicts = answer.body["outcomes"]
    assert [one["status"] for one in verdicts] == [200, 200, 200, 200, 409, 404, 422, 422]
    assert [one["id"] for one in verdicts] == [*ids, ids[0], ids[1], "x", ids[0], None]
    assert api.state.lives["farm"].bandit.learnt.rounds == 3
    api.refused(api.post("/v1/bandits/farm/outcomes", {"outcomes": []}), 422, "1 to 1000")
    check_replay(api.engine.store, api.state)


@pytest.mark.parametrize("default", [None, 0.5])
def test_outcomes_that_do_not_come_expire(default: float | None, tmp_path: Path) -> None:
    with served(tmp_path) as api:
        assert api.post("/v1/bandits", FARM | {"wait": 0.05, "default": default}).status == 201
        id_ = api.decide()["id"]
        for _ in range(200):
            if not api.state.lives["farm"].open:
                break
            time.sleep(0.02)
        assert api.get(f"/v1/bandits/farm/decisions/{id_}").body["status"] == "expired"
        api.refused(api.outcome(id_, reward=1.0), 409, "expired")
        life = api.state.lives["farm"]
        assert (life.counts.expired, life.counts.outcomes) == (1, 0)
        assert life.bandit.learnt.rounds == (default is not None)
        if default is not None:
            assert math.isfinite(life.bandit.estimate([20.0, 1.0]).mean[0])
        check_replay(api.engine.store, api.state)
