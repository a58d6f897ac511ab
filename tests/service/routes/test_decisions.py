"""Decisions over the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import overcast as oc
from overcast.service import Limits, Settings
from overcast.service.routes import decisions
from overcast.service.store import open_store
from service_support import FARM, GAUSSIAN, Answer, Api, check_replay, served

DECISIONS = "/v1/bandits/farm/decisions"


def test_a_decision_is_the_librarys(api: Api) -> None:
    bandit = oc.Bandit(FARM["actions"], oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(2.0))
    for reward in (1.0, -2.0, 0.5):
        here = bandit.decide(oc.belief_from_json(GAUSSIAN))
        there = api.decide()
        told = {name: getattr(here, name) for name in ("action", "mean", "width", "score", "probability")}
        assert {name: there[name] for name in told} == told
        bandit.learn(here, reward)
        assert api.outcome(there["id"], reward=reward).status == 200


def test_the_position_is_that_of_the_row_before(api: Api) -> None:
    position = api.state.position
    assert api.decide()["position"] == position
    assert api.decide()["position"] == position + 1


def test_whole_numbers_and_floats_are_the_same_request(api: Api) -> None:
    forms: list[tuple[Any, Any]] = [
        ([20, 1], [20.0, 1.0]),
        ([[20, 1], [21, 2]], [[20.0, 1], [21.0, 2.0]]),
        (
            {"type": "Gaussian", "mean": [20, 1], "cov": [4, 1]},
            {"type": "Gaussian", "mean": [20.0, 1], "cov": [4.0, 1]},
        ),
    ]
    for i, pair in enumerate(forms):
        for one, other in (pair, pair[::-1]):
            id_ = f"d{i}{one is pair[0]}"
            first = api.decide(belief=one, id=id_)
            with api.unchanged():
                assert api.decide(belief=other, id=id_) == first


def test_a_request_of_an_earlier_release_is_known_by_its_numbers_as_they_were_sent(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(decisions, "with_floats", lambda data: data)
        first = api.decide(belief=[20, 1], id="early")
    with api.unchanged():
        assert api.decide(belief=[20, 1], id="early") == first


@pytest.mark.parametrize("header", [True, False])
def test_the_same_id_gets_the_same_answer_and_another_body_is_refused(api: Api, header: bool) -> None:
    options: dict[str, Any] = {"headers": {"Idempotency-Key": "monday"}} if header else {}
    own = {} if header else {"id": "monday"}
    first = api.post(DECISIONS, {"belief": GAUSSIAN, **own}, **options)
    assert (first.status, first.body["id"]) == (201, "monday")
    api.decide()
    with api.unchanged():
        again = api.post(DECISIONS, {"belief": GAUSSIAN, **own}, **options)
        assert (again.status, again.body) == (201, first.body)
        other = api.post(DECISIONS, {"belief": [1.0, 2.0], **own}, **options)
        api.refused(other, 409, "'monday' again")
    assert api.outcome("monday", reward=1.0).status == 200
    with api.unchanged():  # also after its outcome
        assert api.post(DECISIONS, {"belief": GAUSSIAN, **own}, **options).body == first.body


def test_a_header_and_an_id_must_agree(api: Api) -> None:
    with api.unchanged():
        answer = api.post(DECISIONS, {"belief": GAUSSIAN, "id": "a"}, headers={"Idempotency-Key": "b"})
        api.refused(answer, 422, "Idempotency-Key")
        bad = api.post(DECISIONS, {"belief": GAUSSIAN}, headers={"Idempotency-Key": "no spaces"})
        api.refused(bad, 422, "must match")


def test_draws_follow_from_seed_and_id(tmp_path: Path) -> None:
    actions = {f"a{i}": [1.0 + i, 2.0 - i] for i in range(6)}
    taken = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        with served(tmp_path / folder) as api:
            api.post("/v1/bandits", FARM | {"actions": actions, "policy": "Thompson", "seed": 5})
            ids = range(20) if folder == "one" else reversed(range(20))  # whatever came before
            # No outcome is learnt, so the state stays the same for the draws.
            taken.append({i: api.decide(id=f"id-{i}")["action"] for i in ids})
    assert taken[0] == taken[1]
    assert len(set(taken[0].values())) > 1


def test_a_batch_has_a_verdict_for_each(api: Api) -> None:
    items = [{"belief": GAUSSIAN, "id": "a"}, {"belief": 3}, {"belief": [1.0]}, {"belief": GAUSSIAN, "id": "a"}]
    answer = api.post(DECISIONS, {"decisions": [*items, {"belief": [1.0, 2.0], "id": "a"}, "nothing"]})
    assert answer.status == 200
    verdicts = answer.body["decisions"]
    assert [one["status"] for one in verdicts] == [201, 422, 422, 201, 409, 422]
    assert verdicts[0]["decision"] == verdicts[3]["decision"]
    assert len(api.state.lives["farm"].open) == 1
    again = api.post(DECISIONS, {"decisions": [{"belief": GAUSSIAN}] * 2}, headers={"Idempotency-Key": "k"})
    assert [one["id"] for one in again.body["decisions"]] == ["k.0", "k.1"]
    check_replay(api.engine.store, api.state)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "belief must be given"),
        ({"belief": {"type": "Nothing"}}, "type must be one of"),
        ({"belief": {"type": "Gaussian", "mean": [1.0], "cov": [1.0]}}, "dimension 2"),
        ({"belief": {"type": "Gaussian", "mean": [1.0, 1e999], "cov": [1.0, 1.0]}}, ""),
        ({"belief": GAUSSIAN, "available": ["nobody"]}, "available"),
        ({"belief": GAUSSIAN, "available": []}, "at least one"),
        ({"belief": GAUSSIAN, "costs": {"early": 1.0}}, "costs are not offered"),
        ({"belief": GAUSSIAN, "id": "a/b"}, "must match"),
        ({"belief": GAUSSIAN, "wrong": 1}, "wrong"),
        ({"decisions": []}, "1 to 1000"),
        ({"decisions": [{}], "id": "x"}, "without"),
        ({"belief": {"type": "Sampler"}}, ""),
    ],
)
def test_a_wrong_request_changes_nothing(api: Api, body: Any, word: str) -> None:
    api.decide()
    raw = b'{"belief": {"type": "Gaussian", "mean": [1, 1e999], "cov": [1, 1]}}' if "1e999" in str(body) else body
    with api.unchanged():
        answer = api.post(DECISIONS, raw)
        api.refused(answer, answer.status if 400 <= answer.status < 500 else 422, word)


def test_available_actions(api: Api) -> None:
    assert api.decide(available=["never"])["action"] == "never"


def test_the_record_explains_the_decision(api: Api) -> None:
    for reward in (1.0, 3.0):
        api.outcome(api.decide()["id"], reward=reward)
    belief = {"type": "Ensemble", "points": [[20.0, 1.0], [-10.0, 5.0]]}
    bandit = api.state.lives["farm"].bandit
    found, plugged = bandit.estimate(oc.belief_from_json(belief)), bandit.propose([5.0, 3.0], id="x").action
    made = api.decide(belief=belief, available=["early", "late"])
    seen = api.get(f"{DECISIONS}/{made['id']}").body
    assert (seen["status"], seen["position"], seen["plugged"]) == ("open", made["position"], plugged)
    assert seen["record"]["belief"] == belief
    assert [one["action"] for one in seen["options"]] == ["early", "late", "never"]
    assert [one["mean"] for one in seen["options"]] == pytest.approx(found.mean.tolist(), rel=1e-6)
    assert [one["width"] for one in seen["options"]] == pytest.approx(found.width.tolist(), rel=1e-6)
    assert seen["options"][2]["score"] is None
    assert max(one["score"] for one in seen["options"][:2]) == pytest.approx(made["score"], rel=1e-6)
    api.outcome(made["id"], reward=2.0)
    later = api.get(f"{DECISIONS}/{made['id']}").body
    assert later["status"] == "rewarded"
    assert later["options"] == seen["options"]
    assert [one["kind"] for one in later["events"]] == ["learn"]


def test_a_bandit_may_do_without_explanations(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        api.post("/v1/bandits", FARM | {"explain": False})
        seen = api.get(f"{DECISIONS}/{api.decide()['id']}").body
        assert (seen["options"], seen["plugged"]) == (None, None)


def test_a_cancelled_decision_does_not_count(api: Api) -> None:
    made = api.decide()
    path = f"{DECISIONS}/{made['id']}"
    assert api.ask("DELETE", path).status == 200
    with api.unchanged():
        assert api.ask("DELETE", path).status == 200
        api.refused(api.outcome(made["id"], reward=1.0), 409, "was cancelled")
        api.refused(api.ask("DELETE", f"{DECISIONS}/unknown"), 404, "'unknown'")
        api.refused(api.get(f"{DECISIONS}/unknown"), 404, "'unknown'")
    assert api.get(path).body["status"] == "cancelled"
    assert api.get("/v1/bandits/farm").body["cancelled"] == 1
    other = api.decide()
    api.outcome(other["id"], reward=1.0)
    api.refused(api.ask("DELETE", f"{DECISIONS}/{other['id']}"), 409, "must be open")


def test_features_of_too_many_dimensions_are_refused(tmp_path: Path) -> None:
    with served(tmp_path, limits=Limits(dimensions=5)) as api:
        api.post("/v1/bandits", FARM)
        with api.unchanged():
            api.refused(api.post(DECISIONS, {"belief": [1.0, 2.0, 3.0]}), 422, "at most, got 6")
            api.refused(api.post(DECISIONS, {"belief": [0.0] * 6}), 422, "5 dimensions at most, got 6")
        api.decide()


def test_ids_that_look_like_marks_of_the_library(api: Api) -> None:
    for i in range(3):
        assert api.decide(id=f"irrigation22-{i}")["id"] == f"irrigation22-{i}"
        assert api.outcome(f"irrigation22-{i}", reward=1.0).status == 200


def test_ids_that_cannot_be_are_unknown_on_postgres_too(postgres: str) -> None:
    api = Api(Settings(), open_store(postgres))
    try:
        api.post("/v1/bandits", FARM)
        for id_ in ("%00", "a%00b", "%20", "a" * 200):
            path = f"{DECISIONS}/{id_}"
            with api.unchanged():
                api.refused(api.get(path), 404, "must be one of the bandit")
                api.refused(api.ask("DELETE", path), 404, "must be one of the bandit")
                api.refused(api.outcome(id_, reward=1.0), 404, "must be one of the bandit")
        items = [{"id": "\0", "reward": 1.0}, {"reward": 1.0}]
        verdicts = api.post("/v1/bandits/farm/outcomes", {"outcomes": items}).body["outcomes"]
        assert [one["status"] for one in verdicts] == [404, 422]
        assert "`id`" in verdicts[1]["error"]["message"]
        assert api.get("/readyz").status == 200
        api.decide()
    finally:
        api.stop()


def test_a_key_of_a_batch_must_leave_room_for_numbers(api: Api) -> None:
    def batch(key: str, n: int) -> Answer:
        return api.post(DECISIONS, {"decisions": [{"belief": GAUSSIAN}] * n}, headers={"Idempotency-Key": key})

    with api.unchanged():
        api.refused(batch("k" * 128, 1), 422, "must match")
        api.refused(batch("k" * 126, 11), 422, "must match")
    assert batch("k" * 126, 10).body["decisions"][9]["id"] == "k" * 126 + ".9"
    raw = api.get("/v1/bandits/farm/log").body
    assert api.post("/v1/bandits/copy/log", raw, headers={"Content-Type": "application/x-ndjson"}).status == 201
