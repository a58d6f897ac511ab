"""Keys: making and revoking them."""

from __future__ import annotations

from starlette.responses import Response

from overcast.service import answers as a
from overcast.service.dashboard import forms
from overcast.service.dashboard.web import Visit
from overcast.service.errors import Refusal
from overcast.service.keys import SCOPES
from overcast.service.routes.keys import KEYS


async def show(visit: Visit) -> Response:
    return await _page(visit)


async def _page(visit: Visit, status: int = 200, error: str | None = None, new: a.KeyMade | None = None) -> Response:
    found: a.KeyList = await visit.perform(f"GET {KEYS}")
    return visit.page("keys.html", status, error=error, new=new, keys=found.keys, scopes=SCOPES, given=visit.form)


async def make_key(visit: Visit) -> Response:
    try:
        new = await visit.perform(f"POST {KEYS}", forms.key(visit.form, visit.now))
    except Refusal as refusal:
        if refusal.status != 422:
            raise
        return await _page(visit, refusal.status, refusal.message)
    return await _page(visit, 201, new=new)


async def revoke_key(visit: Visit) -> Response:
    try:
        await visit.perform(f"DELETE {KEYS}/{{id}}", id=visit.params["id"])
    except Refusal as refusal:
        if refusal.status != 409:
            raise
        return await _page(visit, refusal.status, refusal.message)
    return visit.to("/keys")
