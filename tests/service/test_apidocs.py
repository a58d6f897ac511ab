"""The description as a page."""

from __future__ import annotations

import re

from overcast.service.apidocs import page
from service_support import Api


def test_the_page_shows_everything(api: Api) -> None:
    answer = api.get("/docs", key="")
    assert answer.headers["content-type"].startswith("text/html")
    described = api.get("/openapi.json", key="").body
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            assert f"<code>{method.upper()} {path}</code>" in answer.body
            assert one["summary"] in answer.body
    for name in described["components"]["schemas"]:
        assert f'id="type-{name}"' in answer.body
    for word in ("Idempotency-Key", "application/toml", "list of number, or null", "too_many_requests"):
        assert word in answer.body


def test_it_asks_no_other_host_and_runs_nothing(api: Api) -> None:
    body = api.get("/docs", key="").body
    assert "<script" not in body
    assert "style=" not in body  # which the content security policy forbids
    assert not re.search(r"https?:", body)
    for link in re.findall(r'(?:href|src)="(/[^"]*)"', body):
        assert api.get(link, key="").status in (200, 303), link
    targets = set(re.findall(r'href="#([^"]+)"', body))
    assert targets <= set(re.findall(r'id="([^"]+)"', body))


def test_names_are_text() -> None:
    odd = {"info": {"version": "<b>"}, "paths": {"/<i>": {"get": {"summary": "<u>", "responses": {}}}}}
    assert not re.search(rb"<[biu]>", page(odd))
