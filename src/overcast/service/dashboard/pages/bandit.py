"""One bandit: its charts, and the export of its log."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from overcast.service import answers as a
from overcast.service.dashboard import forms, views
from overcast.service.dashboard.charts import Option
from overcast.service.dashboard.views import label
from overcast.service.dashboard.web import Visit
from overcast.service.dashboard.window import Window, latest
from overcast.service.engine import Turn
from overcast.service.fold import Life
from overcast.service.http import Reply, stream
from overcast.service.routes.bandits import BANDIT, labels
from overcast.service.routes.shadow import shadow_info

#: pages of bandits whose charts are kept, seconds for which they serve everybody who looks on, and for which they do so
#: if nothing has happened
KEPT, FRESH, STALE = 32, 1.5, 60.0


async def show(visit: Visit) -> Response:
    return visit.page("bandit.html", **await _shown(visit))


async def show_news(visit: Visit) -> Response:
    info: a.BanditInfo = await visit.perform(f"GET {BANDIT}", name=visit.bandit)
    if forms.text(visit.query, "at") == str(info.position):
        return Response(status_code=204)
    return visit.page("_bandit.html", **await _shown(visit, FRESH))


async def _shown(visit: Visit, age: float = 0.0) -> dict[str, Any]:
    """Return the content of the page of a bandit; for `age` seconds, visitors share it."""
    info: a.BanditInfo = await visit.perform(f"GET {BANDIT}", name=visit.bandit)
    dim = forms.text(visit.query, "dim")
    place = info.name, int(dim) if dim.isdecimal() and len(dim) < 6 else 0
    known = visit.site.shown.get(place)
    if known is not None:
        stands = await asyncio.to_thread(known[1]["window"].stands, visit.site.service.engine.store, info.name)
        known = known if stands else None
    if known is None or visit.now - known[0] >= (age if known[1]["info"].position != info.position else STALE):
        known = visit.now, await _drawn(visit, info, place[1])
    visit.site.shown.pop(place, None)
    visit.site.shown[place] = known  # the one that was asked for last is the last to go
    while len(visit.site.shown) > KEPT:
        visit.site.shown.pop(next(iter(visit.site.shown)))
    return known[1]


async def _drawn(visit: Visit, info: a.BanditInfo, dim: int) -> dict[str, Any]:
    engine = visit.site.service.engine
    window = await asyncio.to_thread(latest, engine.store, info.name, info.position)

    def work(turn: Turn) -> tuple[list[Option], list[tuple[str, float]], int, a.ShadowInfo | None]:
        life = turn.life(info.name)
        beside = None if life.shadow is None else shadow_info(life)
        return _options(life, window), _pending(life), turn.state.position, beside

    options, pending, position, beside = await visit.ask(work)
    picture = await asyncio.to_thread(views.picture, window, options, dim)
    shown = {"info": info, "picture": picture, "pending": pending, "window": window, "beside": beside}
    return shown | {"position": position, "age": engine.age}


def _options(life: Life, window: Window) -> list[Option]:
    """Return the present estimates of all actions under the last belief."""
    if not window.decisions:
        return []
    last = window.decisions[-1]
    found, active = life.bandit.estimate(last.belief), life.bandit.actions.active
    rows = zip(labels(life), found.mean.tolist(), found.width.tolist(), active.tolist(), strict=True)
    return [
        Option(label(name), mean, width, i == last.record.index) for i, (name, mean, width, on) in enumerate(rows) if on
    ]


def _pending(life: Life) -> list[tuple[str, float]]:
    """Return the decisions that have waited longest for their outcome, with the time they were made."""
    return [(id_, one.time) for id_, one in islice(life.oldest_first().items(), views.TABLE)]


class Streamed(Response):
    """An answer of the API that comes in parts."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(None, reply.status, dict(reply.headers), reply.kind.decode())
        del self.headers["content-length"]
        self._reply = reply

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._reply.stream is not None
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await stream(receive, send, self._reply.stream)
        await send({"type": "http.response.body", "body": b""})


async def export(visit: Visit) -> Response:
    kind = forms.text(visit.query, "format") or "jsonl"
    reply = await visit.answer(f"GET {BANDIT}/log", {"name": visit.bandit}, query={"format": kind})
    return Streamed(reply)
