"""The page about the API says what the service does."""

from __future__ import annotations

import json
import re
from pathlib import Path

from overcast.service.app import OPERATIONS
from overcast.service.errors import CODES
from service_support import served

PAGE = (Path(__file__).parents[2] / "docs" / "service" / "api.md").read_text(encoding="utf-8")


def _rows(head: str) -> list[list[str]]:
    """Return the cells of the table that begins with a head."""
    table = PAGE.split(f"{head}\n|---", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]


def test_every_operation_is_listed() -> None:
    expected = [
        [f"`{one.method} {one.path.replace(':path', '')}`", one.scope or "none", one.summary] for one in OPERATIONS
    ]
    assert _rows("| operation | scope | what it does |") == expected


def test_every_error_is_listed() -> None:
    found = {int(status): code for status, code, _ in _rows("| status | code | when |")}
    assert found == CODES


def test_the_requests_work_and_every_metric_is_listed(tmp_path: Path) -> None:
    requests = re.findall(r"^```http\n(\w+) (\S+) HTTP/1.1\n\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(requests) == PAGE.count("```http") >= 10
    with served(tmp_path) as api:
        for method, path, body in requests:
            answer = api.ask(method, path, json.loads(body))
            assert answer.status in (200, 201), (method, path, answer.body)
            verdicts = next((answer.body[name] for name in ("decisions", "outcomes") if name in answer.body), None)
            for one in verdicts if isinstance(verdicts, list) else []:
                assert one["status"] in (200, 201), one
        life = api.state.lives["irrigation"]
        assert (life.counts.decisions, life.counts.outcomes) == (3, 3)
        assert api.get("/v1/bandits/irrigation/decisions/monday").body["status"] == "rewarded"
        text = api.get("/metrics").body
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)", text, re.MULTILINE))
    shown = {name for name in kinds if not name.endswith("_created")}
    assert {cells[0].strip("`") for cells in _rows("| metric | meaning |")} == shown
    assert {name for name in shown if kinds[name] == "counter"} == {name for name in shown if name.endswith("_total")}
    assert {name for name in shown if name.endswith("_total")} > {"overcast_bandit_decisions_total"}
    for page in (Path(__file__).parents[2] / "docs").rglob("*.md"):
        told = set(re.findall(r"`(overcast_\w+)`", page.read_text(encoding="utf-8")))
        assert told <= shown, (page, told - shown)
