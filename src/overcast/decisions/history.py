"""The latest decisions of a bandit with their forecasts, contexts and rewards, as arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from overcast import _check, _records
from overcast._check import Array
from overcast._records import Arrays
from overcast.beliefs import Belief, NoClosedForm
from overcast.beliefs.base import STAND_IN_DRAWS
from overcast.decisions.record import Decision, label
from overcast.spaces.actions import Actions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: levels of the quantiles that are stored of each forecast
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


class Entry(NamedTuple):
    """A decision, with its reward and context once they are known.

    forecast : (2 + levels, c) mean, standard deviation and quantiles of the belief, as the bandit corrected it
    """

    round: int
    time: float
    action: int
    mean: float
    width: float
    score: float
    probability: float | None
    forecast: Array
    reward: float | None = None
    context: Array | None = None


class Journal:
    """Stores the latest decisions of a bandit, at most `size` of them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.entries: dict[str, Entry] = {}

    def record_decision(self, decision: Decision, index: int, number: int, forecast: Array) -> None:
        """Add a decision with the `summary` of its corrected belief; drop the oldest if there are too many."""
        self.entries.pop(decision.id, None)  # users may give an id again
        mean, width, score = (_finite(value) for value in (decision.mean, decision.width, decision.score))
        self.entries[decision.id] = Entry(
            number, decision.time, index, mean, width, score, decision.probability, forecast
        )
        if len(self.entries) > self.size:
            del self.entries[next(iter(self.entries))]

    def record_reward(self, ticket: str, reward: float, context: Array | Belief | None) -> None:
        """Add the reward of a decision, and the revealed context, or the mean of a belief about it."""
        if ticket in self.entries:
            revealed = context.mean() if isinstance(context, Belief) else context
            self.entries[ticket] = self.entries[ticket]._replace(reward=reward, context=revealed)

    def history(self, actions: Actions, names: tuple[str, ...]) -> History:
        """Return the entries as arrays."""
        entries, c, levels = list(self.entries.values()), len(names), len(LEVELS)
        parts = np.array([entry.forecast for entry in entries]).reshape(len(entries), 2 + levels, c)
        hidden = np.full(c, np.nan)
        return History(
            names=names,
            actions=actions,
            id=tuple(self.entries),
            round=np.array([entry.round for entry in entries], dtype=np.intp),
            time=np.array([entry.time for entry in entries], dtype=np.float64),
            index=np.array([entry.action for entry in entries], dtype=np.intp),
            mean=np.array([entry.mean for entry in entries]),
            width=np.array([entry.width for entry in entries]),
            score=np.array([entry.score for entry in entries]),
            probability=_nan_for_none([entry.probability for entry in entries]),
            reward=_nan_for_none([entry.reward for entry in entries]),
            forecast=parts[:, 0],
            sd=parts[:, 1],
            quantiles=parts[:, 2:],
            context=np.array([hidden if entry.context is None else entry.context for entry in entries]).reshape(
                len(entries), c
            ),
        )

    def state(self) -> Arrays:
        """Return the entries as arrays, without their ids."""
        return _records.pack([*self.entries.values()])

    @classmethod
    def of(cls, size: Any, ids: list[Any], arrays: Arrays, k: int, dim: int | None) -> Journal:
        """Rebuild a journal from its `state`; raise ValueError if it does not fit k actions or the contexts."""
        out = cls(_check.integer("file", "history", size, at_least=1))
        names = [_check.text("file", "history", name) for name in ids]
        entries = _records.unpack(Entry, arrays, len(names))
        if len(set(names)) < len(names) or len(names) > out.size or (arrays and not names):
            raise ValueError("the decisions of the history do not fit their ids")
        for entry in entries:
            fits = entry.forecast.shape == (2 + len(LEVELS), dim) and 0 <= entry.action < k
            if not fits or (entry.context is not None and entry.context.shape != (dim,)):
                raise ValueError("the history does not fit the actions and contexts")
        out.entries = dict(zip(names, entries, strict=True))
        return out


@dataclass(frozen=True, eq=False)
class History:
    """The latest n decisions of a bandit, oldest first; `bandit.history` returns it.

    names : (c,) of the context's dimensions
    actions : the action set
    id : (n,) of the decisions
    round, time : (n,) number of each decision, and when it was made, in seconds since 1970 (UTC)
    index : (n,) row of the chosen action; `action` gives its name
    mean, width, score : (n,) of the chosen action, when it was chosen
    probability : (n,) with which it was chosen; NaN if unknown
    reward : (n,) NaN until it comes
    forecast, sd : (n, c) mean and standard deviation of the beliefs, as the bandit corrected them
    quantiles : (n, levels, c) their quantiles at 5, 25, 50, 75 and 95 %
    context : (n, c) revealed contexts; NaN where hidden

    Examples
    --------
    >>> import overcast as oc
    >>> bandit = oc.Bandit(["red", "blue"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB(), history=10)
    >>> bandit.learn(bandit.decide(oc.Gaussian([1.0, 0.3], sd=0.1)), reward=2.0)
    >>> bandit.history.reward, bandit.history.forecast
    (array([2.]), array([[1. , 0.3]]))
    """

    names: tuple[str, ...]
    actions: Actions
    id: tuple[str, ...]
    round: NDArray[np.intp]
    time: Array
    index: NDArray[np.intp]
    mean: Array
    width: Array
    score: Array
    probability: Array
    reward: Array
    forecast: Array
    sd: Array
    quantiles: Array
    context: Array

    def __len__(self) -> int:
        return len(self.round)

    @property
    def action(self) -> list[Any]:
        """The chosen actions: names, or indices if actions have none."""
        names = self.actions.names
        return [int(i) if names is None else names[i] for i in self.index]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, one row per decision, with `forecast_…`, `sd_…` and `context_…` per dimension."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("History: to_frame needs pandas; install it with pip install pandas") from None
        columns: dict[str, Any] = {
            "id": list(self.id),
            "time": pd.to_datetime(self.time, unit="s", utc=True),
            "action": self.action,
        }
        columns |= {name: getattr(self, name) for name in ("mean", "width", "score", "probability", "reward")}
        for kind, values in {"forecast": self.forecast, "sd": self.sd, "context": self.context}.items():
            columns |= {f"{kind}_{name}": values[:, i] for i, name in enumerate(self.names)}
        return pd.DataFrame(columns, index=pd.Index(self.round, name="round"))

    def plot(self) -> Figure:
        """Draw rewards, shares of actions, widths, and forecasts with revealed contexts; see `Bandit.plot`."""
        from overcast.pictures import season

        return season.draw("History", self, [label(self.actions[i], i) for i in range(len(self.actions))])

    def __repr__(self) -> str:
        rewards = int(np.isfinite(self.reward).sum())
        return f"History({len(self)} decisions, {rewards} with a reward; {', '.join(self.names)})"


def summary(belief: Belief) -> Array:
    """Compute mean, standard deviation and quantiles of a belief, (2 + levels, c), from draws if it has no closed form.

    The numbers are finite, as files require, even if squares of contexts overflow.
    """
    if belief.exact:
        try:
            spread = np.sqrt(np.clip(belief.variance(), 0.0, None))
            out = np.concatenate([[belief.mean(), spread], belief.quantile(LEVELS)])
            if np.isfinite(out).all():
                return out
        except NoClosedForm:
            pass
    points = belief.sample(STAND_IN_DRAWS, np.random.default_rng(0))
    with np.errstate(all="ignore"):
        out = _moments_and_quantiles(points)
        if not np.isfinite(out).all():
            size = np.abs(points).max(axis=0, initial=np.finfo(np.float64).tiny)
            out = np.nan_to_num(size * _moments_and_quantiles(points / size))
    return out


def _moments_and_quantiles(points: Array) -> Array:
    """Compute mean, standard deviation and quantiles of points (n, c), (2 + levels, c)."""
    return np.concatenate([[points.mean(axis=0), points.std(axis=0)], np.quantile(points, LEVELS, axis=0)])


def _finite(value: float) -> float:
    """Replace an infinite number by the largest finite one."""
    return value if math.isfinite(value) else float(np.nan_to_num(value))


def _nan_for_none(values: list[float | None]) -> Array:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
