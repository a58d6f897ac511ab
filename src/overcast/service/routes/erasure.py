"""Erasing entries of the log."""

from __future__ import annotations

import asyncio

from overcast.service import answers as a
from overcast.service import erasure
from overcast.service import messages as m
from overcast.service.http import Call, Operation, Reply
from overcast.service.routes.bandits import BANDIT


async def erase_log(call: Call) -> Reply:
    asked: m.Erasure = call.body
    engine, bandit, before = call.service.engine, call.bandit, asked.before
    if before is None:
        until = await call.ask(lambda turn: erasure.end(turn, bandit))
        return Reply(200, a.Erased(await erasure.erase_ended(engine, bandit, until)))
    span = await call.ask(lambda turn: erasure.Span.of(turn.life(bandit)))
    counts = await asyncio.to_thread(erasure.erase_before, engine.store, {bandit: span}, before)
    return Reply(200, a.Erased(counts.get(bandit, 0)))


OPERATIONS = [
    Operation(
        "POST",
        f"{BANDIT}/erase",
        erase_log,
        "Erase entries of the log: those before a time, or a retired bandit with all of them",
        "admin",
        {200: a.Erased},
        m.Erasure,
        (409,),
    ),
]
