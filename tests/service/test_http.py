"""From a request to an answer."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overcast.service import Limits
from overcast.service.http import Call, Endpoint, Operation, Reply, depth, digest
from service_support import FARM, GAUSSIAN, Api, served

DECISIONS = "/v1/bandits/farm/decisions"


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"nonsense", 400),
        (b"\xff\xfe", 400),
        (b'{"belief": ["\xff"]}', 400),
        (b'{"belief": "\\ud800"}', 400),
        (b'{"belief": [NaN]}', 400),
        (b'{"belief": [Infinity]}', 400),
        (b"[" * 1000 + b"]" * 1000, 400),
        (b'{"belief": ' + b"[" * 1000 + b"1" + b"]" * 1000 + b"}", 400),
        (b'{"belief": ' + b'{"type": "Mixture", "beliefs": [' * 100 + b"]}" * 100 + b"}", 400),
        (b"[" * 100_000, 400),
        (b"null", 422),
        (b"[]", 422),
        (b'{"belief": null}', 422),
        (b'{"belief": {"type": "Gaussian", "mean": [1e308, 1e308], "cov": [1e308, 1]}}', 422),
        (b'{"belief": {"type": "Gaussian", "mean": [' + b"1," * 5000 + b'1], "cov": 1}}', 422),
        (b'{"belief": {"type": "Gaussian", "mean": [1, "x"], "cov": [1, 1]}}', 422),
        (b'{"belief": {"type": "Gaussian", "mean": [[[1]]], "cov": {}}}', 422),
        (b'{"belief": {"type": "Ensemble", "points": [[1, 2], [3]]}}', 422),
        (b'{"belief": {"type": "Gaussian", "mean": [1' + b"0" * 400 + b', 1], "cov": [1, 1]}}', 422),
    ],
    ids=range(21),
)
def test_hostile_bodies(api: Api, raw: bytes, status: int) -> None:
    api.decide()
    with api.unchanged():
        answer = api.post(DECISIONS, raw)
        assert answer.status in ({400, 422} if status == 422 else {400})
        api.refused(answer, answer.status, "")


@pytest.mark.parametrize(
    "belief",
    [
        b"[NaN, 1]",
        b"[1e999, 1]",
        b"[1e308, -1e308, 5]",
        b'["1", "2"]',
        b"[[1], [2, 3]]",
        b"[[[1, 2]]]",
        b"[[]]",
        b"{}",
        b"{" + b'"a": {' * 1000 + b"}" * 1001,
        b"[" * 1000 + b"1" + b"]" * 1000,
        b'{"warm": "hot", "wet": []}',
        b'{"type": "Gaussian", "mean": [1, 2], "cov": [[1, 5], [5, 1]]}',
        b'{"type": "Gaussian", "mean": [1, 2], "cov": [-1, 1]}',
        b'{"type": "Gaussian", "mean": [1, 2], "cov": [1, 1], "names": ["a", "a"]}',
        b'{"type": "Ensemble", "points": [[1, 2]], "weights": [-1]}',
        b'{"type": "Quantiles", "levels": [0.9, 0.1], "values": [[1, 2], [2, 3]]}',
        b'{"type": "Mixture", "beliefs": [], "weights": []}',
        b'{"type": "Mixture", "beliefs": [3]}',
        b'{"type": "Frozen", "distribution": "__class__", "args": []}',
        b'{"type": "Frozen", "distribution": "norm", "args": ["x"]}',
        b'{"type": "Sampler", "draw": "os.system", "dim": 2}',
        b'{"type": "os.system"}',
        b'{"type": null}',
        b'"\xff\xfe"',
        b'{"\xc3\x28": 1}',
        b"true",
    ],
    ids=range(26),
)
def test_hostile_beliefs_everywhere(api: Api, belief: bytes) -> None:
    """To decide, alone and in a batch, to estimate, and as the context of an outcome, alone and in a batch."""
    id_ = api.decide(belief=GAUSSIAN | {"names": ["warm", "wet"]})["id"]
    with api.unchanged():
        for path, raw in (
            ("decisions", b'{"belief": %s}'),
            ("estimate", b'{"belief": %s}'),
            (f"decisions/{id_}/outcome", b'{"reward": 1.0, "context": %s}'),
        ):
            answer = api.post(f"/v1/bandits/farm/{path}", raw % belief)
            assert answer.status in (400, 422), (path, answer.body)
            api.refused(answer, answer.status, "")
        item = b'{"id": "%s", "reward": 1.0, "context": %s}' % (id_.encode(), belief)
        for path, raw in (
            ("decisions", b'{"decisions": [{"belief": %s}]}' % belief),
            ("outcomes", b'{"outcomes": [%s]}' % item),
        ):
            answer = api.post(f"/v1/bandits/farm/{path}", raw)
            if answer.status == 200:
                (verdict,) = answer.body[path]
                assert verdict["status"] == 422
                assert {"code", "message"} <= verdict["error"].keys()
            else:
                assert answer.status in (400, 422)


def test_large_bodies(api: Api) -> None:
    with api.unchanged():
        api.refused(api.post(DECISIONS, b'{"belief": [' + b"1," * 5_000_000 + b"1]}"), 413, "1000000 bytes at most")
        unsaid = api.post(DECISIONS, b" " * 2_000_000, headers={"content-length": "10"})
        api.refused(unsaid, 413, "at most")
        api.refused(api.post(DECISIONS, b"{}", headers={"content-length": "many"}), 413, "at most")


def test_other_media_types(api: Api) -> None:
    api.refused(api.post(DECISIONS, {"belief": GAUSSIAN}, headers={"Content-Type": "text/plain"}), 415, "json")
    answer = api.post(DECISIONS, {"belief": GAUSSIAN}, headers={"Content-Type": "application/json; charset=utf-8"})
    assert answer.status == 201


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["type", "mean", "cov", "x"]), inner),
    max_leaves=12,
)
BELIEFS = st.fixed_dictionaries(
    {"type": st.sampled_from(["Gaussian", "Ensemble", "Mixture", "Quantiles", "PointMass", "Independent", "Frozen"])},
    optional=dict.fromkeys(("mean", "cov", "points", "weights", "beliefs", "levels", "values", "distribution"), JSON),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(belief=BELIEFS | JSON)
def test_any_belief_is_decided_under_or_refused(api: Api, belief: Any) -> None:
    before = api.state.position
    answer = api.post(DECISIONS, {"belief": belief})
    assert answer.status in (201, 400, 422)
    assert api.state.position == before + (answer.status == 201)
    if answer.status != 201:
        api.refused(answer, answer.status, "")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/bandits/../keys",
        "/v1/bandits/%2e%2e/keys",
        "/v1//bandits",
        "/v1/bandits/",
        "/%00",
        "/v1/bandits/farm%00",
        "/v1/bandits/farm/decisions/..%2f..",
        "/etc/passwd",
        "//v1/bandits",
        "/v1/bandits/FARM",
    ],
)
def test_path_tricks(api: Api, path: str) -> None:
    with api.unchanged():
        api.refused(api.get(path), 404, "must be one")


def test_headers_of_every_answer(api: Api) -> None:
    for answer in (api.get("/healthz"), api.get("/nothing"), api.get("/v1/bandits"), api.post("/v1/bandits", {})):
        assert answer.headers["content-security-policy"] == "default-src 'self'"
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert api.get("/healthz", headers={"X-Request-Id": "mine-1"}).headers["x-request-id"] == "mine-1"
    assert len(api.get("/healthz", headers={"X-Request-Id": "no spaces"}).headers["x-request-id"]) == 32


def test_requests_are_lines_of_json_without_secrets(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "overcast.service"):
        made = api.decide(id="secret-id")
        key = api.new_key("read")
        api.get("/v1/bandits", key=f"{key[:-1]}!")
    assert made["id"] == "secret-id"
    lines = [json.loads(record.getMessage()) for record in caplog.records if record.name.endswith("requests")]
    assert [line["status"] for line in lines] == [201, 201, 401]
    assert lines[0]["route"] == "POST /v1/bandits/{name}/decisions"
    assert lines[0]["key"] == api.key.split("_")[1]
    assert all(secret.split("_", 2)[2][:20] not in caplog.text for secret in (key, api.key))


def test_a_mistake_of_ours_is_not_shown(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    async def fails(call: Call) -> Reply:
        raise KeyError("inner secret")

    service = api.app.state.service
    operation = Operation("GET", "/fails", fails, "Fails", None, {200: None})
    from starlette.routing import Route

    api.app.router.routes.append(Route("/fails", Endpoint(operation, service), methods=["GET"]))
    with caplog.at_level(logging.CRITICAL, "overcast.service"):
        answer = api.get("/fails")
    api.refused(answer, 500, "failed")
    assert "inner secret" not in str(answer)


@pytest.mark.parametrize(
    ("raw", "deep"), [(b"1", 0), (b"[]", 1), (b'{"a": [[1], 2]}', 3), (b'"[[["', 0), (b'["\\"[", []]', 2)]
)
def test_depth(raw: bytes, deep: int) -> None:
    assert depth(raw) == deep


def test_the_limit_of_depth(tmp_path: Path) -> None:
    with served(tmp_path, limits=Limits(depth=5)) as api:
        api.post("/v1/bandits", FARM)
        api.refused(api.post(DECISIONS, {"belief": [[[[[1.0]]]]]}), 400, "at most 5 deep")
        api.decide()


def test_digests_tell_bodies_apart() -> None:
    assert digest({"a": 1, "b": [1.0]}) == digest({"b": [1.0], "a": 1})
    assert len({digest(value) for value in (None, 1.0, [1.0], [2.0], {"a": None}, "1.0")}) == 6
