"""The explanation of a decision, as an object, as text and as JSON data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from overcast._check import Array
from overcast.decisions.climatology import ForecastStatistics
from overcast.decisions.record import Option, label

#: number of actions and dimensions that the text lists at most
MAX_SHOWN = 10
#: the largest move of the forecast in the search for another choice, in standard deviations
REACH = 10.0


class Change(NamedTuple):
    """The least move of the forecast along one dimension that changes the choice.

    dimension : its name
    move : the shift of the forecast
    deviations : the size of the move in standard deviations of the corrected forecast; None if that has none
    action : the choice after the move
    """

    dimension: str
    move: float
    deviations: float | None
    action: Any


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why an action was chosen; `str` returns it as text, `to_json` as a record.

    The contributions are Shapley values over the dimensions of the context. Let v(S) be the estimated mean of the
    action if the dimensions in S follow the forecast (as the bandit corrected it), and the others are fixed at the
    usual mean: the mean of the means of all forecasts so far, including this one. Then

        contributions_i = sum over S without i of |S|! (c - |S| - 1)! / c! (v(S + i) - v(S)),

    and they sum to mean - baseline, where baseline = v(none). Up to ten dimensions this formula is used. For more, they
    are averages over random orders, which have the same sum and are exact if dimensions interact at most in pairs.

    A change is the least shift of the whole forecast along one dimension, up to ten standard deviations either way,
    after which another action is chosen; 0.99 of it is not enough. A standard deviation here is sqrt(s^2 + u^2), with s
    that of the forecast and u that of the means of all forecasts so far. Random policies use the random numbers of the
    decision.

    action, index : the explained action; here and below its name, or its index if actions have no names
    policy : the policy that chose it
    drawn : whether the choice was random
    probability : the probability of a random choice; None if unknown
    options : all available actions, best first, with mean, width and score
    bonus : scores minus values, in the order of `options`; None for policies whose scores are no such sums
    names : (c,) names of the dimensions
    forecast : (2, c) mean and standard deviation of the forecast, as the bandit corrected it
    usual : statistics of the forecasts so far; None if no mean has a closed form, and this forecast is the reference
    baseline : estimated mean of the action at the usual mean
    contributions : (c,)
    exact : whether the contributions are exact for every model
    at_mean : the choice if the context were known to be the forecast's mean
    changes : (c,) the change of each dimension, or None if there is none within reach
    present : the choice now, if the bandit has changed since the decision; None if it has not

    Examples
    --------
    >>> import overcast as oc
    >>> model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)
    >>> bandit = oc.Bandit({"early": [1.0, 0.0], "late": [0.0, 1.0]}, model, oc.UCB(beta=0.1))
    >>> bandit.observe(["early", "late"], [[1.0, 12.0], [1.0, 24.0]], [6.0, 5.0])
    >>> why = bandit.decide(oc.Gaussian([1.0, 20.0], sd=[0.0, 2.0])).explain()
    >>> why.action, why.at_mean, [option.action for option in why.options]
    ('early', 'early', ['early', 'late'])
    """

    action: Any
    index: int
    policy: str
    drawn: bool
    probability: float | None
    options: tuple[Option, ...]
    bonus: tuple[float, ...] | None
    names: tuple[str, ...]
    forecast: Array
    usual: ForecastStatistics | None
    baseline: float
    contributions: Array
    exact: bool
    at_mean: Any
    changes: tuple[Change | None, ...]
    present: Any = None

    @property
    def mean(self) -> float:
        """The estimated mean of the action."""
        return next(option.mean for option in self.options if option.index == self.index)

    @property
    def nearest(self) -> Change | None:
        """The smallest change in standard deviations; None if there is none within reach."""
        changes = [change for change in self.changes if change is not None]
        scale = dict(zip(self.names, self._move_units(), strict=True))
        return min(changes, key=lambda change: abs(change.move) / scale[change.dimension], default=None)

    def _move_units(self) -> Array:
        return move_units(self.forecast[1], self.usual)

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as JSON data."""
        bonuses = self.bonus or (None,) * len(self.options)
        rows = zip(self.names, *self.forecast.tolist(), self.contributions.tolist(), self.changes, strict=True)
        usual = None if self.usual is None else self.usual.mean.tolist()
        return {
            "action": self.action,
            "index": self.index,
            "policy": self.policy,
            "drawn": self.drawn,
            "probability": self.probability,
            "present": self.present,
            "options": [
                {
                    "action": option.index if isinstance(option.action, np.ndarray) else option.action,
                    "mean": option.mean,
                    "width": option.width,
                    "bonus": bonus,
                    "score": option.score if math.isfinite(option.score) else None,
                }
                for option, bonus in zip(self.options, bonuses, strict=True)
            ],
            "forecasts": 0 if self.usual is None else self.usual.number,
            "baseline": self.baseline,
            "exact": self.exact,
            "dimensions": [
                {
                    "name": name,
                    "mean": mean,
                    "sd": sd,
                    "usual": mean if usual is None else usual[i],
                    "contribution": contribution,
                    "change": None
                    if change is None
                    else {"move": change.move, "deviations": change.deviations, "action": change.action},
                }
                for i, (name, mean, sd, contribution, change) in enumerate(rows)
            ],
            "at_mean": self.at_mean,
        }

    def __str__(self) -> str:
        return "\n".join([*self._choice_lines(), "", *self._estimate_lines(), "", *self._change_lines()])

    def __repr__(self) -> str:
        return f"Explanation({self._name(self.action)}, by {self.policy}; print it to read it)"

    def _name(self, action: Any) -> str:
        """Format an action in one line."""
        unnamed = isinstance(self.options[0].action, np.ndarray)
        return f"action {action}" if unnamed else label(action, self.index)

    def _choice_lines(self) -> list[str]:
        """Describe how the choice was made, and list the actions."""
        name, k = self._name(self.action), len(self.options)
        how = f"{name} was chosen among {k} action{'s' * (k > 1)} by {self.policy}"
        if self.drawn:
            likely = "" if self.probability is None else f", with probability {self.probability:.3g}"
            how += f"; the choice was drawn{likely}"
        lines = [f"{how}."]
        if self.present is not None:
            by = "The bandit has learnt since: this is what it knows now"
            same = self.present == self.action
            lines.append(f"{by}, and it would {'choose the same' if same else f'choose {self._name(self.present)}'}.")
        head = ["", "mean", *(["+ bonus"] if self.bonus is not None else ["width"]), "score"]
        rows = []
        for at, option in enumerate(self.options[:MAX_SHOWN]):
            uncertainty = option.width if self.bonus is None else self.bonus[at]
            mark = " *" if option.index == self.index else ""
            numbers = [f"{value:.4g}" for value in (option.value, uncertainty, option.score)]
            rows.append([f"{label(option.action, option.index)}{mark}", *numbers])
        lines += _aligned([head, *rows])
        return lines + ([f"  … and {k - MAX_SHOWN} more with lower scores"] if k > MAX_SHOWN else [])

    def _estimate_lines(self) -> list[str]:
        """Describe the estimate of the action, and list the contributions of the dimensions."""
        name, usual = self._name(self.action), self.usual
        where = f"the mean of {usual.number} forecasts so far" if usual is not None else "the mean of this forecast"
        if usual is not None and usual.number == 1:
            where = "the mean of this forecast, the first one"
        why, gap = f"Why {self.mean:.4g} for {name}?", self.mean - self.baseline
        lines = [f"{why} At {where} it would be {self.baseline:.4g}; this forecast adds {gap:+.4g}:"]
        order = np.argsort(-np.abs(self.contributions), kind="stable")
        reference = self.forecast[0] if usual is None else usual.mean
        rows = [["", "adds", "forecast", "usual"]]
        for i in order[:MAX_SHOWN]:
            spread = f" ± {self.forecast[1, i]:.4g}" if self.forecast[1, i] else ""
            forecast = f"{self.forecast[0, i]:.4g}{spread}"
            rows.append([self.names[i], f"{self.contributions[i]:+.4g}", forecast, f"{reference[i]:.4g}"])
        lines += _aligned(rows)
        rest = order[MAX_SHOWN:]
        if len(rest):
            lines.append(f"  … and {len(rest)} more, together {float(self.contributions[rest].sum()):+.4g}")
        return lines

    def _change_lines(self) -> list[str]:
        """Describe the changes of the forecast that change the choice."""
        name = self._name(self.action if self.present is None else self.present)
        mean = self._name(self.at_mean)
        same = "the choice would have been the same" if mean == name else f"{mean} would have been chosen"
        lines = [f"Had the context been known to be at the forecast's mean, {same}."]
        nearest = self.nearest
        if nearest is None:
            return [
                *lines,
                f"No move of the forecast along one dimension, up to {REACH:g} standard deviations, changes it.",
            ]
        lines.append("The choice changes if the forecast moves along one dimension by")
        changes = [change for change in self.changes if change is not None]
        scale = dict(zip(self.names, self._move_units(), strict=True))
        changes.sort(key=lambda change: abs(change.move) / scale[change.dimension])
        rows = []
        for change in changes[:MAX_SHOWN]:
            sd = change.deviations
            size = "" if sd is None else f"({sd:.{1 if sd >= 0.1 else 4}f} standard deviations)"
            rows.append([change.dimension, f"{_rounded_up(change.move):+.4g}", size, f"→ {self._name(change.action)}"])
        return lines + _aligned(rows)


def move_units(deviation: Array, past: ForecastStatistics | None) -> Array:
    """Return the standard deviations (c,) that moves are measured in: of the forecast and the past means together."""
    return np.asarray(deviation if past is None else np.hypot(deviation, past.spread))


def _rounded_up(value: float) -> float:
    """Round a number away from zero to four digits, so that a move is long enough."""
    digit = 10.0 ** (math.floor(math.log10(abs(value))) - 3)
    return math.copysign(math.ceil(abs(value) / digit) * digit, value)


def _aligned(rows: list[list[str]]) -> list[str]:
    """Format the rows of a table as lines, the first column aligned left, the others right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines
