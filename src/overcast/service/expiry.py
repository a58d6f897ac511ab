"""Outcomes that do not come in time."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from overcast.service.errors import Refusal
from overcast.service.fold import State

if TYPE_CHECKING:
    from overcast.service.engine import Turn

log = logging.getLogger("overcast.service")

#: decisions of a bandit that expire at one time
EXPIRING = 1000


def is_due(state: State, now: float) -> bool:
    """Whether some decision has waited for its outcome for too long."""
    return any(
        life.terms.wait is not None
        and life.open
        and now - next(iter(life.oldest_first().values())).time > life.terms.wait
        for life in state.lives.values()
    )


def expire_decisions(turn: Turn) -> None:
    """Give up the outcomes that did not come in time: the default reward counts, or the decision is forgotten."""
    for life in turn.state.lives.values():
        wait, default = life.terms.wait, life.terms.default
        if wait is None:
            continue
        late: list[tuple[str, float]] = []
        for id_, waiting in life.oldest_first().items():
            if turn.now - waiting.time <= wait or len(late) >= EXPIRING:
                break
            late.append((id_, waiting.total))
        for id_, total in late:
            if default is None:
                turn.append(life.name, "forget", {"event": "forget", "id": id_, "expired": True}, id_)
            else:
                body = {"event": "learn", "id": id_, "reward": total + default, "context": None, "expired": True}
                try:
                    turn.append(life.name, "learn", body, id_)
                except Refusal as refusal:  # parts and default may be too large together
                    log.warning("decision %s of %s expired and is forgotten: %s", id_, life.name, refusal)
                    turn.append(life.name, "forget", {"event": "forget", "id": id_, "expired": True}, id_)
