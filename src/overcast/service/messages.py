"""The bodies of requests and answers."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from overcast import _check
from overcast.service.errors import Fault

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


class Action(msgspec.Struct):
    """An action of a bandit; `vector` is null for actions that have nothing but names."""

    name: str | int
    vector: Vector | None
    active: bool


class ShadowInfo(msgspec.Struct):
    """A shadow beside the bandit that acts.

    model, policy : of the shadow; null for those of the bandit
    since, position : when it began
    decisions, agreed : decisions that it saw, and those on which both agree
    expected : what the shadow itself expects to gain by its own choices, per decision
    outcomes : those from which the difference is estimated, of decisions with a share of uniform choices
    difference, two_se : estimated gain in reward per decision, and two standard errors of it; null if there are too few
    failed : why it had to stop; null while it goes on
    """

    model: dict[str, Any] | None
    policy: dict[str, Any] | None
    since: float
    position: int
    decisions: int
    agreed: int
    expected: float | None
    outcomes: int
    difference: float | None
    two_se: float | None
    failed: str | None


class LearntSoFar(msgspec.Struct):
    rounds: int
    open: int
    noise: float | None
    ridge: float | None


class Correction(msgspec.Struct):
    """How forecasts are corrected by the contexts that were revealed, one number for each dimension.

    outcomes : contexts that the correction goes by
    bias, slope : of the corrected mean
    factor : of the spread: above 1 if forecasts are over-confident; null if they are sure and wrong
    """

    outcomes: int
    bias: list[float]
    slope: list[float]
    factor: list[float | None]


class BanditShort(msgspec.Struct):
    name: str
    created: float
    retired: bool
    actions: int
    decisions: int
    outcomes: int
    pending: int
    cancelled: int
    expired: int
    position: int


class BanditList(msgspec.Struct):
    bandits: list[BanditShort]


class BanditInfo(BanditShort):
    """All of a bandit."""

    action_list: list[Action]
    model: dict[str, Any]
    policy: dict[str, Any]
    samples: int | str | None
    objective: dict[str, Any]
    recalibrate: bool
    context: list[str] | None
    correction: Correction | None
    wait: float | None
    default: float | None
    explain: bool
    explore: float
    learnt: LearntSoFar


class Decided(msgspec.Struct):
    """A decision, and the position in the log of the last row that it rests on."""

    id: str
    action: str | int
    mean: float
    width: float
    score: float
    probability: float | None
    position: int


class Verdict(msgspec.Struct, omit_defaults=True):
    """The verdict on one item of a batch."""

    id: str | None
    status: int
    error: Fault | None = None


class DecidedItem(Verdict, omit_defaults=True):
    decision: Decided | None = None


class DecidedList(msgspec.Struct):
    decisions: list[DecidedItem]


class OutcomeTaken(msgspec.Struct):
    """An outcome that counts; `repeated` if it had been taken before."""

    id: str
    repeated: bool
    final: bool
    total: float


class VerdictList(msgspec.Struct):
    outcomes: list[Verdict]


class EstimatedAction(msgspec.Struct):
    action: str | int
    mean: float
    width: float


class Estimated(msgspec.Struct):
    actions: list[EstimatedAction]
    position: int


class OptionSeen(msgspec.Struct):
    """One action as the decision saw it; `score` is null if it was not available."""

    action: str | int
    mean: float | None
    width: float | None
    score: float | None


class Happened(msgspec.Struct):
    """One row of the log."""

    position: int
    time: float
    kind: str
    event: dict[str, Any]


class DecisionRecord(msgspec.Struct):
    """A decision with all that it rests on, and what came of it.

    options : every action; null if the bandit does not keep them
    plugged : the choice that the mean of the forecast, taken for certain, would have led to
    shadow : the choice of the shadow, if there was one
    """

    id: str
    position: int
    time: float
    status: str
    record: dict[str, Any]
    options: list[OptionSeen] | None
    plugged: str | int | None
    shadow: str | int | None
    events: list[Happened]


class KeyInfo(msgspec.Struct):
    id: str
    name: str
    scopes: list[str]
    bandits: list[str]
    created: float
    expires: float | None


class KeyMade(KeyInfo):
    """A new key; `key` is shown here and never again."""

    key: str


class KeyList(msgspec.Struct):
    keys: list[KeyInfo]


class Health(msgspec.Struct):
    status: str
    position: int | None = None


class Empty(msgspec.Struct):
    """Nothing."""


class Erasure(msgspec.Struct, forbid_unknown_fields=True):
    """The entries to erase: those before a time (seconds since 1970); null for the retired bandit as a whole."""

    before: float | None


class Erased(msgspec.Struct):
    """How many entries are gone."""

    entries: int
