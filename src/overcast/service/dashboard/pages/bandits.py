"""The list of all bandits."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from overcast.service import answers as a
from overcast.service.dashboard import charts, forms
from overcast.service.dashboard.web import Visit
from overcast.service.dashboard.window import Window, latest
from overcast.service.routes.bandits import BANDITS

#: rows of each bandit, and of the log, that sparklines are drawn from
SPARK_ROWS, SPARK_SPAN = 200, 5000
#: bandits that the list draws sparklines for
SPARKS = 50


async def show(visit: Visit) -> Response:
    return visit.page("bandits.html", **await _listed(visit))


async def show_news(visit: Visit) -> Response:
    values = await _listed(visit)
    if forms.text(visit.query, "at") == str(values["position"]):
        return Response(status_code=204)
    return visit.page("_bandits.html", **values)


async def _listed(visit: Visit) -> dict[str, Any]:
    found: list[a.BanditShort] = (await visit.perform(f"GET {BANDITS}")).bandits
    found = sorted(found, key=lambda one: (one.retired, one.name))
    store = visit.site.service.engine.store

    def drawn() -> list[Any]:
        windows = (latest(store, one.name, one.position, SPARK_ROWS, SPARK_SPAN) for one in found[:SPARKS])
        return [(charts.sparkline(window), _mean(window)) for window in windows]

    sparks = await asyncio.to_thread(drawn)
    rows = [(one, *(sparks[i] if i < len(sparks) else (None, None))) for i, one in enumerate(found)]
    return {"rows": rows, "position": max((one.position for one in found), default=0)}


def _mean(window: Window) -> float | None:
    values = [reward for _, reward, _ in window.rewards]
    last = values[-charts.length(len(values)) :]
    return sum(last) / len(last) if last else None
