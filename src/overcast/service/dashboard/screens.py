"""The table of all screens, and their routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from overcast.service.dashboard.pages import ask, bandit, bandits, decision, files, keys, new, sign_in
from overcast.service.dashboard.web import Handler, Screen, Site
from overcast.service.http import Operation, Service

PAGE = "/bandits/{name}"
DECISION = f"{PAGE}/decisions/{{id}}"
#: method, path, handler, and whether it is for people who have not signed in
SCREENS: list[tuple[str, str, Handler, bool]] = [
    ("GET", "/", bandits.show, False),
    ("GET", "/live", bandits.show_news, False),
    ("GET", "/sign-in", sign_in.show, True),
    ("POST", "/sign-in", sign_in.sign_in, True),
    ("POST", "/sign-out", sign_in.sign_out, False),
    ("GET", "/new", new.show, False),
    ("POST", "/new", new.create, False),
    ("GET", "/keys", keys.show, False),
    ("POST", "/keys", keys.make_key, False),
    ("POST", "/keys/{id}/revoke", keys.revoke_key, False),
    ("GET", PAGE, bandit.show, False),
    ("GET", f"{PAGE}/live", bandit.show_news, False),
    ("GET", f"{PAGE}/export", bandit.export, False),
    ("GET", f"{PAGE}/ask", ask.show, False),
    ("POST", f"{PAGE}/ask", ask.decide, False),
    ("GET", DECISION, decision.show, False),
    ("POST", f"{DECISION}/outcome", decision.give_outcome, False),
    ("POST", f"{DECISION}/cancel", decision.cancel, False),
]


class _Methods:
    """All methods of one page."""

    def __init__(self, screens: Mapping[str, Screen]) -> None:
        self._screens = screens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        await self._screens[method](scope, receive, send)


def routes(service: Service, operations: Sequence[Operation]) -> list[Route]:
    """Return the routes of the dashboard, which sees and does things by the operations of the API."""
    site = Site(service, {one.name: one for one in operations})
    paths: dict[str, dict[str, Screen]] = {}
    for method, path, handler, public in SCREENS:
        paths.setdefault(path, {})[method] = Screen(site, method, path, handler, public)
    out = [Route(path, _Methods(screens), methods=list(screens)) for path, screens in paths.items()]
    return [*out, Route("/static/{file}", _Static(), methods=["GET"])]


class _Static:
    """Static files; a class, since Starlette calls functions with a request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await files.send_file(scope, receive, send)
