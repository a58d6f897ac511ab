"""Spans around requests."""

from __future__ import annotations

import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from overcast.service.tracing import Tracing
from service_support import FARM, GAUSSIAN, served


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    out, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(out))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return out


def test_every_request_has_a_span(exporter: InMemorySpanExporter, tmp_path_factory: pytest.TempPathFactory) -> None:
    with served(tmp_path_factory.mktemp("traced")) as api:
        api.post("/v1/bandits", FARM)
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        made = api.post("/v1/bandits/farm/decisions", {"belief": GAUSSIAN}, headers={"traceparent": parent})
        api.get(f"/v1/bandits/{api.key}")
        secret = api.key.split("_", 2)[2]
    one, two, three = exporter.get_finished_spans()
    assert [span.name for span in (one, two, three)] == [
        "POST /v1/bandits",
        "POST /v1/bandits/{name}/decisions",
        "GET /v1/bandits/{name}",
    ]
    assert two.attributes is not None
    assert dict(two.attributes) == {
        "http.request.method": "POST",
        "http.route": "/v1/bandits/{name}/decisions",
        "http.response.status_code": 201,
        "overcast.bandit": "farm",
        "overcast.request": made.headers["x-request-id"],
    }
    assert two.context is not None
    assert two.parent is not None
    assert f"{two.context.trace_id:032x}" == parent.split("-")[1]
    assert f"{two.parent.span_id:016x}" == parent.split("-")[2]
    assert two.kind is trace.SpanKind.SERVER
    assert all(secret not in span.to_json() for span in (one, two, three))


def test_mistakes_of_ours_are_errors(exporter: InMemorySpanExporter) -> None:
    for status in (500, 404):
        with Tracing().span("GET /x", {}) as told:
            told["http.response.status_code"] = status
    assert [span.status.status_code.name for span in exporter.get_finished_spans()] == ["ERROR", "UNSET"]


def test_without_the_library_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with Tracing().span("GET /x", {}) as told:
        told["http.response.status_code"] = 200


def test_nothing_happens_until_somebody_says_where_spans_go(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, tracing = trace.get_tracer_provider(), Tracing()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    with tracing.span("GET /x", {}) as told:
        assert told == {}
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    with tracing.span("GET /y", {}):
        pass
    assert [span.name for span in exporter.get_finished_spans()] == ["GET /y"]
