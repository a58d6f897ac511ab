"""The pages of the dashboard."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import islice
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from overcast.beliefs import belief_from_json
from overcast.service import messages as m
from overcast.service.dashboard import charts, forms, views
from overcast.service.dashboard.charts import Option
from overcast.service.dashboard.views import label
from overcast.service.dashboard.web import HEADERS, Handler, Screen, Site, Visit, found_key
from overcast.service.dashboard.window import Window, latest
from overcast.service.engine import Turn
from overcast.service.errors import LIBRARY, Refusal
from overcast.service.fold import Life
from overcast.service.http import Operation, Reply, Service, stream
from overcast.service.keys import SCOPES
from overcast.service.routes.bandits import BANDIT, BANDITS, labels
from overcast.service.routes.decisions import MANY, ONE
from overcast.service.routes.keys import KEYS
from overcast.service.routes.shadow import told

#: rows of each bandit, and of the log, that sparklines are drawn from
SPARK_ROWS, SPARK_SPAN = 200, 5000
#: bandits that the list draws sparklines for, and actions that the form of a decision offers one by one
SPARKS, OFFERED = 50, 40
#: pages of bandits whose charts are kept, seconds for which they serve everybody who looks on, and for which they do so
#: if nothing has happened
KEPT, FRESH, STALE = 32, 1.5, 60.0

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


async def sign_in(visit: Visit) -> Response:
    if visit.key is not None:
        return visit.to("/")
    response = visit.page("sign_in.html", error=None, next=_next(visit.query))
    response.headers["set-cookie"] = visit.cookie()
    return response


async def signed_in(visit: Visit) -> Response:
    key = found_key(visit.site, forms.text(visit.form, "key"), visit.now)
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


async def home(visit: Visit) -> Response:
    return visit.page("bandits.html", **await _listed(visit))


async def home_live(visit: Visit) -> Response:
    values = await _listed(visit)
    if forms.text(visit.query, "at") == str(values["position"]):
        return Response(status_code=204)
    return visit.page("_bandits.html", **values)


async def _listed(visit: Visit) -> dict[str, Any]:
    found: list[m.BanditShort] = (await visit.perform(f"GET {BANDITS}")).bandits
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


async def bandit(visit: Visit) -> Response:
    return visit.page("bandit.html", **await _shown(visit))


async def bandit_live(visit: Visit) -> Response:
    info: m.BanditInfo = await visit.perform(f"GET {BANDIT}", name=visit.bandit)
    if forms.text(visit.query, "at") == str(info.position):
        return Response(status_code=204)
    return visit.page("_bandit.html", **await _shown(visit, FRESH))


async def _shown(visit: Visit, age: float = 0.0) -> dict[str, Any]:
    """Return the content of the page of a bandit; for `age` seconds, visitors share it."""
    info: m.BanditInfo = await visit.perform(f"GET {BANDIT}", name=visit.bandit)
    dim = forms.text(visit.query, "dim")
    place = info.name, int(dim) if dim.isdecimal() and len(dim) < 6 else 0
    known = visit.site.shown.get(place)
    if known is not None:
        stands = await asyncio.to_thread(known[1]["window"].stands, visit.site.service.engine.store, info.name)
        known = known if stands else None
    if known is None or visit.now - known[0] >= (age if known[1]["info"].position != info.position else STALE):
        known = visit.now, await _made(visit, info, place[1])
    visit.site.shown.pop(place, None)
    visit.site.shown[place] = known  # the one that was asked for last is the last to go
    while len(visit.site.shown) > KEPT:
        visit.site.shown.pop(next(iter(visit.site.shown)))
    return known[1]


async def _made(visit: Visit, info: m.BanditInfo, dim: int) -> dict[str, Any]:
    engine = visit.site.service.engine
    window = await asyncio.to_thread(latest, engine.store, info.name, info.position)

    def work(turn: Turn) -> tuple[list[Option], list[tuple[str, float]], int, m.ShadowInfo | None]:
        life = turn.life(info.name)
        beside = None if life.shadow is None else told(life)
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


async def decision(visit: Visit) -> Response:
    return await _decision(visit)


async def _decision(visit: Visit, status: int = 200, error: str | None = None) -> Response:
    record: m.DecisionRecord = await visit.perform(f"GET {ONE}", name=visit.bandit, id=visit.params["id"])
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
        return await _decision(visit, refusal.status, refusal.message)
    return visit.to(visit.path.removesuffix("/outcome"))


async def cancel(visit: Visit) -> Response:
    await visit.perform(f"DELETE {ONE}", name=visit.bandit, id=visit.params["id"])
    return visit.to(visit.path.removesuffix("/cancel"))


async def ask(visit: Visit) -> Response:
    return await _ask(visit)


async def _ask(visit: Visit, status: int = 200, error: str | None = None) -> Response:
    info: m.BanditInfo = await visit.perform(f"GET {BANDIT}", name=visit.bandit)
    given = {name: forms.text(visit.form, name) for name in ("mean", "sd", "belief")}
    if not visit.form:
        given |= await asyncio.to_thread(_usual, visit, info)
    names = [label(one.name) for one in info.action_list if one.active]
    taken = visit.form.get("available", names)
    return visit.page(
        "ask.html", status, error=error, info=info, given=given, names=names, taken=taken, offered=OFFERED
    )


def _usual(visit: Visit, info: m.BanditInfo) -> dict[str, str]:
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


async def asked(visit: Visit) -> Response:
    try:
        body: dict[str, Any] = {"belief": forms.belief(visit.form)}
        if "some" in visit.form:
            info: m.BanditInfo = await visit.perform(f"GET {BANDIT}", name=visit.bandit)
            taken = visit.form.get("available", [])
            body["available"] = [one.name for one in info.action_list if one.active and label(one.name) in taken]
        made: m.Decided = await visit.perform(f"POST {MANY}", body, name=visit.bandit)
    except Refusal as refusal:
        if refusal.status not in (409, 422):
            raise
        return await _ask(visit, refusal.status, refusal.message)
    return visit.to(f"/bandits/{visit.bandit}/decisions/{made.id}")


async def new(visit: Visit) -> Response:
    return _new(visit)


def _new(visit: Visit, status: int = 200, error: str | None = None) -> Response:
    if not visit.may("admin"):
        raise Refusal(403, "key: must have the scope admin to create a bandit")
    given = {name: forms.text(visit.form, name) for name in visit.form}
    return visit.page("new.html", status, error=error, given=given, features=FEATURES, policies=POLICIES)


async def created(visit: Visit) -> Response:
    try:
        info: m.BanditInfo = await visit.perform(f"POST {BANDITS}", forms.bandit(visit.form))
    except Refusal as refusal:
        if refusal.status not in (409, 422):
            raise
        return _new(visit, refusal.status, refusal.message)
    return visit.to(f"/bandits/{info.name}")


async def keys(visit: Visit) -> Response:
    return await _keys(visit)


async def _keys(visit: Visit, status: int = 200, error: str | None = None, made: m.KeyMade | None = None) -> Response:
    found: m.KeyList = await visit.perform(f"GET {KEYS}")
    return visit.page("keys.html", status, error=error, made=made, keys=found.keys, scopes=SCOPES, given=visit.form)


async def make_key(visit: Visit) -> Response:
    try:
        made = await visit.perform(f"POST {KEYS}", forms.key(visit.form, visit.now))
    except Refusal as refusal:
        if refusal.status != 422:
            raise
        return await _keys(visit, refusal.status, refusal.message)
    return await _keys(visit, 201, made=made)


async def revoke_key(visit: Visit) -> Response:
    try:
        await visit.perform(f"DELETE {KEYS}/{{id}}", id=visit.params["id"])
    except Refusal as refusal:
        if refusal.status != 409:
            raise
        return await _keys(visit, refusal.status, refusal.message)
    return visit.to("/keys")


@cache
def _file(name: str) -> tuple[bytes, str]:
    """Return a static file and its type; raise FileNotFoundError if there is none with this name."""
    folder = resources.files("overcast.service.dashboard") / "static"
    found = {one.name: one for one in folder.iterdir()}
    if name not in found:
        raise FileNotFoundError(name)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return found[name].read_bytes(), kind


async def static(scope: Scope, receive: Receive, send: Send) -> None:
    try:
        content, kind = _file(scope["path_params"]["file"])
    except FileNotFoundError:
        await Response("not found", 404, HEADERS, "text/plain")(scope, receive, send)
        return
    headers = HEADERS | {"cache-control": "public, max-age=3600"}
    await Response(content, 200, headers, kind)(scope, receive, send)


PAGE = "/bandits/{name}"
DECISION = f"{PAGE}/decisions/{{id}}"
#: method, path, handler, and whether it is for people who have not signed in
SCREENS: list[tuple[str, str, Handler, bool]] = [
    ("GET", "/", home, False),
    ("GET", "/live", home_live, False),
    ("GET", "/sign-in", sign_in, True),
    ("POST", "/sign-in", signed_in, True),
    ("POST", "/sign-out", sign_out, False),
    ("GET", "/new", new, False),
    ("POST", "/new", created, False),
    ("GET", "/keys", keys, False),
    ("POST", "/keys", make_key, False),
    ("POST", "/keys/{id}/revoke", revoke_key, False),
    ("GET", PAGE, bandit, False),
    ("GET", f"{PAGE}/live", bandit_live, False),
    ("GET", f"{PAGE}/export", export, False),
    ("GET", f"{PAGE}/ask", ask, False),
    ("POST", f"{PAGE}/ask", asked, False),
    ("GET", DECISION, decision, False),
    ("POST", f"{DECISION}/outcome", give_outcome, False),
    ("POST", f"{DECISION}/cancel", cancel, False),
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
    found = [Route(path, _Methods(screens), methods=list(screens)) for path, screens in paths.items()]
    return [*found, Route("/static/{file}", _Static(), methods=["GET"])]


class _Static:
    """Static files; a class, since Starlette calls functions with a request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await static(scope, receive, send)
