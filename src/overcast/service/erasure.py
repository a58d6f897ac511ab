"""Erasing entries of the log, by age or by bandit.

What a bandit learnt from erased entries stays: a base takes the place of the last of them and holds the bandit as it
was there. The fold goes on from a base, so that the state stays the same, to the byte. Entries are deleted from the
last to the first. Whatever is left of them at any time is a whole beginning, and the base after it overrides it, so a
reader or a power cut in the middle of it does no harm.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

import msgspec

import overcast
from overcast.service.engine import Engine, Turn
from overcast.service.errors import Refusal
from overcast.service.fold import State
from overcast.service.store.base import Row, Store, Unavailable

log = logging.getLogger("overcast.service")

#: seconds between looks for entries that are too old
EVERY = 3600.0
DAY = 86_400.0


def erase_before(store: Store, bandit: str, before: float) -> int:
    """Erase the entries of a bandit that were written before a time; return how many."""
    until = store.last_before(before)
    state, last = State(), None
    for row in store.read():
        if row.position > until:
            break
        if row.bandit == bandit:
            state.apply(row)
            last = row
        elif row.kind == "erase":
            state.apply(row)
    if last is None or last.kind == "base" or bandit not in state.lives:
        return 0
    body = msgspec.json.encode({"event": "base"}).decode()
    content = state.lives[bandit].to_bytes()
    base = Row(last.position, last.time, bandit, "base", None, overcast.__version__, body, content)
    return store.erase(bandit, until, base)


def end(turn: Turn, bandit: str) -> int:
    """Let all processes forget a retired bandit; return the position up to which its entries can be erased."""
    if not turn.life(bandit).retired:
        raise Refusal(409, f"bandit: must be retired before it is erased, got {bandit!r}; DELETE retires it")
    return turn.append("", "erase", {"event": "erase", "bandit": bandit}).position


async def keep_for(engine: Engine, days: float) -> None:
    """Erase the entries of all bandits that are older than some days, now and every hour."""
    while True:
        state = engine.state
        for name in [] if state is None else list(state.lives):
            with contextlib.suppress(Unavailable):  # the next hour comes
                count = await asyncio.to_thread(erase_before, engine.store, name, time.time() - days * DAY)
                if count:
                    log.info("erased %d entries of %s that were older than %g days", count, name, days)
        await asyncio.sleep(1.0 if state is None else EVERY)
