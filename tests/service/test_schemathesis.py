"""Requests made up from the OpenAPI description: no answer is a mistake of ours, and every answer is as declared.

`SCHEMATHESIS_EXAMPLES` sets the number of requests for each operation; `make soak` runs many.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks
from schemathesis.core.result import Ok

from overcast.service import Limits
from overcast.service.app import OPERATIONS
from overcast.service.fold import folded
from overcast.service.openapi import document
from service_support import FARM, Api, remembered, served

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "12"))


checks.load_all_checks()
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.unsupported_method,
]


class Listening:
    """A service on a port, with a bandit that has decided."""

    def __init__(self, api: Api, url: str) -> None:
        self.api, self.url = api, url


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    with served(
        tmp_path_factory.mktemp("schemathesis"), limits=Limits(actions=500, dimensions=50), log_requests=False
    ) as api:
        api.post("/v1/bandits", FARM)
        for i in range(3):
            api.decide(id=f"d{i}")
        server = uvicorn.Server(uvicorn.Config(api.app, port=0, lifespan="off", log_config=None))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield Listening(api, f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}")
        server.should_exit = True
        thread.join()


SCHEMA = schemathesis.openapi.from_dict(msgspec.json.decode(msgspec.json.encode(document(OPERATIONS))))


@schemathesis.serializer("application/toml", "application/x-ndjson", "application/vnd.apache.parquet")
def as_json(context: Any, value: Any) -> bytes:
    """Return whatever was made up as JSON, which is a wrong file of its kind, or one line of a log."""
    return json.dumps(value, default=str).encode()


@SCHEMA.hook
def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    """Let every other request be about things that exist, but for those that would end them."""
    ends = context.operation.label == "DELETE /v1/bandits/{name}"
    if path_parameters and not ends and len(str(path_parameters.get("name", ""))) % 2:
        known = {"name": "farm", "id": "d1", "action": "late"}
        return {name: known.get(name, value) for name, value in path_parameters.items()}
    return path_parameters


@pytest.mark.parametrize(
    "operation",
    [found.ok() for found in SCHEMA.get_all_operations() if isinstance(found, Ok)],
    ids=lambda one: one.label,
)
def test_every_answer_is_as_declared(listening: Listening, operation: Any) -> None:
    seen = set()

    @seed(0)
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=st.one_of([operation.as_strategy(generation_mode=mode) for mode in GenerationMode]))
    def run(case: Any) -> None:
        answer = case.call(base_url=listening.url, headers={"Authorization": f"Bearer {listening.api.key}"}, timeout=20)
        case.validate_response(answer, checks=CHECKS)
        seen.add(answer.status_code)

    run()
    assert seen, "no request was made up"
    assert remembered(folded(listening.api.engine.store.read())) == remembered(listening.api.state)
