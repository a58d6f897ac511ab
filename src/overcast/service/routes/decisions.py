"""Decisions: make one or many, look at one, cancel one."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from overcast.bandit.decide import choice_at_mean
from overcast.beliefs import Belief
from overcast.decisions.record import Decision
from overcast.service import answers as a
from overcast.service import messages as m
from overcast.service.engine import Turn
from overcast.service.errors import LIBRARY, Refusal, refusing
from overcast.service.fold import Answer, Life, answer_of, detail, details
from overcast.service.http import Call, Operation, Parameter, Reply, converted, digest
from overcast.service.ids import Ids
from overcast.service.routes.bandits import BANDIT, labels
from overcast.service.routes.beliefs import given_belief, with_floats
from overcast.service.settings import Limits
from overcast.service.store.base import Row

#: of decisions; the writer alone draws them
_ids = Ids()


async def decide(call: Call) -> Reply:
    asked: m.OneOrMany = call.body
    limits, header = call.service.settings.limits, _idempotency(call)
    one = asked.belief, asked.available, asked.costs, asked.id
    if asked.decisions is None:
        if asked.belief is None:
            raise Refusal(422, "decision: belief must be given, got none", "belief")
        alone = m.NewDecision(asked.belief, *one[1:])
        return Reply(201, await call.ask(lambda turn: decide_one(turn, call.bandit, alone, header, limits)))
    if any(part is not None for part in one):
        raise Refusal(422, "decisions: must come without belief, available, costs and id beside them", "decisions")
    if not 1 <= len(asked.decisions) <= limits.batch:
        raise Refusal(422, f"decisions: must be 1 to {limits.batch}, got {len(asked.decisions)}", "decisions")
    if header is not None:
        with refusing("Idempotency-Key"):
            m.check("Idempotency-Key with the number of a decision", m.ID, f"{header}.{len(asked.decisions) - 1}")
    items = [(item, None if header is None else f"{header}.{i}") for i, item in enumerate(asked.decisions)]

    def work(turn: Turn) -> a.DecidedList:
        turn.life(call.bandit)
        return a.DecidedList([_item(turn, call.bandit, *item, limits) for item in items])

    return Reply(200, await call.ask(work))


def decide_one(turn: Turn, name: str, asked: m.NewDecision, header: str | None, limits: Limits) -> a.Decided:
    """Decide, unless the id is known: then answer as before."""
    life = turn.life(name)
    if asked.costs is not None:
        raise Refusal(422, "decision: costs are not offered by this version; leave them out", "costs")
    if header is not None and asked.id is not None and header != asked.id:
        raise Refusal(422, "decision: id must be that of the header Idempotency-Key, or left out", "id")
    id_, request = asked.id or header, digest([with_floats(asked.belief), asked.available])
    if id_ is not None and (known := _known(turn, life, id_)) is not None:
        # Logs of earlier releases told 1 from 1.0.
        if known.request != request and known.request != digest([asked.belief, asked.available]):
            raise Refusal(409, f"decision: id must be new for another request, got {id_!r} again", "id")
        return _message(id_, known)
    if life.retired:
        raise Refusal(409, f"bandit: must not be retired, got {name!r}")
    belief, form = given_belief(asked.belief, limits)
    _check_size(life, belief, limits)
    with refusing():
        decision = life.bandit.propose(belief, asked.available, id=_ids.draw() if id_ is None else id_)
    if not all(map(math.isfinite, (decision.mean, decision.width, decision.score))):
        raise Refusal(422, "decision: estimates must be finite, got numbers beyond all bounds", "belief")
    record = decision.to_json() | {"belief": form}
    plugged = _plugged(life, decision) if life.terms.explain else None
    body = {"event": "decide", "decision": record, "request": request, "plugged": plugged}
    if life.shadow is not None:
        body["shadow"] = life.shadow.choice(belief, asked.available, decision.id, decision.index)
    row = turn.append(name, "decide", body, decision, detail(decision) if life.terms.explain else None)
    return _message(decision.id, answer_of(life, body, row.position))


def _known(turn: Turn, life: Life, id_: str) -> Answer | None:
    """Return the earlier answer under an id; None if the id is new."""
    if id_ in life.open and (answer := life.open[id_].answer) is not None:  # its row may be erased
        return answer
    row = next((row for row in turn.find(life.name, id_) if row.kind == "decide"), None)
    if row is not None:
        return answer_of(life, msgspec.json.decode(row.body), row.position)
    if id_ in life.open:
        raise Refusal(409, f"decision: id must be new, got {id_!r} again, of which the request is erased", "id")
    return None


def _message(id_: str, answer: Answer) -> a.Decided:
    action: Any = answer.action
    numbers = answer.mean, answer.width, answer.score, answer.probability
    return a.Decided(id_, action, *numbers, answer.position - 1)


def _item(turn: Turn, name: str, data: Any, header: str | None, limits: Limits) -> a.DecidedItem:
    given = data.get("id") if isinstance(data, dict) else None
    try:
        decided = decide_one(turn, name, converted(data, m.NewDecision), header, limits)
    except Refusal as refusal:
        return a.DecidedItem(given if isinstance(given, str) else None, refusal.status, refusal.fault)
    return a.DecidedItem(decided.id, 201, decision=decided)


def _check_size(life: Life, belief: Belief, limits: Limits) -> None:
    """Raise a refusal if features of actions and contexts would have too many dimensions."""
    state = life.bandit.state
    if state.learner is None:
        size = state.model.size(state.actions.dim, belief.dim)
        if size is not None and size > limits.dimensions:
            raise Refusal(
                422, f"bandit: features must have {limits.dimensions} dimensions at most, got {size}", "belief"
            )


def _plugged(life: Life, decision: Decision) -> Any:
    """Return the choice that the mean of the belief, taken for certain, would lead to; None if it has none.

    It is kept with the decision: once the bandit has learnt, nobody can tell it any more.
    """
    try:
        index = choice_at_mean(life.bandit.state, decision, life.bandit)
    except LIBRARY:
        return None
    names = life.bandit.actions.names
    return index if names is None else names[index]


def _idempotency(call: Call) -> str | None:
    raw = call.headers.get(b"idempotency-key")
    if raw is None:
        return None
    with refusing("Idempotency-Key"):
        m.check("Idempotency-Key", m.ID, raw.decode("latin-1"))
    return raw.decode()


async def get_decision(call: Call) -> Reply:
    return Reply(200, await call.ask(lambda turn: _record(turn, call), writes=False))


def _record(turn: Turn, call: Call) -> a.DecisionRecord:
    life, id_ = turn.life(call.bandit), call.params["id"]
    check_id(id_)
    rows = turn.find(life.name, id_)
    first = next((row for row in rows if row.kind == "decide"), None)
    if first is None:
        raise unknown_decision(id_)
    event = msgspec.json.decode(first.body)
    happened = [a.Happened(row.position, row.time, row.kind, msgspec.json.decode(row.body)) for row in rows]
    status = "open" if id_ in life.open else _status(happened[-1])
    return a.DecisionRecord(
        id_,
        first.position - 1,
        first.time,
        status,
        event["decision"],
        _options(life, first),
        event.get("plugged"),
        None if event.get("shadow") is None else labels(life)[event["shadow"]["index"]],
        [one for one in happened if one.position > first.position],
    )


def _status(last: a.Happened) -> str:
    return "expired" if last.event.get("expired") else {"learn": "rewarded", "forget": "cancelled"}[last.kind]


def _options(life: Life, row: Row) -> list[a.OptionSeen] | None:
    if row.detail is None:
        return None
    columns = details(row.detail)
    columns = np.where(np.isfinite(columns), columns, np.nan).T.tolist()
    names = labels(life)[: len(columns)]
    return [
        a.OptionSeen(name, *(None if math.isnan(number) else number for number in numbers))
        for name, numbers in zip(names, columns, strict=True)
    ]


async def cancel_decision(call: Call) -> Reply:
    def work(turn: Turn) -> a.Verdict:
        life, id_ = turn.life(call.bandit), call.params["id"]
        check_id(id_)
        if id_ in life.open:
            turn.append(life.name, "forget", {"event": "forget", "id": id_}, id_)
            return a.Verdict(id_, 200)
        rows = turn.find(life.name, id_)
        if not rows:
            raise unknown_decision(id_)
        if rows[-1].kind == "forget" and not msgspec.json.decode(rows[-1].body).get("expired"):
            return a.Verdict(id_, 200)
        raise Refusal(409, f"decision: must be open to be cancelled, got {id_!r}, which has its outcome or expired")

    return Reply(200, await call.ask(work))


def check_id(id_: str) -> None:
    """Raise the refusal for an unknown decision if no decision can have this id; the store need not take it."""
    if not m.ID.fullmatch(id_):
        raise unknown_decision(id_)


def unknown_decision(id_: str) -> Refusal:
    """Return the refusal for a decision that was never made."""
    return Refusal(404, f"decision: must be one of the bandit, got {id_[:80]!r}")


MANY, ONE = f"{BANDIT}/decisions", f"{BANDIT}/decisions/{{id}}"
OPERATIONS = [
    Operation(
        "POST",
        MANY,
        decide,
        "Decide under a belief, or many at once",
        "decide",
        {201: a.Decided, 200: a.DecidedList},
        m.OneOrMany,
        (409,),
        parameters=(
            Parameter(
                "Idempotency-Key",
                "header",
                {"type": "string", "pattern": f"^{m.ID.pattern}$"},
                "The id of the decision: the same request under it gets the same answer, another one is refused",
            ),
        ),
    ),
    Operation("GET", ONE, get_decision, "A decision and what it rests on", "read", {200: a.DecisionRecord}),
    Operation(
        "DELETE",
        ONE,
        cancel_decision,
        "Cancel a decision that was never shown",
        "decide",
        {200: a.Verdict},
        None,
        (409,),
    ),
]
