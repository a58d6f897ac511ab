"""The bodies of requests."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from overcast import _check

# Patterns are checked in `__post_init__`: with Meta(pattern=...), msgspec 0.22 may crash the interpreter at its end.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:~@+=-]{0,127}")
ACTION = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
LABEL = re.compile(r"[^\x00-\x1f\x7f]{1,100}")
PATTERN = re.compile(r"[A-Za-z0-9._*?-]{1,64}")


def check(field: str, pattern: re.Pattern[str], value: str | None) -> None:
    """Raise ValueError unless a name looks as it must."""
    if value is not None and not pattern.fullmatch(value):
        raise ValueError(f"{field} must match {pattern.pattern}, got {_check.short(value)}")


def _check_actions(actions: dict[str, Any] | list[Any]) -> None:
    for name in actions:
        if isinstance(name, str):
            check("actions", ACTION, name)


Share = Annotated[float, Meta(ge=0, le=1)]
#: the end of the year 9999, where calendars end, in seconds since 1970
END = 253_402_300_800.0
#: where the description of the service keeps its types
SCHEMAS = "#/components/schemas/"

Seconds = Annotated[float, Meta(gt=0)]
Vector = list[float]
#: a vector of an action or a context in JSON, or one of several
Entry = Annotated[
    Any, Meta(extra_json_schema={"anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}}]})
]
#: what a request says about the context: a belief as JSON, numbers and beliefs by name, a vector, or a list of vectors
Stated = dict[str, Any] | list[Entry]
Scope = Literal["admin", "decide", "outcome", "read"]


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """A request. Fields that are not known are refused, so that none is misspelt in silence."""


class NewBandit(Asked):
    """A bandit to create; the fields are those of `overcast.Bandit`, and what the service adds.

    name : letters, digits, dots, dashes and underscores
    actions : vectors by name, a list of names, or a list of vectors
    features, kernel, model : exactly one of them, as the name of a class or as an object with `type` and its parameters
    ridge : of features or a kernel; null to learn it
    policy : as the name of a class, or as an object with `type` and its parameters
    samples : null for exact expectations, or the number of draws of each belief
    seed : of the bandit's own draws
    recalibrate : whether forecasts are corrected by the contexts that are revealed
    context : names of the context's dimensions in order; null to take them from the first belief that has names
    objective : what decisions maximise, as the name of a class, or as an object with `type` and its parameters
    wait : seconds after which an outcome is given up; null for no limit
    default : reward that then counts; null if the decision is then forgotten
    explain : whether mean, width and score of every action are kept with a decision
    explore : share of decisions that are any available action, so that the log can be evaluated
    """

    name: str
    actions: dict[str, Vector] | list[str | Vector]
    features: str | dict[str, Any] | None = None
    kernel: str | dict[str, Any] | None = None
    model: str | dict[str, Any] | None = None
    ridge: float | None = None
    policy: str | dict[str, Any] = "UCB"
    samples: int | Literal["t"] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    recalibrate: bool = False
    context: list[str] | None = None
    objective: str | dict[str, Any] = "Mean"
    wait: Seconds | None = None
    default: float | None = None
    explain: bool = True
    explore: Share = 0.0

    def __post_init__(self) -> None:
        check("name", NAME, self.name)
        _check_actions(self.actions)


class ChangedBandit(Asked):
    """Changes to a bandit that runs."""

    policy: str | dict[str, Any] | UnsetType = UNSET
    wait: Seconds | UnsetType | None = UNSET
    default: float | UnsetType | None = UNSET
    explain: bool | UnsetType = UNSET
    explore: Share | UnsetType = UNSET


class NewShadow(Asked):
    """A policy, a model or both that see everything and never act; the rest is that of the bandit."""

    policy: str | dict[str, Any] | None = None
    features: str | dict[str, Any] | None = None
    kernel: str | dict[str, Any] | None = None
    model: str | dict[str, Any] | None = None
    ridge: float | None = None


class NewActions(Asked):
    actions: dict[str, Vector] | list[str | Vector]

    def __post_init__(self) -> None:
        _check_actions(self.actions)


class ChangedAction(Asked):
    """A new vector, which also brings a retired action back, or a new name, or both."""

    vector: Vector | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if self.vector is None and self.name is None:
            raise ValueError("action must get a vector or a name, got neither")
        check("name", ACTION, self.name)


class NewDecision(Asked):
    """A decision to make: what is known about the context, and the actions that may be taken."""

    belief: Stated
    available: list[str | int] | None = None
    costs: Any = None
    id: str | None = None

    def __post_init__(self) -> None:
        check("id", ID, self.id)


def _item(kind: type[Asked]) -> Meta:
    """Describe an item of a batch by its type, which is checked item by item: each has a verdict of its own."""
    return Meta(extra_json_schema={"$ref": f"{SCHEMAS}{kind.__name__}"})


class OneOrMany(Asked):
    """A decision to make, or a list of them as `decisions`."""

    belief: Stated | None = None
    available: list[str | int] | None = None
    costs: Any = None
    id: str | None = None
    decisions: list[Annotated[Any, _item(NewDecision)]] | None = None

    def __post_init__(self) -> None:
        check("id", ID, self.id)


class NewOutcome(Asked):
    """The outcome of a decision."""

    reward: float
    context: dict[str, Any] | Vector | None = None
    final: bool = True
    part: str | None = None

    def __post_init__(self) -> None:
        check("part", ID, self.part)


class NewOutcomeItem(NewOutcome, kw_only=True):
    """The outcome of the decision with this id, as one of many."""

    id: str


class NewOutcomes(Asked):
    """The outcomes of many decisions."""

    outcomes: list[Annotated[Any, _item(NewOutcomeItem)]]


class Query(Asked):
    """A belief under which to estimate all actions."""

    belief: Stated


class NewKey(Asked):
    name: str
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=4)]
    bandits: Annotated[list[str], Meta(min_length=1, max_length=100)] = msgspec.field(default_factory=lambda: ["*"])
    expires: Annotated[float, Meta(lt=END)] | None = None

    def __post_init__(self) -> None:
        check("name", LABEL, self.name)
        for pattern in self.bandits:
            check("bandits", PATTERN, pattern)


class Erasure(msgspec.Struct, forbid_unknown_fields=True):
    """The entries to erase: those before a time (seconds since 1970); null for the retired bandit as a whole."""

    before: float | None
