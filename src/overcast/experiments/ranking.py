"""The methods on one problem, by their final regret: expected regret where the forecasts are not calibrated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from overcast._check import Array
from overcast.experiments.outcome import Line, Outcome
from overcast.experiments.tuning import Measure, final, measure_of
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
    measure : the regret that ranks it
    more : how much more it has than the best method with all trials, (n,) over the trials of both; None for the best
    """

    line: Line
    measure: Measure
    more: Array | None

    @property
    def tied(self) -> bool:
        """Whether it cannot be told apart from the best: paired over trials, within two standard errors."""
        return self.more is None or not bool(abs(self.more.mean()) > two_standard_errors(self.more) + ROUNDING)

    @property
    def values(self) -> Array:
        """The final regret that ranks it, of each trial."""
        return final(self.line, self.measure)

    @property
    def label(self) -> str:
        return self.line.curve.name + ("" if self.line.beta is None else f", β = {self.line.beta:g}")

    def summary(self) -> dict[str, Any]:
        return {
            "name": self.line.curve.name,
            "beta": self.line.beta,
            "trials": len(self.line.regret),
            self.measure: mean_and_error(self.values),
            "more_than_best": None if self.more is None else mean_and_error(self.more),
            "tied_with_best": self.tied,
        }


def ranking(outcome: Outcome, setting: Setting) -> list[Place]:
    """Return the methods of a setting, the least regret first."""
    measure = measure_of(outcome)

    def order(line: Line) -> tuple[float, bool]:
        # Where rounding alone sets two apart, the default comes first.
        return round(float(final(line, measure).mean()), 9), line.curve.name != DEFAULT

    best_of: dict[str, Line] = {}
    for line in sorted(outcome.grid, key=order):
        if line.curve.setting == setting:
            best_of.setdefault(line.curve.name, line)
    lines = list(best_of.values())
    most = max(len(line.regret) for line in lines)
    best = next(line for line in lines if len(line.regret) == most)

    def more(line: Line) -> Array:
        values = final(line, measure)
        return values - final(best, measure)[: len(values)]

    return [Place(line, measure, None if line is best else more(line)) for line in lines]
