"""One decision, its outcome, and its end."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from overcast.beliefs import belief_from_json
from overcast.service import answers as a
from overcast.service.dashboard import charts, forms, views
from overcast.service.dashboard.views import label
from overcast.service.dashboard.web import Visit
from overcast.service.errors import Refusal
from overcast.service.routes.decisions import ONE


async def show(visit: Visit) -> Response:
    return await _page(visit)


async def _page(visit: Visit, status: int = 200, error: str | None = None) -> Response:
    record: a.DecisionRecord = await visit.perform(f"GET {ONE}", name=visit.bandit, id=visit.params["id"])
    learnt = next((one.event for one in record.events if one.kind == "learn"), {})
    belief = belief_from_json(record.record["belief"])
    options = views.options_of(record)
    action = record.record["action"]
    return visit.page(
        "decision.html",
        status,
        error=error,
        given=visit.form,
        record=record,
        action=action if isinstance(action, str) else f"action {record.record['index']}",
        learnt=learnt,
        parts=[one.event for one in record.events if one.kind == "part"],
        belief=belief,
        dimensions=views.dimensions_of(belief, learnt.get("context")),
        options=sorted(options, key=lambda one: -one.mean)[:100],
        chart=charts.estimates(options),
        plugged=None if record.plugged is None else label(record.plugged),
        shadow=None if record.shadow is None else label(record.shadow),
        raw=msgspec.json.format(msgspec.json.encode(record.record), indent=2).decode(),
    )


async def give_outcome(visit: Visit) -> Response:
    try:
        body = forms.outcome(visit.form)
        await visit.perform(f"POST {ONE}/outcome", body, name=visit.bandit, id=visit.params["id"])
    except Refusal as refusal:
        if refusal.status not in (409, 422):
            raise
        return await _page(visit, refusal.status, refusal.message)
    return visit.to(visit.path.removesuffix("/outcome"))


async def cancel(visit: Visit) -> Response:
    await visit.perform(f"DELETE {ONE}", name=visit.bandit, id=visit.params["id"])
    return visit.to(visit.path.removesuffix("/cancel"))
