"""The record of a decision, and the ticket to learn from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._random import drawn_by
from overcast.actions import Actions
from overcast.beliefs import Belief, belief_from_json
from overcast.models.base import Estimate, Mask

#: version of the JSON form
VERSION = 1


@dataclass(frozen=True)
class Option:
    """One action as a decision saw it."""

    action: Any
    index: int
    mean: float
    width: float
    score: float


class Move(NamedTuple):
    """How a belief was corrected before the decision, (c,) each, and points (n, c) or None (`Belief.moved`)."""

    shift: Array
    scale: Array
    blur: Array
    points: Array | None = None


class Ranking(NamedTuple):
    """What a decision chose from: the actions, and the estimates (k,) and scores (k,) of all of them."""

    actions: Actions
    estimate: Estimate
    scores: Array


class Decision:
    """A choice with all that it rests on, and the ticket that `Bandit.learn` takes when its reward comes.

    Attributes
    ----------
    id : names the decision; enough to learn from it later, in another process too
    time : when it was made, in seconds since 1970 (UTC)
    belief : what was known about the context, as it was given
    move : how the bandit corrected the belief; None if it did not
    available : names of the actions that could be taken, or their indices if they have no names; None for all
    action : the chosen action's name, or its vector (a,) where actions have no names
    index : its row in the action set
    mean, width : estimate and uncertainty of its expected reward
    score : what the policy ranked it by
    probability : with which it was taken; None if the policy does not know it (`policies.Repeated` makes it known)
    seed : of the draws of the belief, if there were any, in hexadecimal digits
    samples : L, the number of draws of the belief; None for the exact expectation
    round : the number of the decision, counting from 1

    Examples
    --------
    >>> import json, overcast as oc
    >>> bandit = oc.Bandit({"early": [1, 0], "late": [0, 1]}, oc.LinearModel(oc.features.Bilinear()), oc.UCB())
    >>> decision = bandit.decide(oc.Gaussian([20.0], 4.0), id="monday")
    >>> text = json.dumps(decision.to_json())
    >>> oc.Decision.from_json(json.loads(text)).action
    'early'
    """

    __slots__ = (
        *("_chosen", "_mask", "_names", "_ranking", "_seed", "belief", "id", "index", "move", "probability", "round"),
        *("samples", "time"),
    )

    def __init__(
        self,
        id: str,  # noqa: A002 - its name in the record
        time: float,
        belief: Belief,
        move: Move | None,
        mask: Mask | None,
        ranking: Ranking,
        index: int,
        probability: float | None,
        seed: tuple[str, int, int],
        samples: int | None,
        round: int,  # noqa: A002
    ) -> None:
        """Made by `Bandit.decide`."""
        self._ranking: Ranking | None = ranking
        self._chosen: Option | None = None  # found when it is asked for, since most decisions are asked for little
        self._mask, self._names = mask, None
        self._seed: tuple[str, int, int] | str = seed
        self.id, self.time, self.belief, self.move, self.index = id, time, belief, move, index
        self.probability, self.samples, self.round = probability, samples, round

    @property
    def chosen(self) -> Option:
        """The chosen action, with its mean, width and score."""
        if self._chosen is None:
            self._chosen = self._option(self.index)
        return self._chosen

    @property
    def action(self) -> Any:
        return self.chosen.action

    @property
    def mean(self) -> float:
        return self.chosen.mean

    @property
    def width(self) -> float:
        return self.chosen.width

    @property
    def score(self) -> float:
        return self.chosen.score

    @property
    def available(self) -> list[Any] | None:
        if self._mask is None:
            return self._names
        assert self._ranking is not None
        names = self._ranking.actions.names
        return [int(i) if names is None else names[i] for i in np.flatnonzero(self._mask)]

    @property
    def seed(self) -> str:
        if isinstance(self._seed, str):
            return self._seed
        key, number, repetition = self._seed
        return f"{key}{number:016x}{repetition:016x}"

    def top(self, n: int) -> list[Option]:
        """Return the `n` best available actions, best first; fewer where fewer are available."""
        n = _check.integer("Decision", "n", n, at_least=1)
        if self._ranking is None:
            raise ValueError("Decision: top needs the scores of all actions, got a record, which holds those of one")
        scores = self._ranking.scores
        ranked = np.argsort(-scores, kind="stable")
        order = np.concatenate([[self.index], ranked[ranked != self.index]])[:n]  # ties may have ranked it lower
        return [self._option(int(i)) for i in order if scores[i] > -np.inf]

    def _option(self, i: int) -> Option:
        assert self._ranking is not None
        actions, estimate, scores = self._ranking
        return Option(actions[i], i, float(estimate.mean[i]), float(estimate.width[i]), float(scores[i]))

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON data; a belief that is code has no such form and raises TypeError."""
        move, available, action = self.move, self.available, self.action
        if available is not None:
            available = [_check.name("Decision: to_json", name) for name in available]
        vector = isinstance(action, np.ndarray)
        return {
            "version": VERSION,
            "id": self.id,
            "time": self.time,
            "belief": self.belief.to_json(),
            "move": None if move is None else _move_json(move),
            "available": available,
            "action": action.tolist() if vector else _check.name("Decision: to_json", action),
            "index": self.index,
            "mean": self.mean,
            "width": self.width,
            "score": self.score,
            "probability": self.probability,
            "seed": self.seed,
            "samples": self.samples,
            "round": self.round,
        }

    @classmethod
    def from_json(cls, data: Any) -> Decision:
        """Return the decision of a record that `to_json` made; it knows all but the scores of the other actions."""
        if not isinstance(data, dict):
            raise ValueError(f"Decision: record must be a JSON object, got {_check.short(data)}")
        version = _check.integer("Decision", "version", data.get("version"), at_least=1)
        if version > VERSION:
            raise ValueError(f"Decision: version must be {VERSION} at most, got {version}; take a newer overcast")
        if missing := [name for name in FIELDS if name not in data]:
            raise ValueError(f"Decision: record must have {', '.join(FIELDS)}, got none named {missing[0]}")
        if unknown := [name for name in data if name not in FIELDS]:
            raise ValueError(f"Decision: record must have {', '.join(FIELDS)} only, got {_check.short(unknown[0])}")
        out = cls.__new__(cls)
        out._ranking = out._mask = None
        out.belief = belief_from_json(data["belief"])
        out.move = _move(data["move"], out.belief.dim)
        out.id = _check.text("Decision", "id", data["id"])
        out._names = data["available"]
        if not isinstance(out._names, (list, type(None))):
            raise ValueError(f"Decision: available must be a list or null, got {_check.short(out._names)}")
        out.time, *numbers = (
            _check.number("Decision", name, data[name]) for name in ("time", "mean", "width", "score")
        )
        out.index = _check.integer("Decision", "index", data["index"], at_least=0)
        action = data["action"]
        if isinstance(action, list):
            action = _check.array("Decision", "action", action, ("a",))
        out._chosen = Option(action, out.index, *numbers)
        out.round = _check.integer("Decision", "round", data["round"], at_least=1)
        probability, samples = data["probability"], data["samples"]
        if probability is not None:
            probability = _check.number("Decision", "probability", probability, at_least=0.0, at_most=1.0)
        out.probability = probability
        out.samples = None if samples is None else _check.integer("Decision", "samples", samples, at_least=1)
        drawn_by(data["seed"])
        out._seed = data["seed"]
        return out

    def __repr__(self) -> str:
        return f"Decision(action={self.action!r}, mean={self.mean:.4g}, width={self.width:.4g}, score={self.score:.4g})"


FIELDS = (
    *("version", "id", "time", "belief", "move", "available", "action", "index", "mean", "width", "score"),
    *("probability", "seed", "samples", "round"),
)


def _move(data: Any, dim: int) -> Move | None:
    if data is None:
        return None
    *names, last = Move._fields
    if not isinstance(data, dict) or data.keys() - {last} != set(names):
        raise ValueError(f"Decision: move must have {', '.join(names)}, got {_check.short(data)}")
    points = _check.array("Decision", last, data[last], ("n", dim)) if last in data else None
    shift, scale, blur = (_check.array("Decision", name, data[name], (dim,)) for name in names)
    return Move(shift, scale, blur, points)


def _move_json(move: Move) -> dict[str, Any]:
    return {name: part.tolist() for name, part in move._asdict().items() if part is not None}
