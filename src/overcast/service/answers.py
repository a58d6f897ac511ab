"""The bodies of answers."""

from __future__ import annotations

from typing import Any

import msgspec

from overcast.service.errors import Fault
from overcast.service.messages import Vector


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


class Erased(msgspec.Struct):
    """How many entries are gone."""

    entries: int
