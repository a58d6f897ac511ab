"""Erasing entries of the log."""

from __future__ import annotations

import asyncio

from overcast.service import erasure
from overcast.service import messages as m
from overcast.service.engine import Turn
from overcast.service.http import Call, Operation, Reply
from overcast.service.routes.bandits import BANDIT


async def erase(call: Call) -> Reply:
    asked: m.Erasure = call.body
    store, before = call.service.engine.store, asked.before

    def look(turn: Turn) -> int:
        turn.life(call.bandit)
        return 0 if before is not None else erasure.end(turn, call.bandit)

    until = await call.ask(look)
    if before is None:
        return Reply(200, m.Erased(await asyncio.to_thread(store.erase, call.bandit, until, None)))
    return Reply(200, m.Erased(await asyncio.to_thread(erasure.erase_before, store, call.bandit, before)))


OPERATIONS = [
    Operation(
        "POST",
        f"{BANDIT}/erase",
        erase,
        "Erase entries of the log: those before a time, or a retired bandit with all of them",
        "admin",
        {200: m.Erased},
        m.Erasure,
        (409,),
    ),
]
