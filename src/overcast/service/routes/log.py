"""The log of a bandit: export it, and import it into a fresh one."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from overcast.bandit.arguments import checked_reward
from overcast.service import answers as a
from overcast.service import messages as m
from overcast.service import spec
from overcast.service.engine import Turn
from overcast.service.errors import Refusal, refusing
from overcast.service.fold import Answer, Life, State, details
from overcast.service.http import Call, Operation, Parameter, Reply
from overcast.service.routes.bandits import BANDIT, check_terms, info
from overcast.service.settings import Limits
from overcast.service.shadow import Choice
from overcast.service.store.base import Row, Store
from overcast.service.transfer import FORMATS

_INSTANT = {"anyOf": [{"type": "number"}, {"type": "string", "format": "date-time"}]}
PARAMETERS = (
    Parameter("format", "query", {"enum": list(FORMATS), "default": "jsonl"}, "Of the export"),
    Parameter("from", "query", _INSTANT, "First moment, in seconds since 1970 or as a date and time (ISO 8601)"),
    Parameter("to", "query", _INSTANT, "The moment before which the export ends"),
)


class _Decide(msgspec.Struct):
    request: str
    plugged: str | int | float | None
    shadow: Choice | None = None


class _Part(msgspec.Struct):
    reward: float
    part: str
    request: str


class _End(msgspec.Struct):
    part: str | None = None
    request: str | None = None
    expired: bool = False


#: how many times the bytes of a request its event may have: 1e15 becomes 1000000000000000.0
EVENT = 8
#: what the service adds to events of the library, and needs
_FORMS = {"decide": _Decide, "part": _Part, "learn": _End, "forget": _End}


async def export_log(call: Call) -> Reply:
    kind = call.query.get("format", "jsonl")
    if kind not in FORMATS:
        raise Refusal(422, f"log: format must be one of {', '.join(FORMATS)}, got {kind[:80]!r}", "format")
    first, last = instant(call.query, "from", -math.inf), instant(call.query, "to", math.inf)

    def work(turn: Turn) -> tuple[int, int]:
        return turn.life(call.bandit).since, turn.state.position

    since, until = await call.ask(work, writes=False)
    rows = _rows(call.service.engine.store, call.bandit, since, until, first, last)
    parts = FORMATS[kind].write(rows)
    begun = await asyncio.to_thread(next, parts, None)  # what cannot be exported is refused before the answer begins
    headers = {"content-disposition": f'attachment; filename="{call.bandit}.{kind}"'}
    return Reply(200, stream=_streamed(begun, parts), kind=FORMATS[kind].media, headers=headers)


def _rows(store: Store, bandit: str, since: int, until: int, first: float, last: float) -> Iterator[Row]:
    for row in store.read(max(0, since - 1)):
        if row.position > until:
            return
        if row.bandit == bandit and first <= row.time < last:
            yield row


async def _streamed(part: bytes | None, parts: Iterator[bytes]) -> AsyncGenerator[bytes]:
    while part is not None:
        yield part
        part = await asyncio.to_thread(next, parts, None)


def instant(query: Any, name: str, default: float) -> float:
    """Return a moment in seconds since 1970; without a time zone it is UTC."""
    text = query.get(name)
    if text is None:
        return default
    try:
        out = float(text)
    except ValueError:
        try:
            # A plus sign in an address means a space.
            moment = datetime.fromisoformat(text.replace(" ", "+") if text.count(":") > 2 else text)
        except ValueError:
            moment = None
        out = math.nan if moment is None else (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if math.isnan(out):
        message = f"log: {name} must be seconds since 1970 or a date and time (ISO 8601), got {text[:80]!r}"
        raise Refusal(422, message, name)
    return out


async def import_log(call: Call) -> Reply:
    media = call.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    form = next((form for form in FORMATS.values() if form.media == media), None)
    if form is None:  # plain bytes: a Parquet file begins with these four
        form = FORMATS["parquet" if call.body.startswith(b"PAR1") else "jsonl"]
    name, limits = call.bandit, call.service.settings.limits
    with refusing("body"):
        m.check("name", m.NAME, name)
        rows = await asyncio.to_thread(_read, form.read, call.body)
    known = await call.ask(lambda turn: _fresh(turn, name), writes=False)
    rows = await asyncio.to_thread(checked, rows, name, known, limits)

    def work(turn: Turn) -> a.BanditInfo:
        if _fresh(turn, name) != known:
            raise Refusal(409, f"bandit: must not change while a log is imported, got {name!r}, which did")
        for row in rows:
            turn.adopt(_at(row, name, turn.state.position + 1))
        return info(turn.life(name))

    return Reply(201, await call.ask(work))


def _read(read: Any, raw: bytes) -> list[Row]:
    try:
        found: list[Row] = read(raw)
    except (ValueError, RecursionError) as error:
        reason = (str(error).splitlines() or ["?"])[0][:200]
        raise Refusal(400, f"log: must be an exported one, got something else: {reason}", "body") from None
    if not found:
        raise Refusal(422, "log: must hold at least one row, got none", "body")
    return found


def _fresh(turn: Turn, name: str) -> bytes | None:
    """Return a bandit that has done nothing, as bytes; None if there is none. Raise a refusal for any other."""
    life = turn.state.lives.get(name)
    if life is None:
        return None
    if life.counts.decisions or life.bandit.learnt.rounds or life.retired:
        raise Refusal(409, f"bandit: must be a fresh one to import a log, got {name!r}, which has decided")
    return life.to_bytes()


def checked(rows: list[Row], name: str, known: bytes | None, limits: Limits) -> list[Row]:
    """Return the rows to append for a bandit; raise a refusal unless all of them can happen, which is tried on a copy.

    known : the bandit as bytes if there is one; else the first row must create it
    """
    state = State()
    if known is not None:
        state.lives[name] = Life.from_bytes(known)
        rows = [row for row in rows if row.kind not in ("create", "base")]
    out = []
    for at, given in enumerate(rows):
        row = given
        try:
            row = _at(given, name, at + 1)
            if len(row.body) > EVENT * limits.body:
                raise ValueError(f"the event must have {EVENT * limits.body} characters at most")
            _check(row, msgspec.json.decode(row.body), limits)
            state.apply(row)
            _check_life(state.lives[name], row)
        except Refusal:
            raise
        except Exception as error:  # the content is somebody else's: whatever is wrong with it
            reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            raise Refusal(
                422, f"log: row {at + 1} ({row.kind[:20]}) must be able to happen: {reason}", "body"
            ) from None
        out.append(row)
    return out


def _at(row: Row, name: str, position: int) -> Row:
    """Return a row as one of a bandit at a position; the base of a log that was erased in part holds both inside."""
    row = row._replace(position=position, bandit=name)
    if row.kind != "base":
        return row
    life = Life.from_bytes(row.detail or b"")
    life.name, life.since, life.position = name, position, position
    for one in life.open.values():
        if one.answer is not None:  # positions in another log mean nothing here
            one.answer.position = position
    return row._replace(detail=life.to_bytes())


def _check(row: Row, event: Any, limits: Limits) -> None:
    """Raise ValueError for what no export holds."""
    if not 0.0 <= row.time < m.END or (row.decision is not None and not m.ID.fullmatch(row.decision)):
        raise ValueError("time must be from 1970 to the year 9999, and the decision an id")
    m.check("version", m.LABEL, row.version)
    told = event["decision"]["id"] if row.kind == "decide" else event.get("id")
    if told != row.decision:
        raise ValueError("the event must be about the decision of its row")
    if row.kind in _FORMS:
        msgspec.convert(event, _FORMS[row.kind])
    configs = {"create": "config", "shadow": "config", "policy": None}
    if row.kind in configs:
        made = event if row.kind == "policy" else event[configs[row.kind]]
        for home, field in (("policies", "policy"), ("models", "model")):
            if made.get(field) is not None:
                spec.build(home, made[field])
    drawn = {"create": ("config", "samples"), "decide": ("decision", "samples")}
    if row.kind in drawn:
        home, field = drawn[row.kind]
        spec.check_samples(event[home][field])
    if row.kind in ("create", "add"):
        given = event["config"] if row.kind == "create" else event
        vectors, names = given["vectors"] or [], given.get("names") or []
        if (
            max(len(vectors), len(names)) > limits.actions
            or max((len(one) for one in vectors), default=0) > limits.dimensions
        ):
            raise ValueError(f"actions must be {limits.actions} at most, with {limits.dimensions} dimensions at most")


def _check_life(life: Life, row: Row) -> None:
    """Raise ValueError for a row after which pages or outcomes that do not come would fail."""
    if row.kind == "decide":
        choice = msgspec.json.decode(row.body, type=_Decide).shadow
        msgspec.convert(msgspec.to_builtins(life.open[row.decision or ""].answer), Answer)
        known, told = len(life.bandit.actions), 0 if row.detail is None else details(row.detail).shape[1]
        if told > known or (choice is not None and not 0 <= choice.index < known):
            raise ValueError(f"detail and shadow must be about the {known} actions")
    if row.kind == "base" and life.counts.decisions != life.counts.ended + len(life.open):
        raise ValueError("decisions must be as many as those that ended or are open")
    state = life.bandit.state
    if row.kind == "base" and (life.counts.outcomes > state.rewards or life.counts.decisions > state.pending.made):
        raise ValueError("decisions and outcomes must be no more than the bandit has made and learnt")
    if row.kind in ("base", "create", "terms", "part"):
        waiting = [life.open[row.decision]] if row.decision is not None else list(life.open.values())
        if not all(0.0 <= time < m.END for time in (life.created, *(one.time for one in waiting))):
            raise ValueError("times must be from 1970 to the year 9999")
        check_terms(life.terms.wait, life.terms.default, [checked_reward(one.total) for one in waiting])


LOG = f"{BANDIT}/log"
OPERATIONS = [
    Operation(
        "GET",
        LOG,
        export_log,
        "The log, as JSON lines or Parquet",
        "read",
        {200: None},
        media=tuple(form.media.decode() for form in FORMATS.values()),
        parameters=PARAMETERS,
    ),
    Operation(
        "POST",
        LOG,
        import_log,
        "Import a log: into a bandit that it creates, or into one that has decided nothing",
        "admin",
        {201: a.BanditInfo},
        errors=(409,),
        uploads=(*(form.media for form in FORMATS.values()), b"application/octet-stream"),
    ),
]
