"""Erasing entries of the log, by age or by bandit.

What a bandit learnt from erased entries stays: a base takes the place of the last of them and holds the bandit as it
was there. The fold goes on from a base, so that the state stays the same, to the byte. Entries are deleted from the
last to the first. Whatever is left of them at any time is a whole beginning, and the base after it overrides it, so a
reader or a power cut in the middle of it does no harm.

A bandit that is erased as a whole ends with the row `erase`, from where on it is unknown to all; after its entries are
deleted comes the row `erased`. What was interrupted between the two goes on at the next start.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

import overcast
from overcast.service.engine import Engine, Turn, unknown
from overcast.service.errors import Refusal
from overcast.service.fold import Life, State
from overcast.service.store.base import Row, Store

log = logging.getLogger("overcast.service")

#: seconds between looks for entries that are too old
EVERY = 3600.0
#: seconds after which it is tried again if it failed
RETRY = 60.0
DAY = 86_400.0


class Span(NamedTuple):
    """The positions of the first row of a bandit and of its last one."""

    first: int
    last: int

    @classmethod
    def of(cls, life: Life) -> Span:
        """Return where the rows of a bandit are."""
        return cls(life.since, life.position)


def erase_before(store: Store, spans: Mapping[str, Span], before: float) -> dict[str, int]:
    """Erase the entries that were written before a time, up to the first younger one of each bandit; return how many.

    An import keeps the times of its rows, so that times do not grow with positions in the log as a whole.

    spans : where the entries of the bandits are, by name; the log is read once, as far as some of them may be too old
    """
    if not spans:
        return {}
    waiting, end = dict(spans), max(span.last for span in spans.values())
    state, latest, rows = State(), dict[str, Row](), Counter[str]()
    for row in store.read(max(0, min(span.first for span in spans.values()) - 1)):
        if row.position > end or not waiting:
            break
        span = waiting.get(row.bandit)
        if span is None or row.position < span.first:
            continue
        if row.time < before:
            state.apply(row)
            latest[row.bandit] = row
            rows[row.bandit] += 1
        if row.time >= before or row.position >= span.last:
            del waiting[row.bandit]
    out = {}
    for name, last in latest.items():
        if last.kind != "base" or rows[name] > 1:  # else there is nothing before the base
            base = last if last.kind == "base" else _base(last, state.lives[name])
            out[name] = store.erase(name, last.position, base)
    return out


def _base(last: Row, life: Life) -> Row:
    body = msgspec.json.encode({"event": "base"}).decode()
    return last._replace(kind="base", decision=None, version=overcast.__version__, body=body, detail=life.to_bytes())


def end(turn: Turn, bandit: str) -> int:
    """Let all processes forget a retired bandit; return the position up to which its entries can be erased.

    If that was interrupted, it goes on.
    """
    if bandit not in turn.state.lives:
        if bandit not in turn.state.erasing:
            raise unknown(bandit)
        return turn.state.erasing[bandit]
    if not turn.life(bandit).retired:
        raise Refusal(409, f"bandit: must be retired before it is erased, got {bandit!r}; DELETE retires it")
    return turn.append("", "erase", {"event": "erase", "bandit": bandit}).position


async def erase_ended(engine: Engine, bandit: str, until: int) -> int:
    """Erase the entries of a bandit that has ended, up to a position; return how many."""

    def done(turn: Turn) -> None:
        if turn.state.erasing.get(bandit) == until:
            turn.append("", "erased", {"event": "erased", "bandit": bandit, "until": until})

    count = await asyncio.to_thread(engine.store.erase, bandit, until, None)
    await engine.ask(done)
    return count


async def upkeep(engine: Engine, days: float | None) -> None:
    """Finish erasures that were interrupted, and erase entries that are older than some days, now and every hour.

    days : None to keep all
    """
    while True:
        pause = EVERY
        try:
            pause = EVERY if await _kept_up(engine, days) else 1.0
        except Exception as error:  # whatever it is, the next time comes
            log.exception("entries that are to be erased are still there, it is tried again: %s", error)
            pause = RETRY
        await asyncio.sleep(pause)


async def _kept_up(engine: Engine, days: float | None) -> bool:
    """Erase what is to be erased; return whether the log had been folded."""
    state = engine.state
    if state is None:
        return False
    for name, until in state.erasing.items():
        count = await erase_ended(engine, name, until)
        log.info("erased %d entries of %s, which had ended", count, name)
    if days is not None:
        spans = {life.name: Span.of(life) for life in list(state.lives.values())}
        counts = await asyncio.to_thread(erase_before, engine.store, spans, time.time() - days * DAY)
        for name, count in counts.items():
            log.info("erased %d entries of %s that were older than %g days", count, name, days)
    return True
