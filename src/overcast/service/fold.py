"""The state of the service as a fold over its log.

`State.apply` takes one row after the other. Nothing else changes the state, so that whoever has read the same rows has
the same state, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
import numpy as np

from overcast import events
from overcast._check import Array
from overcast.bandit import Bandit
from overcast.bandit.files import MAX_COUNT
from overcast.decisions.record import Decision
from overcast.policies import Mixed
from overcast.service.keys import Key
from overcast.service.shadow import Shadow
from overcast.service.store.base import Row

#: kinds of rows that the library's own events do not know
SERVICE_KINDS = ("create", "part", "terms", "shadow", "unshadow", "end")

_read = msgspec.json.decode
_write = msgspec.json.encode


class Answer(msgspec.Struct, array_like=True):
    """The answer to the request for a decision, kept so that it can be answered again after its row is erased.

    request : digest of the request; empty if the row does not tell
    position : of the row
    action : its name, or its index if it has none
    """

    request: str
    position: int
    action: str | int | float
    mean: float
    width: float
    score: float
    probability: float | None


class Part(msgspec.Struct, array_like=True):
    """A part of an outcome: the digest of its request, and the reward up to and with it."""

    request: str
    total: float


class Open(msgspec.Struct):
    """A decision that awaits its outcome.

    time : when it was made
    total : reward so far
    parts : of the outcome so far, by name; None for those of bases that do not tell more
    answer : to the request for it; None for the same reason
    """

    time: float
    total: float = 0.0
    parts: dict[str, Part | None] = {}
    answer: Answer | None = msgspec.field(default=None, name="made")


class Terms(msgspec.Struct, omit_defaults=True):
    """Settings of a bandit that the service adds to those of the library.

    wait : seconds after which an outcome is given up; None for no limit
    default : reward that then counts; None if the decision is then forgotten
    explain : whether mean, width and score of every action are kept with a decision
    """

    wait: Annotated[float, msgspec.Meta(gt=0)] | None = None
    default: float | None = None
    explain: bool = True


#: a number of things that happened
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]


class Counts(msgspec.Struct):
    """How often what happened to a bandit."""

    decisions: Count = 0
    outcomes: Count = 0
    cancelled: Count = 0
    expired: Count = 0

    @property
    def ended(self) -> int:
        """The number of decisions that are no longer open."""
        return self.outcomes + self.cancelled + self.expired


class Life:
    """One bandit of the service: what it has learnt, and its open decisions."""

    def __init__(self, name: str, bandit: Bandit, created: float, terms: Terms) -> None:
        self.name, self.bandit, self.created, self.terms = name, bandit, created, terms
        self.open: dict[str, Open] = {}
        self._sorted = True
        self.counts = Counts()
        self.retired = False
        self.shadow: Shadow | None = None
        #: positions of the row that created it, before which rows of its name are not its own, and of its last one
        self.since = self.position = 0

    def await_outcome(self, id_: str, waiting: Open) -> None:
        """Add an open decision."""
        last = next(reversed(self.open.values()), None)
        if last is not None and waiting.time < last.time:  # somebody set the clock back
            self._sorted = False
        self.open[id_] = waiting

    def oldest_first(self) -> dict[str, Open]:
        """Return the open decisions, put in the order of their times if they were not."""
        if not self._sorted:
            self.open = dict(sorted(self.open.items(), key=lambda one: one[1].time))
            self._sorted = True
        return self.open

    def to_bytes(self) -> bytes:
        """Return all of it as bytes: one line of JSON, then the file of the bandit, and that of its shadow."""
        live, shadow = self.bandit.to_bytes(), self.shadow
        head = {
            "name": self.name,
            "created": self.created,
            "terms": self.terms,
            "open": self.oldest_first(),
            "counts": self.counts,
            "retired": self.retired,
            "since": self.since,
            "position": self.position,
            "shadow": None if shadow is None else shadow.to_data() | {"at": len(live)},
        }
        return _write(head) + b"\n" + live + (b"" if shadow is None else shadow.bandit.to_bytes())

    @classmethod
    def from_bytes(cls, content: bytes) -> Life:
        """Read the bytes that `to_bytes` wrote."""
        text, _, file = content.partition(b"\n")
        head = _read(text)
        terms = msgspec.convert(head["terms"], Terms)
        shadow = head["shadow"]
        at = len(file) if shadow is None else shadow["at"]
        out = cls(head["name"], Bandit.from_bytes(file[:at]), head["created"], terms)
        out.shadow = None if shadow is None else Shadow.of(shadow, Bandit.from_bytes(file[at:]))
        for one in head["open"].values():
            if isinstance(one["parts"], list):  # bases from before requests were kept
                one["parts"] = dict.fromkeys(one["parts"])
        out.open, out._sorted = msgspec.convert(head["open"], dict[str, Open]), False
        out.counts = msgspec.convert(head["counts"], Counts)
        out.retired = msgspec.convert(head["retired"], bool)
        out.since, out.position = (msgspec.convert(head.get(name, 0), Count) for name in ("since", "position"))
        return out


class State:
    """All bandits and keys, as of a position of the log."""

    def __init__(self) -> None:
        self.position = 0
        self.lives: dict[str, Life] = {}
        self.keys: dict[str, Key] = {}
        #: bandits whose rows are being deleted, up to which position
        self.erasing: dict[str, int] = {}

    @np.errstate(all="ignore")  # the numbers of requests may be huge
    def apply(self, row: Row, decision: Decision | None = None) -> None:
        """Let the next row happen; if it cannot, nothing changes.

        decision : the one that the row records, if it is at hand; the same as its record, to the byte
        """
        event = _read(row.body)
        if row.bandit:
            self._happen(row, event, decision)
        elif row.kind == "key":
            key = msgspec.convert(event["key"], Key)
            self.keys = self.keys | {key.id: key}
        elif row.kind == "revoke":
            self.keys = {name: key for name, key in self.keys.items() if name != event["id"]}
        elif row.kind == "erase":
            self.lives = {name: life for name, life in self.lives.items() if name != event["bandit"]}
            self.erasing = self.erasing | {event["bandit"]: row.position}
        elif row.kind == "erased":
            gone = event["bandit"], event["until"]
            self.erasing = {name: until for name, until in self.erasing.items() if (name, until) != gone}
        else:
            raise ValueError(
                f"log: kind at position {row.position} must be one that this version knows, got {row.kind}"
            )
        self.position = row.position

    def _happen(self, row: Row, event: Any, decision: Decision | None) -> None:
        kind, id_ = row.kind, row.decision
        if kind == "base":
            assert row.detail is not None
            self.lives[row.bandit] = Life.from_bytes(row.detail)
            return
        if kind == "create":
            bandit = events.replay(event["config"], [])
            self.lives[row.bandit] = Life(row.bandit, bandit, row.time, msgspec.convert(event["terms"], Terms))
            self.lives[row.bandit].since = row.position
        life = self.lives[row.bandit]
        if kind == "decide":
            assert id_ is not None
            if decision is None:
                decision = Decision.from_json(event["decision"])
            waiting = Open(row.time, answer=answer_of(life, event, row.position))
            life.bandit.adopt(decision)
            if life.shadow is not None:
                mixed = isinstance(life.bandit.policy, Mixed)
                life.shadow.record_decision(decision, event.get("shadow"), decision.probability if mixed else None)
            life.await_outcome(id_, waiting)
            life.counts.decisions += 1
        elif kind == "part":
            assert id_ is not None
            waiting = life.open[id_]
            part = Part(event.get("request", ""), waiting.total + event["reward"])
            waiting.parts[event["part"]] = part
            waiting.total = part.total
        elif kind in ("learn", "forget"):
            assert id_ is not None
            events.apply(life.bandit, event)
            if life.shadow is not None:
                life.shadow.record_outcome(id_, event)
            del life.open[id_]
            life.counts.outcomes += kind == "learn" and not event.get("expired", False)
            life.counts.expired += event.get("expired", False)
            life.counts.cancelled += kind == "forget" and not event.get("expired", False)
        elif kind in ("add", "retire", "rename", "policy"):
            events.apply(life.bandit, event)
            if life.shadow is not None and (kind != "policy" or life.shadow.config["policy"] is None):
                life.shadow.apply_change(event)
        elif kind == "shadow":
            life.shadow = Shadow(event["config"], life.bandit, row.position, row.time)
        elif kind == "unshadow":
            life.shadow = None
        elif kind == "terms":
            life.terms = msgspec.convert(event["terms"], Terms)
        elif kind == "end":
            life.retired = True
        elif kind != "create":
            raise ValueError(f"log: kind at position {row.position} must be one that this version knows, got {kind}")
        life.position = row.position

    def contents(self) -> dict[str, bytes]:
        """Return the whole state as bytes, by name of the bandit; what concerns no bandit has the empty name."""
        own = {"keys": list(self.keys.values()), "erasing": self.erasing}
        return {"": _write(own)} | {name: life.to_bytes() for name, life in self.lives.items()}

    @classmethod
    def of(cls, position: int, contents: dict[str, bytes]) -> State:
        """Return the state that `contents` wrote at a position."""
        out = cls()
        out.position = position
        own = _read(contents[""])
        out.keys = {key.id: key for key in msgspec.convert(own["keys"], list[Key])}
        out.erasing = own["erasing"]
        out.lives = {name: Life.from_bytes(content) for name, content in contents.items() if name}
        return out


def answer_of(life: Life, event: Any, position: int) -> Answer:
    """Return the answer to the request for a decision, from its event."""
    record = event["decision"]
    action = record["index"] if life.bandit.actions.names is None else record["action"]
    numbers = record["mean"], record["width"], record["score"], record["probability"]
    return Answer(event.get("request", ""), position, action, *numbers)


def folded(rows: Iterable[Row], state: State | None = None) -> State:
    """Return the state after some rows."""
    out = State() if state is None else state
    for row in rows:
        out.apply(row)
    return out


def replayable(rows: Iterable[Row], bandit: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the configuration of a bandit and its events, chained and closed, as `overcast.replay` takes them."""
    own = [(row.kind, _read(row.body)) for row in rows if row.bandit == bandit]
    if "create" not in {kind for kind, _ in own}:
        raise ValueError(f"log: must hold the beginning of {bandit!r} to be replayed, got one that is erased in part")
    out = [next(event["config"] for kind, event in own if kind == "create")]
    for event in [*(event for kind, event in own if kind not in SERVICE_KINDS), events.closed()]:
        out.append(events.chained(event, after=out[-1]))
    return out[0], out[1:]


def detail(decision: Decision) -> bytes:
    """Return mean, width and score of every action, four bytes a number; for explanations, not for learning."""
    assert decision._ranking is not None
    (mean, width), scores = decision._ranking.estimate, decision._ranking.scores
    with np.errstate(over="ignore"):
        return np.asarray([mean, width, scores], dtype="<f4").tobytes()


def details(content: bytes) -> Array:
    """Return (3, k) mean, width and score of every action."""
    return np.frombuffer(content, dtype="<f4").reshape(3, -1).astype(np.float64)
