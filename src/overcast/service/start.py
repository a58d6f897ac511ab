"""The start: from the log, and the snapshots of states beside it, to a state.

Snapshots only save time. If they are missing, damaged, of another version or of another log, the log is folded from its
beginning.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np

import overcast
from overcast.decisions.record import Decision
from overcast.service.fold import State, folded
from overcast.service.store.base import Row, Store, Unavailable

log = logging.getLogger("overcast.service")


class Start(NamedTuple):
    """The state that the log leads to.

    position : up to which it came from snapshots
    moved : by name of the bandit, how far an upgrade moved its estimates; empty unless snapshots of another version
        were there to compare with
    """

    state: State
    position: int
    moved: dict[str, float]


def read_state(store: Store) -> Start:
    """Fold the log to its state, from the snapshots on if this version made them."""
    kept = store.snapshots()
    former = None
    if kept is not None and kept.position > store.last():
        log.warning("the snapshots are of a longer log, the log is folded from its start")
    elif kept is not None:
        try:
            former = State.of(kept.position, kept.contents)
        except Exception as error:  # whatever is wrong with a cache, the log is the truth
            log.warning("the snapshots are not readable, the log is folded from its start: %s", error)
    if former is None or kept is None:
        return Start(folded(store.read()), 0, {})
    if kept.version == overcast.__version__:
        try:
            return Start(folded(store.read(kept.position), former), kept.position, {})
        except (Unavailable, MemoryError):
            raise
        except Exception as error:  # a part of them may be missing
            log.warning("the log does not go on from the snapshots, it is folded from its start: %r", error)
            return Start(folded(store.read()), 0, {})
    log.warning(
        "version %s kept the snapshots, the log is folded from its start by %s", kept.version, overcast.__version__
    )
    state, moved = State(), None
    latest: dict[str, Row] = {}
    for row in store.read():
        if row.position > kept.position and moved is None:
            moved = moves_of(former, state, latest)
        state.apply(row)
        if row.kind == "decide":
            latest[row.bandit] = row
    return Start(state, 0, moves_of(former, state, latest) if moved is None else moved)


def moves_of(former: State, state: State, latest: Mapping[str, Row]) -> dict[str, float]:
    """Return how far the estimates of each bandit moved: the most that a mean did, in widths, under a belief.

    latest : the latest decision of each bandit, which holds that belief
    """
    out = {}
    for name, row in latest.items():
        if name in former.lives and name in state.lives:
            belief = Decision.from_json(msgspec.json.decode(row.body)["decision"]).belief
            old, new = (one.lives[name].bandit.estimate(belief) for one in (former, state))
            width = np.maximum(new.width, np.finfo(float).tiny)
            out[name] = (
                float(np.max(np.abs(new.mean - old.mean) / width)) if old.mean.shape == width.shape else math.inf
            )
            log.warning("the upgrade moved the estimates of %s by at most %.3g of their widths", name, out[name])
    return out
