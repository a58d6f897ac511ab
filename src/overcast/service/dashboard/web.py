"""From a browser's request to a page: the session, the token of a form, the handler, and errors as pages."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote

import jinja2
import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

import overcast
from overcast.service import keys
from overcast.service.dashboard import forms, svg
from overcast.service.dashboard.sessions import (
    Session,
    Sessions,
    cookie_values,
    is_token,
    new_session,
    set_cookie,
    token,
)
from overcast.service.engine import Turn, unknown
from overcast.service.errors import CODES, Refusal
from overcast.service.http import Call, Operation, Reply, Service, converted
from overcast.service.keys import Key
from overcast.service.messages import END
from overcast.service.store.base import Unavailable

T = TypeVar("T")
log = logging.getLogger("overcast.service")
_requests = logging.getLogger("overcast.service.requests")

#: headers of every page: nothing from elsewhere, and no place in the frame of another site
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}
#: bytes that a form may have, and one of somebody who has not signed in
LARGEST, PUBLIC = 1_000_000, 10_000


class Site:
    """The parts that all pages share.

    Parameters
    ----------
    service : what all handlers share
    operations : of the API, by which pages see and do things
    """

    def __init__(self, service: Service, operations: Mapping[str, Operation]) -> None:
        self.service, self.operations = service, operations
        self.sessions = Sessions(service.engine.store)
        #: when and what the page of a bandit showed last, by its name and the dimension of the context
        self.shown: dict[tuple[str, int], tuple[float, dict[str, Any]]] = {}
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("overcast.service.dashboard"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {"number": svg.number, "utc": utc, "ago": ago, "short": svg.short}

    def render(self, template: str, **values: Any) -> str:
        """Return a page as text."""
        return self._templates.get_template(template).render(version=overcast.__version__, **values)


@dataclass(frozen=True)
class Visit:
    """One request of a browser, as a handler sees it."""

    site: Site
    session: Session
    key: Key | None
    secure: bool
    now: float
    path: str
    origin: str
    params: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, list[str]] = field(default_factory=dict)
    form: forms.Form = field(default_factory=dict)

    @property
    def bandit(self) -> str:
        return self.params["name"]

    def may(self, scope: str) -> bool:
        return self.key is not None and self.key.may(scope)

    @property
    def whole(self) -> bool:
        """Whether the key may see and make keys."""
        return self.key is not None and self.key.may("admin") and self.key.whole

    async def perform(self, operation: str, body: Any = None, **params: str) -> Any:
        """Return the message that an operation of the API answers to this key, such as `GET /v1/bandits`."""
        return (await self.answer(operation, params, body)).message

    async def answer(
        self, operation: str, params: Mapping[str, str], body: Any = None, query: Mapping[str, str] | None = None
    ) -> Reply:
        """Return the answer of an operation of the API to this key."""
        one, key = self.site.operations[operation], self.key
        if key is None or (one.scope is not None and not key.may(one.scope)):
            had = "none" if key is None else ", ".join(key.scopes)
            raise Refusal(403, f"key: must have the scope {one.scope}, got one with {had}")
        if "name" in params and not key.sees(params["name"]):
            raise unknown(params["name"])
        given = None if one.body is None else converted(body, one.body)
        return await one.handler(self._call(params, given, query or {}))

    async def ask(self, work: Callable[[Turn], T]) -> T:
        """Run work that writes nothing, unless the key was revoked in the meantime, and return its answer."""
        return await self._call(self.params, None, {}).ask(work, writes=False)

    def _call(self, params: Mapping[str, str], body: Any, query: Mapping[str, str]) -> Call:
        return Call(self.site.service, self.key, params, {}, body, query)

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a page."""
        text = self.site.render(template, visit=self, token=token(self.session), **values)
        return Response(text, status, media_type="text/html")

    def to(self, path: str) -> Response:
        """Return the way to another page, after something was done."""
        return RedirectResponse(path, 303)

    def cookie(self) -> str:
        """Return the header that keeps this session, so that the form of a page can be checked."""
        return set_cookie(self.session.values[0], self.secure)

    async def starting(self, response: Response, key: str) -> Response:
        """Begin a new session, whatever the browser had sent, and return a response that sets its cookie."""
        session = await asyncio.to_thread(self.site.sessions.begin, key, self.now)
        response.headers["set-cookie"] = set_cookie(session.values[0], self.secure)
        return response

    async def ending(self, response: Response) -> Response:
        """End the session, and return a response that takes its cookie away."""
        await asyncio.to_thread(self.site.sessions.end, self.session)
        response.headers["set-cookie"] = set_cookie("", self.secure, 0.0)
        return response


Handler = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True)
class Screen:
    """One method of one page, as an ASGI application.

    public : whether it is for people who have not signed in
    """

    site: Site
    method: str
    path: str
    handler: Handler
    public: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()
        request = Request(scope, receive)
        visit = self._visit(request)
        try:
            visit = await self._signed_in(visit, request)
            visit, response = await self._answer(visit, request)
        except Refusal as refusal:
            response = _refused(visit, refusal)
        except Unavailable:
            response = _refused(visit, Refusal(503, "service: the log cannot be read now; try again in a moment"))
        except Exception:
            log.exception("page %s failed", self.path)
            response = _refused(visit, Refusal(500, "service: failed; its log says why"))
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)
        self._note(visit, response.status_code, time.perf_counter() - begun)

    def _visit(self, request: Request) -> Visit:
        """Return the visit of somebody who has not signed in."""
        secure = request.scope.get("scheme") == "https"
        values = _cookies(request, secure)
        session = Session(values) if values else new_session()
        query = parse_qs(request.scope["query_string"].decode("latin-1"))
        where = request.url.path, _origin(request), request.path_params
        return Visit(self.site, session, None, secure, time.time(), *where, query)

    async def _signed_in(self, visit: Visit, request: Request) -> Visit:
        """Return the visit, signed in if a cookie is that of a session whose key is still valid."""
        values = _cookies(request, visit.secure)
        found = await asyncio.to_thread(self.site.sessions.find, values, visit.now) if values else None
        state = self.site.service.engine.state
        if found is None or state is None:
            return visit
        key = state.keys.get(found.key)
        return replace(visit, session=found, key=key if key is not None and key.usable(visit.now) else None)

    async def _answer(self, visit: Visit, request: Request) -> tuple[Visit, Response]:
        if visit.site.service.engine.state is None:
            raise Refusal(503, "service: is not ready, its log is being read; try again in a moment")
        if visit.key is not None:
            visit.site.service.check_rate(visit.key, visit.now)
        form: forms.Form = {}
        if self.method == "POST":
            form = forms.read(await _body(request, PUBLIC if visit.key is None else LARGEST))
            self._check_own(visit, request, form)
        if visit.key is None and not self.public:
            return visit, _sign_in(visit, request)
        visit = replace(visit, form=form)
        return visit, await self.handler(visit)

    def _check_own(self, visit: Visit, request: Request, form: forms.Form) -> None:
        """Raise a refusal unless a form comes from a page of this session."""
        site = request.headers.get("sec-fetch-site", "same-origin")
        if site not in ("same-origin", "none") or not is_token(visit.session, forms.text(form, "token")):
            raise Refusal(403, "form: must come from a page of this session; open the page again and repeat it")

    def _note(self, visit: Visit, status: int, spent: float) -> None:
        service, name = self.site.service, f"{self.method} {self.path}"
        service.metrics.route(name)(status, spent)
        if service.settings.log_requests:
            line = {
                "time": round(visit.now, 3),
                "route": name,
                "bandit": visit.params.get("name"),
                "status": status,
                "milliseconds": round(1000.0 * spent, 2),
                "key": None if visit.key is None else visit.key.id,
            }
            _requests.info("%s", keys.redacted(msgspec.json.encode(line).decode()))


def _sign_in(visit: Visit, request: Request) -> Response:
    if "hx-request" in request.headers:
        return Response("", 401, {"hx-redirect": "/sign-in"})
    wanted = f"?next={quote(visit.path, safe='/')}" if request.method == "GET" and visit.path != "/" else ""
    return RedirectResponse(f"/sign-in{wanted}", 303)


def _refused(visit: Visit, refusal: Refusal) -> Response:
    code = CODES[refusal.status].replace("_", " ")
    out = visit.page("error.html", refusal.status, title=code, message=refusal.message)
    out.headers.update(refusal.headers)
    return out


def _origin(request: Request) -> str:
    return f"{request.scope.get('scheme', 'http')}://{request.headers.get('host', 'localhost')}"


def _cookies(request: Request, secure: bool) -> tuple[str, ...]:
    return cookie_values("; ".join(request.headers.getlist("cookie")), secure)


async def _body(request: Request, limit: int) -> bytes:
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise Refusal(413, f"form: must have {limit} bytes at most")
            parts.append(part)
    except ClientDisconnect:
        raise Refusal(400, "form: must be whole, got a part of it") from None
    return b"".join(parts)


def valid_key(site: Site, given: str, now: float) -> Key | None:
    """Return the key that somebody signs in with; None unless it is valid."""
    engine = site.service.engine
    return None if engine.state is None else keys.find(engine.state.keys, engine.secret, given, now)


def utc(seconds: float) -> str:
    """Return a time as people read it; one beyond the calendar in seconds.

    >>> utc(0.0), utc(1e15)
    ('1970-01-01 00:00:00 UTC', '1e+15 s after 1970')
    """
    if not 0.0 <= seconds < END:
        return f"{seconds:g} s after 1970"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def ago(seconds: float, now: float) -> str:
    """Return how long ago a time was.

    >>> ago(0.0, 7200.0), ago(0.0, 45.0)
    ('2 h ago', '45 s ago')
    """
    past = max(0.0, now - seconds)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if past >= size:
            return f"{past // size:.0f} {unit} ago"
    return f"{past:.0f} s ago"
