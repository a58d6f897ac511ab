"""The description of the service."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from overcast.service.app import OPERATIONS
from overcast.service.openapi import COMMON, LATER, document
from service_support import GAUSSIAN, Api


def test_every_operation_is_described(api: Api) -> None:
    described = api.get("/openapi.json", key="").body
    assert described["openapi"] == "3.1.0"
    found = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert found == {(one.method, re.sub(r":\w+}", "}", one.path)) for one in OPERATIONS}
    assert described == msgspec.json.decode(msgspec.json.encode(document(OPERATIONS)))


def test_every_reference_leads_somewhere(api: Api) -> None:
    described = api.get("/openapi.json", key="").body
    schemas = described["components"]["schemas"]

    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if "$ref" in value else set()
            return own.union(*map(references, value.values()))
        return set().union(*map(references, value)) if isinstance(value, list) else set()

    found = references(described)
    assert found <= {f"#/components/schemas/{name}" for name in schemas}
    assert "#/components/schemas/Failure" in found


def test_answers_have_statuses_that_are_declared(api: Api) -> None:
    paths = api.get("/openapi.json").body["paths"]
    declared = paths["/v1/bandits/{name}/decisions"]["post"]["responses"]
    bodies: list[Any] = [
        {"belief": GAUSSIAN},
        {"belief": [1]},
        {"decisions": [{}]},
        {"belief": [1.0, 2.0], "id": "x"},
        3,
    ]
    for body in bodies:
        assert str(api.post("/v1/bandits/farm/decisions", body).status) in declared


def test_every_parameter_and_error_is_described(api: Api) -> None:
    paths = api.get("/openapi.json").body["paths"]
    decide = paths["/v1/bandits/{name}/decisions"]["post"]
    assert {(one["name"], one["in"]) for one in decide["parameters"]} == {
        ("name", "path"),
        ("Idempotency-Key", "header"),
    }
    log = paths["/v1/bandits/{name}/log"]
    assert [one["name"] for one in log["get"]["parameters"]] == ["name", "format", "from", "to"]
    assert set(log["get"]["responses"]["200"]["content"]) == {"application/x-ndjson", "application/vnd.apache.parquet"}
    forms = {*log["get"]["responses"]["200"]["content"], "application/octet-stream"}
    assert set(log["post"]["requestBody"]["content"]) == forms
    assert set(paths["/v1/bandits"]["post"]["requestBody"]["content"]) == {"application/json", "application/toml"}
    for methods in paths.values():
        for one in methods.values():
            own = {int(status) for status in one["responses"]}
            assert 500 in own
            assert not one.get("security") or own >= set(COMMON)
            for status in own & set(LATER):
                assert "Retry-After" in one["responses"][str(status)]["headers"]
    assert "409" in decide["responses"]


def _parts(value: Any) -> list[dict[str, Any]]:
    """Return all objects in a description."""
    if isinstance(value, dict):
        return [value, *(part for one in value.values() for part in _parts(one))]
    return [part for one in value for part in _parts(one)] if isinstance(value, list) else []


def test_generators_of_clients_find_every_type() -> None:
    described = document(OPERATIONS)
    arrays = [part for part in _parts(described) if part.get("type") == "array"]
    assert arrays
    assert all("items" in part for part in arrays)
    contents = [media for part in _parts(described) for media in part.get("content", {}).values()]
    assert contents
    assert all(media.get("schema") for media in contents)


def test_operations_have_a_tag_and_a_short_id_of_their_own() -> None:
    described = document(OPERATIONS)
    operations = [one for methods in described["paths"].values() for one in methods.values()]
    ids = [one["operationId"] for one in operations]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)?", name) for name in ids), ids
    assert {"create_bandit", "decide", "report_outcome", "estimate", "import_log"} <= set(ids)
    tags = [tag["name"] for tag in described["tags"]]
    assert {tag for one in operations for tag in one["tags"]} == set(tags)
    assert all(len(one["tags"]) == 1 for one in operations)
    assert all(tag["description"] for tag in described["tags"])


def test_items_of_batches_are_described_as_they_are_read() -> None:
    schemas = document(OPERATIONS)["components"]["schemas"]
    one, many = schemas["OneOrMany"]["properties"], schemas["NewOutcomes"]["properties"]
    assert one["decisions"]["anyOf"][0]["items"] == {"$ref": "#/components/schemas/NewDecision"}
    assert many["outcomes"]["items"] == {"$ref": "#/components/schemas/NewOutcomeItem"}
    assert set(schemas["NewOutcomeItem"]["required"]) == {"id", "reward"}
    assert {"$ref": "#/components/schemas/Fault"} in schemas["Verdict"]["properties"]["error"]["anyOf"]
