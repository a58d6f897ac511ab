"""Deciding by hand."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from overcast.service import answers as a
from overcast.service.dashboard import forms
from overcast.service.dashboard.views import label
from overcast.service.dashboard.web import Visit
from overcast.service.dashboard.window import latest
from overcast.service.errors import LIBRARY, Refusal
from overcast.service.routes.bandits import BANDIT
from overcast.service.routes.decisions import MANY

#: actions that the form offers one by one
OFFERED = 40


async def show(visit: Visit) -> Response:
    return await _page(visit)


async def _page(visit: Visit, status: int = 200, error: str | None = None) -> Response:
    info: a.BanditInfo = await visit.perform(f"GET {BANDIT}", name=visit.bandit)
    given = {name: forms.text(visit.form, name) for name in ("mean", "sd", "belief")}
    if not visit.form:
        given |= await asyncio.to_thread(_usual, visit, info)
    names = [label(one.name) for one in info.action_list if one.active]
    taken = visit.form.get("available", names)
    return visit.page(
        "ask.html", status, error=error, info=info, given=given, names=names, taken=taken, offered=OFFERED
    )


def _usual(visit: Visit, info: a.BanditInfo) -> dict[str, str]:
    """Return the last belief, to start from."""
    window = latest(visit.site.service.engine.store, info.name, info.position, 20)
    if not window.decisions:
        return {}
    belief = window.decisions[-1].belief
    try:
        mean, sd = belief.mean(), belief.variance() ** 0.5
    except LIBRARY:
        return {}
    return {"mean": ", ".join(f"{one:.4g}" for one in mean), "sd": ", ".join(f"{one:.4g}" for one in sd)}


async def decide(visit: Visit) -> Response:
    try:
        body: dict[str, Any] = {"belief": forms.belief(visit.form)}
        if "some" in visit.form:
            info: a.BanditInfo = await visit.perform(f"GET {BANDIT}", name=visit.bandit)
            taken = visit.form.get("available", [])
            body["available"] = [one.name for one in info.action_list if one.active and label(one.name) in taken]
        decided: a.Decided = await visit.perform(f"POST {MANY}", body, name=visit.bandit)
    except Refusal as refusal:
        if refusal.status not in (409, 422):
            raise
        return await _page(visit, refusal.status, refusal.message)
    return visit.to(f"/bandits/{visit.bandit}/decisions/{decided.id}")
