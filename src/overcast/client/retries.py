"""When to ask again, and after how long; the same for callers that wait and callers that do not."""

from __future__ import annotations

import random
import time
from collections.abc import Generator
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from overcast.client.messages import Ask, ServiceError, refusal

#: statuses after which the same request may succeed later
LATER = frozenset({429, 502, 503, 504})
#: seconds before the second attempt, and at most before any
FIRST, LONGEST = 0.1, 30.0
#: how often a request is sent again; the pauses between come to 12 to 25 seconds, and a start takes fewer
RETRIES = 8


class Answer(NamedTuple):
    """An answer: its body as data if it is JSON, and as text."""

    status: int
    data: Any
    text: str
    retry_after: str | None = None


class Lost(NamedTuple):
    """There was no answer.

    sent : whether the request may have reached the service
    """

    reason: str
    sent: bool


#: seconds to wait, or None to send the request
Step = float | None


def attempts(ask: Ask, url: str, retries: int) -> Generator[Step, Answer | Lost | None, Any]:
    """Yield what to do next, and return the data of the answer; raise `ServiceError` if there is none.

    After None, the caller sends the request, and sends in here what came of it. After a number, it waits so many
    seconds. A request that the service may have taken in is sent again only if it counts once.

    Examples
    --------
    >>> plan = attempts(Ask("GET", "/v1/bandits"), "http://127.0.0.1", retries=2)
    >>> next(plan)
    >>> plan.send(Answer(503, None, "", "2"))
    2.0
    >>> next(plan)
    """
    for left in range(retries, -1, -1):
        got = yield None
        assert got is not None
        if isinstance(got, Answer) and got.status < 300:
            return got.data
        error, wait = _judged(got, url)
        safe = ask.again or (not got.sent if isinstance(got, Lost) else got.status == 429)
        pause = max(wait, FIRST * 2.0 ** (retries - left) * random.uniform(0.5, 1.0))
        if not left or not safe or pause > LONGEST or (isinstance(got, Answer) and got.status not in LATER):
            raise error
        yield pause
    raise AssertionError  # the last attempt returns or raises


def _judged(got: Answer | Lost, url: str) -> tuple[ServiceError, float]:
    if isinstance(got, Lost):
        return ServiceError(None, "no_answer", f"{url} gave none: {got.reason}"), 0.0
    return refusal(got.status, got.data, got.text), seconds(got.retry_after, time.time())


def seconds(retry_after: str | None, now: float) -> float:
    """Return how long an answer says to wait: a number of seconds, or a date; 0 if it does not say.

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
