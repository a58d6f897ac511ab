"""Decisions, their options and their records as JSON data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from overcast import _check, _html
from overcast._check import Array
from overcast._random import drawn_by
from overcast.beliefs import Belief, belief_from_json
from overcast.decisions.climatology import Snapshot
from overcast.models.base import Estimate, Mask
from overcast.policies.base import Policy
from overcast.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: version of the JSON form
VERSION = 2
#: number of actions that a picture and an HTML table show at most
MAX_SHOWN = 15


@dataclass(frozen=True)
class Option:
    """An action with the estimates that a decision was based on.

    action : its name, or its vector (a,) if it has none
    index : its row in the list of actions; None in a space without one
    mean, width : estimate and uncertainty of its expected reward
    score : what the policy ranked it by
    value : the objective of the estimated rewards; the mean if decisions maximise expected rewards

    Examples
    --------
    >>> import overcast as oc
    >>> model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)
    >>> bandit = oc.Bandit({"a": [1.0], "b": [2.0]}, model, oc.UCB(beta=1.0))
    >>> first, second = bandit.decide([1.0]).top(2)
    >>> first.action, first.score, second.action, second.score
    ('b', 2.0, 'a', 1.0)
    """

    action: Any
    index: int | Any
    mean: float
    width: float
    score: float
    value: float


class Move(NamedTuple):
    """The correction of a belief before the decision: the arguments of `Belief.moved`, (c,) each and (n, c) or None."""

    shift: Array
    scale: Array
    blur: Array
    points: Array | None = None


class PolicyTraits(NamedTuple):
    """The traits of a policy that pictures need; copies of a decision hold these instead of the policy.

    beta : the number that multiplies widths; None if the policy has none
    """

    additive: bool
    random: bool
    beta: Any

    @classmethod
    def of(cls, policy: Policy | PolicyTraits) -> PolicyTraits:
        """Read the traits of a policy."""
        beta = getattr(policy, "beta", getattr(policy, "scale", None))
        return cls(policy.additive, policy.random, beta if isinstance(beta, float) else None)


class Ranking(NamedTuple):
    """All options of a decision: the actions, their estimates (k,), values (k,) and scores (k,), and the policy.

    taken : (a,) the vector of the chosen action in a space without indices, the last option if it is no candidate
    """

    actions: Space
    estimate: Estimate
    values: Array
    scores: Array
    policy: Policy | PolicyTraits
    taken: Array | None = None

    def option(self, i: int) -> Option:
        """Return the option at place i."""
        mean, width = self.estimate
        numbers = float(mean[i]), float(width[i]), float(self.scores[i]), float(self.values[i])
        if self.taken is None:
            return Option(self.actions[i], i, *numbers)
        return Option(self.taken if i == len(self.actions) else self.actions[i], None, *numbers)


class Decision:
    """A chosen action with everything the choice rests on; pass it to `Bandit.learn` when its reward comes.

    Attributes
    ----------
    id : identifies the decision; enough to learn from it later, also in another process
    time : when it was made, in seconds since 1970 (UTC)
    belief : the belief about the context, as it was passed
    move : the correction of the belief by the bandit; None for none
    available : names, or indices without names, of the available actions; None for all
    action : the chosen action's name, or its vector (a,) where actions have no names
    index : its row in the list of actions; None in a space without one
    mean, width : estimate and uncertainty of its expected reward
    score : what the policy ranked it by
    value : the objective of the estimated rewards, which policies compare; the mean if decisions maximise expected
        rewards
    probability : with which it was chosen; None if the policy does not know it (`policies.Repeated` makes it known)
    seed : of the draws of the belief, if there were any, in hexadecimal digits
    samples : L, the number of draws of the belief; None for the exact expectation
    round : the number of the decision, counting from 1

    Examples
    --------
    >>> import json, overcast as oc
    >>> bandit = oc.Bandit({"early": [1, 0], "late": [0, 1]}, oc.LinearModel(oc.features.Bilinear()), oc.UCB())
    >>> decision = bandit.decide(oc.Gaussian([1.0, 20.0], [0.0, 4.0]), id="monday")
    >>> text = json.dumps(decision.to_json())
    >>> oc.Decision.from_json(json.loads(text)).action
    'early'
    """

    __slots__ = (
        *(
            "_chosen",
            "_explanation",
            "_mask",
            "_names",
            "_origin",
            "_place",
            "_ranking",
            "_seed",
            "belief",
            "id",
            "index",
        ),
        *("move", "probability", "round", "samples", "time"),
    )

    def __init__(
        self,
        id: str,  # noqa: A002 - its name in the record
        time: float,
        belief: Belief,
        move: Move | None,
        mask: Mask | None,
        ranking: Ranking,
        place: int,
        probability: float | None,
        seed: tuple[str, int, int],
        samples: int | None,
        round: int,  # noqa: A002
    ) -> None:
        """Called by `Bandit.decide`; `place` is the place of the chosen option in the ranking."""
        self._ranking: Ranking | None = ranking
        self._chosen: Option | None = None  # made on demand, since most decisions are asked for little
        self._mask, self._names = mask, None
        self._origin: tuple[Any, int, Snapshot, Any] | None = None
        self._explanation: Any = None
        self._seed: tuple[str, int, int] | str = seed
        self._place = place
        self.index: int | Any = place if ranking.taken is None else None
        self.id, self.time, self.belief, self.move = id, time, belief, move
        self.probability, self.samples, self.round = probability, samples, round

    @property
    def chosen(self) -> Option:
        """The chosen action, with its mean, width and score."""
        if self._chosen is None:
            assert self._ranking is not None
            self._chosen = self._ranking.option(self._place)
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
    def value(self) -> float:
        return self.chosen.value

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
        order = np.concatenate([[self._place], ranked[ranked != self._place]])[:n]  # ties may have ranked it lower
        return [self._ranking.option(int(i)) for i in order if scores[i] > -np.inf]

    def set_origin(self, bandit: Any, revision: int, climatology: Snapshot, basis: Any = None) -> None:
        """Remember the bandit that decided, the revision of its state, and its climatology.

        basis : what the bandit computed for it and can use again to adopt it; no record and no copy holds it
        """
        self._origin = bandit, revision, climatology, basis

    def forecasts_before(self, bandit: Any) -> Snapshot | None:
        """Return the climatology at the decision if this bandit made it and has not changed since; else None."""
        return self._origin[2] if self._origin is not None and self._unchanged_since(bandit) else None

    def basis_of(self, bandit: Any) -> Any:
        """Return the basis that this bandit left; None for another bandit, and if this one has changed since."""
        return self._origin[3] if self._origin is not None and self._unchanged_since(bandit) else None

    def drop_basis(self) -> None:
        """Forget what the bandit computed for the decision: it is adopted, or will not be."""
        if self._origin is not None:
            self._origin = (*self._origin[:3], None)

    def _unchanged_since(self, bandit: Any) -> bool:
        """Whether this bandit decided, and has neither learnt nor changed since then."""
        return self._origin is not None and self._origin[0] is bandit and self._origin[1] == bandit.state.revision

    def explain(self) -> Any:
        """Explain the choice; print the `Explanation`, or call its `to_json`.

        It holds the mean and bonus of each action, the contribution of each dimension of the context to the estimate,
        the choice for the mean context, and the least move of the forecast that changes the choice. Call this before
        the bandit learns or changes; later, `bandit.explain(decision)` explains from its current state. The first
        explanation is kept.

        Examples
        --------
        >>> import overcast as oc
        >>> model = oc.LinearModel(oc.features.Disjoint(2), ridge=1.0)
        >>> bandit = oc.Bandit(["umbrella", "hat"], model, oc.UCB(0.5))
        >>> known = [[3.0, 1.0], [1.0, 3.0], [2.0, 2.0], [2.0, 2.0]]
        >>> bandit.observe(["umbrella", "hat"] * 2, known, reward=[5.0, 4.0, 3.0, 3.5])
        >>> print(bandit.decide(oc.Gaussian([2.5, 1.5], sd=[0.5, 0.25])).explain())
        umbrella was chosen among 2 actions by UCB(beta=0.5).
                       mean  + bonus  score
          umbrella *    3.8   0.3433  4.143
          hat         3.086   0.5886  3.674
        <BLANKLINE>
        Why 3.8 for umbrella? At the mean of 5 forecasts so far it would be 3.32; this forecast adds +0.48:
               adds    forecast  usual
          c1  +0.56   2.5 ± 0.5    2.1
          c2  -0.08  1.5 ± 0.25    1.9
        <BLANKLINE>
        Had the context been known to be at the forecast's mean, the choice would have been the same.
        The choice changes if the forecast moves along one dimension by
          c1  -0.8369  (1.7 standard deviations)  → hat
          c2  +0.7548  (3.0 standard deviations)  → hat
        """
        if self._explanation is None:
            if self._origin is None:
                raise ValueError(
                    "Decision: explain needs the bandit that decided, got a record or a copy; ask "
                    "bandit.explain(decision), which goes by what is known now"
                )
            bandit = self._origin[0]
            explanation = None if self.forecasts_before(bandit) is None else bandit.explain(self)
            # another thread may have changed the bandit in between
            if explanation is None or explanation.present is not None:
                raise ValueError(
                    "Decision: explain needs the bandit as it was, got one that has learnt or changed since; ask "
                    "bandit.explain(decision), which goes by what is known now"
                )
            self._explanation = explanation
        return self._explanation

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw mean, whisker and score of the best actions, and mark the chosen one.

        Whiskers show the bonus if scores are means plus a bonus, else the width, multiplied by the policy's beta or
        scale if that is a number.

        Parameters
        ----------
        ax : matplotlib axes to draw on; None for new ones
        """
        if self._ranking is None:
            raise ValueError("Decision: plot needs the scores of all actions, got a record, which holds those of one")
        from overcast.pictures import common
        from overcast.pictures import options as picture

        options = self.top(MAX_SHOWN)
        half, meaning = self._whiskers(options)
        number = int((self._ranking.scores > -np.inf).sum())
        return picture.draw(
            common.axes("Decision", ax, (6.4, 1.3 + 0.32 * len(options))),
            labels=[label(option.action, option.index) for option in options],
            means=np.array([option.value for option in options]),
            half=half,
            scores=np.array([option.score for option in options]),
            unit=self._ranking.policy.additive,
            what=meaning,
            how=self._how_chosen(),
            left_out=number - len(options),
        )

    def _whiskers(self, options: list[Option]) -> tuple[Array, str]:
        """Return half the length of each option's whisker, and its label."""
        assert self._ranking is not None
        policy, width = self._ranking.policy, np.array([option.width for option in options])
        bonus = np.array([option.score - option.value for option in options])
        if policy.additive and not policy.random and (bonus > 0.0).any():
            return bonus, "mean ± bonus"
        beta = PolicyTraits.of(policy).beta
        if beta is not None and beta != 1.0:
            return beta * width, f"mean ± {beta:g} widths"
        return width, "mean ± width"

    def _how_chosen(self) -> str:
        """Say that the action was chosen, with the probability if that is below 1."""
        return "chosen" if self.probability in (None, 1.0) else f"chosen, with probability {self.probability:.3g}"

    def _repr_html_(self) -> str:
        """Show the best actions as a table in notebooks."""
        options = [self.chosen] if self._ranking is None else self.top(MAX_SHOWN)
        rows = [
            [
                f"▸ {label(o.action, o.index)}" if place == 0 else label(o.action, o.index),
                *_html.numbers(o.mean, o.width, o.score),
            ]
            for place, o in enumerate(options)
        ]
        scored = 1 if self._ranking is None else int((self._ranking.scores > -np.inf).sum())
        note = f"{scored - len(rows):,} more with lower scores" if scored > len(rows) else ""
        title = f"Decision {self.round}: {label(self.action, self.index)} is {self._how_chosen()}"
        return _html.table(title, ["action", "mean", "width", "score"], rows, note, bold=0)

    def __getstate__(self) -> dict[str, Any]:
        """Drop the bandit and its policy, which may hold functions."""
        ranking = self._ranking
        if ranking is not None:
            ranking = ranking._replace(policy=PolicyTraits.of(ranking.policy))
        return {name: getattr(self, name) for name in self.__slots__} | {"_origin": None, "_ranking": ranking}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON data; raise TypeError for a belief that is code."""
        move, available, action = self.move, self.available, self.action
        if available is not None:
            available = [_check.name("Decision: to_json", name) for name in available]
        vector = isinstance(action, np.ndarray)
        return {
            "version": VERSION,
            "id": self.id,
            "time": self.time,
            "belief": self.belief.to_json(),
            "move": None if move is None else _move_to_json(move),
            "available": available,
            "action": action.tolist() if vector else _check.name("Decision: to_json", action),
            "index": self.index,
            "mean": self.mean,
            "width": self.width,
            "score": self.score,
            "value": self.value,
            "probability": self.probability,
            "seed": self.seed,
            "samples": self.samples,
            "round": self.round,
        }

    @classmethod
    def from_json(cls, data: Any) -> Decision:
        """Rebuild a decision from a record of `to_json`, without the scores of the other actions."""
        if not isinstance(data, dict):
            raise ValueError(f"Decision: record must be a JSON object, got {_check.short(data)}")
        version = _check.integer("Decision", "version", data.get("version"), at_least=1)
        if version > VERSION:
            raise ValueError(f"Decision: version must be {VERSION} at most, got {version}; take a newer overcast")
        if version == 1:  # decisions maximised expected rewards
            data = data | {"value": data.get("mean")}
        if missing := [name for name in FIELDS if name not in data]:
            raise ValueError(f"Decision: record must have {', '.join(FIELDS)}, got none named {missing[0]}")
        if unknown := [name for name in data if name not in FIELDS]:
            raise ValueError(f"Decision: record must have {', '.join(FIELDS)} only, got {_check.short(unknown[0])}")
        out = cls.__new__(cls)
        out._ranking = out._mask = out._origin = out._explanation = None
        out.belief = belief_from_json(data["belief"])
        out.move = _move_from_json(data["move"], out.belief.dim)
        out.id = _check.text("Decision", "id", data["id"])
        out._names = data["available"]
        if not isinstance(out._names, (list, type(None))):
            raise ValueError(f"Decision: available must be a list or null, got {_check.short(out._names)}")
        out.time, *numbers = (
            _check.number("Decision", name, data[name]) for name in ("time", "mean", "width", "score", "value")
        )
        action, out._place = data["action"], 0
        out.index = None
        if data["index"] is not None or not isinstance(action, list):
            out.index = _check.integer("Decision", "index", data["index"], at_least=0)
        if isinstance(action, list):
            action = _check.array("Decision", "action", action, ("a",))
        out._chosen = Option(action, out.index, *numbers)
        out.round = _check.integer("Decision", "round", data["round"], at_least=1)
        probability, samples = data["probability"], data["samples"]
        if probability is not None:
            probability = _check.number("Decision", "probability", probability, at_least=0.0, at_most=1.0)
        out.probability = probability
        out.samples = None if samples is None else _check.samples("Decision", samples)
        drawn_by(data["seed"])
        out._seed = data["seed"]
        return out

    def __repr__(self) -> str:
        return f"Decision(action={self.action!r}, mean={self.mean:.4g}, width={self.width:.4g}, score={self.score:.4g})"


FIELDS = (
    *("version", "id", "time", "belief", "move", "available", "action", "index", "mean", "width", "score", "value"),
    *("probability", "seed", "samples", "round"),
)


def label(action: Any, index: int | None) -> str:
    """Format an action in one line: its name, its index, or its vector."""
    if isinstance(action, (np.ndarray, list)):
        return f"({', '.join(f'{x:.4g}' for x in action)})" if index is None else f"action {index}"
    return _check.cut(action, 40)


def _move_from_json(data: Any, dim: int) -> Move | None:
    if data is None:
        return None
    *names, last = Move._fields
    if not isinstance(data, dict) or data.keys() - {last} != set(names):
        raise ValueError(f"Decision: move must have {', '.join(names)}, got {_check.short(data)}")
    points = _check.array("Decision", last, data[last], ("n", dim)) if last in data else None
    shift, scale, blur = (_check.array("Decision", name, data[name], (dim,)) for name in names)
    return Move(shift, scale, blur, points)


def _move_to_json(move: Move) -> dict[str, Any]:
    return {name: part.tolist() for name, part in move._asdict().items() if part is not None}
