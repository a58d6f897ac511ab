"""When requests are sent again."""

from __future__ import annotations

import inspect
import json
import random
from pathlib import Path
from typing import Any

import pytest

from overcast.client import AsyncClient, Client, ServiceError
from overcast.client.messages import Request
from overcast.client.retries import LONGEST, Answer, NoAnswer, attempts, seconds

SAFE, UNSAFE = Request("POST", "/x", {"id": "a"}), Request("POST", "/x", {}, repeatable=False)
FINE = Answer(200, {"fine": True}, "")


def run(ask: Request, answers: list[Answer | NoAnswer], retries: int = 3) -> tuple[Any, list[float]]:
    """Return what the last answer holds, and the pauses before it."""
    plan, pauses, left = attempts(ask, "http://x", retries), [], iter(answers)
    step = next(plan)
    try:
        while True:
            if step is None:
                step = plan.send(next(left))
            else:
                pauses.append(step)
                step = next(plan)
    except StopIteration as end:
        assert next(left, None) is None
        return end.value, pauses


def test_pauses_grow() -> None:
    data, pauses = run(
        SAFE, [NoAnswer("ReadTimeout", True), Answer(503, None, ""), NoAnswer("ConnectError", False), FINE]
    )
    assert data == {"fine": True}
    for i, pause in enumerate(pauses):
        assert 0.05 * 2**i <= pause <= 0.1 * 2**i


def test_the_service_says_how_long_to_wait() -> None:
    _, pauses = run(SAFE, [Answer(429, None, "", "7"), FINE])
    assert pauses == [7.0]


def test_attempts_are_bounded() -> None:
    with pytest.raises(ServiceError, match=r"Client: no_answer: http://x gave none: ReadTimeout"):
        run(SAFE, [NoAnswer("ReadTimeout", True)] * 4)
    with pytest.raises(ServiceError, match="Client: 429 unknown") as caught:  # longer than anybody waits
        run(SAFE, [Answer(429, None, "", str(int(LONGEST) + 1))])
    assert caught.value.status == 429


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500, 302])
def test_what_cannot_help_is_not_tried(status: int) -> None:
    with pytest.raises(ServiceError) as caught:
        run(SAFE, [Answer(status, {"error": {"code": "c", "message": "m"}}, "")])
    assert (caught.value.status, caught.value.code) == (status, "c")


def test_what_may_count_twice_is_sent_again_only_if_it_surely_did_not_count() -> None:
    assert run(UNSAFE, [NoAnswer("ConnectError", False), Answer(429, None, "", "0"), FINE])[0] == {"fine": True}
    for lost in (NoAnswer("ReadTimeout", True), Answer(503, None, ""), Answer(502, None, "")):
        with pytest.raises(ServiceError):
            run(UNSAFE, [lost])


def test_by_default_a_client_waits_for_longer_than_a_start_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda low, high: low)  # pauses are never shorter
    soak = json.loads((Path(__file__).parents[2] / "benchmarks" / "soak.json").read_text())
    start = max(value for name, value in soak["start"].items() if name.endswith("seconds_from_snapshot"))
    for kind in (Client, AsyncClient):
        retries = inspect.signature(kind).parameters["retries"].default
        _, pauses = run(SAFE, [*[NoAnswer("ConnectError", False)] * retries, FINE], retries)
        assert sum(pauses) > 10.0 * start
        assert max(pauses) < LONGEST / 2.0  # none is refused for its length, whatever is drawn


def test_dates() -> None:
    assert seconds("Thu, 01 Jan 1970 00:00:05 GMT", 9.0) == 0.0
    assert seconds(None, 0.0) == 0.0
