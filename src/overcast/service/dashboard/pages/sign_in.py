"""Signing in and out."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from overcast.service.dashboard import forms
from overcast.service.dashboard.web import Visit, valid_key


async def show(visit: Visit) -> Response:
    if visit.key is not None:
        return visit.to("/")
    response = visit.page("sign_in.html", error=None, next=_next(visit.query))
    response.headers["set-cookie"] = visit.cookie()
    return response


async def sign_in(visit: Visit) -> Response:
    key = valid_key(visit.site, forms.text(visit.form, "key"), visit.now)
    if key is None or not key.may("read"):
        wrong = "This key is not valid." if key is None else "This key lacks the scope read, which the dashboard needs."
        return visit.page("sign_in.html", 401 if key is None else 403, error=wrong, next=_next(visit.form))
    return await visit.starting(visit.to(_next(visit.form)), key.id)


async def sign_out(visit: Visit) -> Response:
    return await visit.ending(visit.to("/sign-in"))


def _next(given: Mapping[str, list[str]]) -> str:
    """Return where to go after signing in: a page of this dashboard, whatever was asked for."""
    wanted = given.get("next", ["/"])[0]
    return wanted if wanted.startswith("/bandits/") and "\\" not in wanted and "//" not in wanted else "/"
