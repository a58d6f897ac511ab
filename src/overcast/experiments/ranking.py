"""The methods on one problem, by their final regret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from overcast._check import Array
from overcast.experiments.outcome import Line, Outcome
from overcast.experiments.tuning import final
from overcast.simulation.runner import Setting
from overcast.simulation.runs import mean_and_error, two_standard_errors

# Methods may choose alike and differ in the order of their sums.
ROUNDING = 1e-9

DEFAULT = "UCB, untuned (default)"
PAPER = "UCB, tuned (paper)"


@dataclass(frozen=True, eq=False)
class Place:
    """A method's place.

    line : at the beta with the least regret, where several were tried
    more : how much more regret it has than the best one, (n,) over the trials that both ran; None for the best itself
    """

    line: Line
    more: Array | None

    @property
    def tied(self) -> bool:
        """Whether it cannot be told apart from the best: paired over trials, within two standard errors."""
        return self.more is None or not bool(self.more.mean() > two_standard_errors(self.more) + ROUNDING)

    @property
    def label(self) -> str:
        return self.line.curve.name + ("" if self.line.beta is None else f", β = {self.line.beta:g}")

    def summary(self) -> dict[str, Any]:
        return {
            "name": self.line.curve.name,
            "beta": self.line.beta,
            "trials": len(self.line.regret),
            "regret": mean_and_error(final(self.line)),
            "more_than_best": None if self.more is None else mean_and_error(self.more),
            "tied_with_best": self.tied,
        }


def ranking(outcome: Outcome, setting: Setting) -> list[Place]:
    """Return the methods of a setting, the least regret first."""
    best_of: dict[str, Line] = {}
    for line in outcome.grid:
        name = line.curve.name
        if line.curve.setting == setting and (name not in best_of or _mean(line) < _mean(best_of[name])):
            best_of[name] = line
    # Where rounding alone sets two apart, the default comes first.
    lines = sorted(best_of.values(), key=lambda line: (round(_mean(line), 9), line.curve.name != DEFAULT))
    return [Place(line, None if line is lines[0] else _more(line, lines[0])) for line in lines]


def _mean(line: Line) -> float:
    return float(final(line).mean())


def _more(line: Line, best: Line) -> Array:
    n = min(len(line.regret), len(best.regret))
    return final(line)[:n] - final(best)[:n]
