"""Whether the service lives, whether it is ready, and its metrics."""

from __future__ import annotations

import asyncio

from prometheus_client import CONTENT_TYPE_LATEST

from overcast.service import answers as a
from overcast.service.errors import Refusal
from overcast.service.http import Call, Operation, Reply
from overcast.service.routes.keys import check_whole


async def get_health(call: Call) -> Reply:
    return Reply(200, a.Health("alive"))


async def get_readiness(call: Call) -> Reply:
    state = call.service.engine.state
    if state is None or not call.service.engine.ready:
        raise Refusal(503, "service: is not ready, its log is being read or cannot be", headers={"Retry-After": "1"})
    return Reply(200, a.Health("ready", state.position))


async def get_metrics(call: Call) -> Reply:
    check_whole(call)
    await call.ask(lambda turn: None, writes=False)  # reads what others have written, keys that they revoked included
    text = await asyncio.to_thread(call.service.metrics.text)  # it may read the log, for forecasts
    return Reply(200, content=text, kind=CONTENT_TYPE_LATEST.encode())


OPERATIONS = [
    Operation("GET", "/healthz", get_health, "Whether the process lives", None, {200: a.Health}),
    Operation("GET", "/readyz", get_readiness, "Whether the log has been folded", None, {200: a.Health}, None, (503,)),
    Operation("GET", "/metrics", get_metrics, "Metrics for Prometheus", "read", {200: None}),
]
