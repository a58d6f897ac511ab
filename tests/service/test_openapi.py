"""The description of the service."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from overcast.service.app import OPERATIONS
from overcast.service.openapi import document, page
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


def test_the_page_is_html_without_scripts(api: Api) -> None:
    answer = api.get("/docs", key="")
    assert answer.headers["content-type"].startswith("text/html")
    assert "/v1/bandits/{name}/decisions" in answer.body
    assert "<script" not in answer.body
    assert "http" not in answer.body.replace("http-equiv", "")
    odd = {"info": {"version": "<b>"}, "paths": {"/<i>": {"get": {"summary": "<u>"}}}}
    assert not re.search(rb"<[biu]>", page(odd))
