"""Decide whether and when to send a request again, for both clients."""

from __future__ import annotations

import random
import time
from collections.abc import Generator
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from overcast.client.messages import Request, ServiceError, read_error

#: statuses after which the same request may succeed later
LATER = frozenset({429, 502, 503, 504})
#: seconds before the second attempt, and the longest pause
FIRST, LONGEST = 0.1, 30.0
#: how often a request is sent again; the pauses sum to 12 to 25 seconds, longer than a start of the service
RETRIES = 8


class Answer(NamedTuple):
    """An answer; `data` is its body if that is JSON."""

    status: int
    data: Any
    text: str
    retry_after: str | None = None


class NoAnswer(NamedTuple):
    """The failure of a request without an answer.

    sent : whether the request may have reached the service
    """

    reason: str
    sent: bool


#: seconds to wait, or None to send the request
Step = float | None


def attempts(request: Request, url: str, retries: int) -> Generator[Step, Answer | NoAnswer | None, Any]:
    """Yield the next step of the caller; return the data of the answer, or raise `ServiceError`.

    After None, the caller sends the request, and passes the answer to `send`. After a number, it waits that many
    seconds. A request that the service may have received is sent again only if it is repeatable.

    Examples
    --------
    >>> plan = attempts(Request("GET", "/v1/bandits"), "http://127.0.0.1", retries=2)
    >>> next(plan)
    >>> plan.send(Answer(503, None, "", "2"))
    2.0
    >>> next(plan)
    """
    for remaining in range(retries, -1, -1):
        answer = yield None
        assert answer is not None
        if isinstance(answer, Answer) and answer.status < 300:
            return answer.data
        error, wait = _error_and_pause(answer, url)
        safe = request.repeatable or (not answer.sent if isinstance(answer, NoAnswer) else answer.status == 429)
        pause = max(wait, FIRST * 2.0 ** (retries - remaining) * random.uniform(0.5, 1.0))
        if not remaining or not safe or pause > LONGEST or (isinstance(answer, Answer) and answer.status not in LATER):
            raise error
        yield pause
    raise AssertionError  # the last attempt returns or raises


def _error_and_pause(answer: Answer | NoAnswer, url: str) -> tuple[ServiceError, float]:
    """Return the error that the failure amounts to, and the seconds that the service asks to wait."""
    if isinstance(answer, NoAnswer):
        return ServiceError(None, "no_answer", f"{url} gave none: {answer.reason}"), 0.0
    return read_error(answer.status, answer.data, answer.text), seconds(answer.retry_after, time.time())


def seconds(retry_after: str | None, now: float) -> float:
    """Convert the header `Retry-After`, a number or a date, to seconds; 0 if it is missing or invalid.

    Examples
    --------
    >>> seconds("2", 0.0), seconds("Thu, 01 Jan 1970 00:00:30 GMT", 10.0), seconds("soon", 0.0)
    (2.0, 20.0, 0.0)
    """
    if retry_after is None:
        return 0.0
    if retry_after.strip().isdigit():
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - now)
    except ValueError:
        return 0.0
