"""Creating a bandit."""

from __future__ import annotations

from starlette.responses import Response

from overcast.service import answers as a
from overcast.service.dashboard import forms
from overcast.service.dashboard.web import Visit
from overcast.service.errors import Refusal
from overcast.service.routes.bandits import BANDITS

#: what the form of a new bandit offers by name, with what it says; everything else can be written as JSON
FEATURES = {
    "Polynomial": "all monomials up to degree two",
    "Bilinear": "products of action and context, with a 1 in the context",
    "Quadratic": "squares of both, and products",
    "Disjoint": "each action on its own",
    "Linear": "action and context side by side",
}
POLICIES = {
    "UCB": "optimism: mean plus width",
    "Thompson": "a draw of the belief about rewards",
    "Greedy": "the best mean, no exploration",
}


async def show(visit: Visit) -> Response:
    return _page(visit)


def _page(visit: Visit, status: int = 200, error: str | None = None) -> Response:
    if not visit.may("admin"):
        raise Refusal(403, "key: must have the scope admin to create a bandit")
    given = {name: forms.text(visit.form, name) for name in visit.form}
    return visit.page("new.html", status, error=error, given=given, features=FEATURES, policies=POLICIES)


async def create(visit: Visit) -> Response:
    try:
        info: a.BanditInfo = await visit.perform(f"POST {BANDITS}", forms.bandit(visit.form))
    except Refusal as refusal:
        if refusal.status not in (409, 422):
            raise
        return _page(visit, refusal.status, refusal.message)
    return visit.to(f"/bandits/{info.name}")
