"""Outcomes: late, repeated, out of order, in parts; one or many."""

from __future__ import annotations

from typing import Any

import msgspec

from overcast.bandit.arguments import checked_reward
from overcast.service import answers as a
from overcast.service import messages as m
from overcast.service.engine import Turn
from overcast.service.errors import Refusal, refusing
from overcast.service.http import Call, Operation, Reply, converted, digest
from overcast.service.routes.bandits import BANDIT
from overcast.service.routes.beliefs import read_belief, with_floats
from overcast.service.routes.decisions import ONE, check_id, unknown_decision


async def report_outcome(call: Call) -> Reply:
    return Reply(200, await call.ask(lambda turn: take_outcome(turn, call.bandit, call.params["id"], call.body)))


async def report_outcomes(call: Call) -> Reply:
    items, limit = call.body.outcomes, call.service.settings.limits.batch
    if not 1 <= len(items) <= limit:
        raise Refusal(422, f"outcomes: must be 1 to {limit}, got {len(items)}", "outcomes")

    def work(turn: Turn) -> a.VerdictList:
        turn.life(call.bandit)
        return a.VerdictList([_verdict(turn, call.bandit, item) for item in items])

    return Reply(200, await call.ask(work))


def _verdict(turn: Turn, bandit: str, data: Any) -> a.Verdict:
    given = data.get("id") if isinstance(data, dict) else None
    try:
        item = converted(data, m.NewOutcomeItem)
        take_outcome(turn, bandit, item.id, item)
    except Refusal as refusal:
        return a.Verdict(given if isinstance(given, str) else None, refusal.status, refusal.fault)
    return a.Verdict(item.id, 200)


def take_outcome(turn: Turn, bandit: str, id_: str, asked: m.NewOutcome) -> a.OutcomeTaken:
    """Take in an outcome, once."""
    life = turn.life(bandit)
    check_id(id_)
    request = digest([asked.reward, with_floats(asked.context), asked.final, asked.part])
    waiting = life.open.get(id_)
    if waiting is None:
        return _again(turn, bandit, id_, asked, request)
    if asked.part is not None and asked.part in waiting.parts:
        known = waiting.parts[asked.part]
        if known is None or known.request != request:
            raise _other(id_, asked)
        return a.OutcomeTaken(id_, True, False, known.total)
    total = waiting.total + asked.reward
    with refusing("reward"):
        checked_reward(total)
        if not asked.final:  # what counts if nothing else comes
            checked_reward(total + (life.terms.default or 0.0))
    if asked.final:
        context = read_belief(asked.context, "context")[1] if isinstance(asked.context, dict) else asked.context
        learn = {"event": "learn", "id": id_, "reward": total, "context": context}
        turn.append(bandit, "learn", learn | {"part": asked.part, "request": request}, id_)
        return a.OutcomeTaken(id_, False, True, total)
    if asked.part is None:
        raise Refusal(422, 'outcome: part must name the part if "final" is false, got none', "part")
    if asked.context is not None:
        raise Refusal(422, "outcome: context must come with the final part, got it before", "context")
    body = {"event": "part", "id": id_, "reward": asked.reward, "part": asked.part, "request": request}
    turn.append(bandit, "part", body, id_)
    return a.OutcomeTaken(id_, False, False, total)


def _again(turn: Turn, bandit: str, id_: str, asked: m.NewOutcome, request: str) -> a.OutcomeTaken:
    """Return the answer to an outcome that was taken before; raise a refusal for one that comes too late."""
    rows = turn.find(bandit, id_)
    if not rows:
        raise unknown_decision(id_)
    total = 0.0
    for row in rows:
        event = msgspec.json.decode(row.body)
        if row.kind not in ("part", "learn"):
            continue
        total = event["reward"] if row.kind == "learn" else total + event["reward"]
        # Logs of earlier releases told 1 from 1.0.
        if event.get("request") in (request, digest([asked.reward, asked.context, asked.final, asked.part])):
            return a.OutcomeTaken(id_, True, row.kind == "learn", total)
        if row.kind == "part" and event["part"] == asked.part:
            raise _other(id_, asked)
    last = msgspec.json.decode(rows[-1].body)
    reason = "expired" if last.get("expired") else {"learn": "has its outcome"}.get(rows[-1].kind, "was cancelled")
    raise Refusal(409, f"outcome: decision must be open, got {id_!r}, which {reason}")


def _other(id_: str, asked: m.NewOutcome) -> Refusal:
    return Refusal(409, f"outcome: part {asked.part!r} of {id_!r} was given before, with another body", "part")


OPERATIONS = [
    Operation(
        "POST",
        f"{ONE}/outcome",
        report_outcome,
        "What came of it",
        "outcome",
        {200: a.OutcomeTaken},
        m.NewOutcome,
        (409,),
    ),
    Operation(
        "POST",
        f"{BANDIT}/outcomes",
        report_outcomes,
        "What came of many",
        "outcome",
        {200: a.VerdictList},
        m.NewOutcomes,
    ),
]
