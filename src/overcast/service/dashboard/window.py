"""The latest of a bandit, as charts show it: a function of the last rows of its log, the same after a restart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from overcast.beliefs import Belief, belief_from_json
from overcast.service.store.base import Row, Store

#: rows of a bandit that charts show: a decision and its outcome are two
ROWS = 1000
#: rows of the log among which those of a bandit are looked for, back from its last one
SPAN = 50_000
KINDS = ("create", "decide", "learn", "forget")


class _Record(msgspec.Struct):
    index: int
    action: str | list[float]
    mean: float
    width: float
    probability: float | None
    round: int
    belief: msgspec.Raw


class Other(msgspec.Struct):
    """The action that the shadow would have taken, with its estimates for that one and the one taken."""

    index: int
    chosen: float = msgspec.field(name="own")
    taken: float


class _Decide(msgspec.Struct):
    decision: _Record
    shadow: Other | None = None


class _End(msgspec.Struct):
    reward: float | None = None
    context: Any = None
    expired: bool = False


_decide = msgspec.json.Decoder(_Decide)
_end = msgspec.json.Decoder(_End)


@dataclass
class Seen:
    """A decision, and what became of it as far as the rows tell."""

    id: str
    time: float
    position: int
    record: _Record
    shadow: Other | None = None
    status: str = "open"
    reward: float | None = None
    context: Any = None

    @property
    def action(self) -> str:
        """The name of the action, or its number if it has none."""
        return self.record.action if isinstance(self.record.action, str) else f"action {self.record.index}"

    @property
    def belief(self) -> Belief:
        return belief_from_json(msgspec.json.decode(self.record.belief))

    def observed_context(self, belief: Belief) -> list[float] | None:
        """Return the context that came, in the order of a belief; None unless it is known as a point."""
        known = self.context
        if isinstance(known, dict) and known.get("type") == "PointMass":
            point = belief_from_json(known)
            known = dict(zip(point.names, point.mean(), strict=True)) if point.names else point.mean().tolist()
        if isinstance(known, dict):
            known = [known.get(name) for name in belief.names or ()]
        numbers = [float(one) for one in known or () if isinstance(one, int | float)]
        return numbers if len(numbers) == belief.dim else None


@dataclass
class Window:
    """The latest decisions of a bandit, oldest first, and the latest rewards as (time, reward, whether by default)."""

    decisions: list[Seen] = field(default_factory=list)
    rewards: list[tuple[float, float, bool]] = field(default_factory=list)
    #: position of the first row and the decision that it is about; None if there is none
    first: tuple[int, str] | None = None

    def stands(self, store: Store, bandit: str) -> bool:
        """Return whether the rows are still in the log: erasure takes the oldest."""
        return self.first is None or any(row.position == self.first[0] for row in store.find(bandit, self.first[1]))


def window(rows: Iterable[Row]) -> Window:
    """Read the rows of one bandit."""
    out, known = Window(), dict[str, Seen]()
    for row in rows:
        if row.kind == "create":  # what came before was of an erased bandit of the same name
            out, known = Window(), {}
            continue
        assert row.decision is not None
        out.first = out.first or (row.position, row.decision)
        if row.kind == "decide":
            event = _decide.decode(row.body)
            seen = Seen(row.decision, row.time, row.position, event.decision, event.shadow)
            out.decisions.append(seen)
            known[row.decision] = seen
            continue
        end = _end.decode(row.body)
        if end.reward is not None:
            out.rewards.append((row.time, end.reward, end.expired))
        if (found := known.get(row.decision)) is not None:
            found.status = "expired" if end.expired else "cancelled" if row.kind == "forget" else "rewarded"
            found.reward, found.context = end.reward, end.context
    return out


def latest(store: Store, bandit: str, until: int, rows: int = ROWS, span: int = SPAN) -> Window:
    """Return the latest of a bandit whose last row has the position `until`."""
    return window(store.latest(bandit, KINDS, max(0, until - span), until, rows))
