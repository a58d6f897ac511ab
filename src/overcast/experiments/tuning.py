"""What the untuned default costs beside every beta of the paper's UCB, on one problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.stats

from overcast._check import Array
from overcast.environments.base import VectorEnvironment
from overcast.experiments.outcome import Line, Outcome
from overcast.simulation.runner import Setting
from overcast.simulation.runs import two_standard_errors

Measure = Literal["regret", "expected_regret"]

SETTINGS: tuple[Setting, Setting] = ("hidden", "observed")
MEASURES: tuple[Measure, Measure] = ("regret", "expected_regret")
DEFAULT = "default"

#: nominal levels of the confidence set whose coverage is counted
LEVELS = (0.9, 0.95)


def final(line: Line, measure: Measure = "regret") -> Array:
    """Return the regret of each trial after the last step."""
    values: Array = getattr(line, measure)
    return values[:, -1]


def measure_of(outcome: Outcome) -> Measure:
    """Return the regret to judge by: where forecasts are off, ignorance may be lucky, and regret fall below zero."""
    return "regret" if getattr(outcome.experiment.env, "calibrated", True) else "expected_regret"


@dataclass(frozen=True)
class Ratio:
    """The default's regret over that of the best beta, as means over the same trials.

    default, best : the lines compared; the best beta is chosen in hindsight, by the same trials
    value, two_se : None where the regret of the best is not above zero by two standard errors
    """

    setting: Setting
    measure: Measure
    default: Line
    best: Line
    value: float | None
    two_se: float | None

    @property
    def text(self) -> str:
        return (
            "–"
            if self.value is None
            else f"{self.value:.2f}" + ("" if self.two_se is None else f" ± {self.two_se:.2f}")
        )

    def below(self, target: float) -> Array:
        """Return for each trial what is positive on average where the ratio is below a target."""
        return target * final(self.best, self.measure) - final(self.default, self.measure)

    def summary(self) -> dict[str, Any]:
        return {
            "setting": self.setting,
            "measure": self.measure,
            "best_beta": self.best.beta,
            "ratio": None if self.value is None else {"mean": self.value, "two_se": self.two_se},
        }


@dataclass(frozen=True)
class Coverage:
    """How many trials have the true theta in the set {theta: |theta - theta-hat|_P^2 <= chi2_d(level)}.

    low, high : Wilson's 95 % interval of the share
    """

    setting: Setting
    round: int
    level: float
    share: float
    low: float
    high: float


class Tuning:
    """The outcome of one problem: default and grid in both settings."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    @property
    def measure(self) -> Measure:
        """The regret that is judged."""
        return measure_of(self.outcome)

    def default(self, setting: Setting) -> Line:
        return next(line for line in self._of(setting) if line.curve.name == DEFAULT)

    def grid(self, setting: Setting) -> list[Line]:
        return sorted((line for line in self._of(setting) if not line.curve.name), key=lambda line: line.beta or 0.0)

    def best(self, setting: Setting, measure: Measure) -> Line:
        """Return the beta with the least regret."""
        return min(self.grid(setting), key=lambda line: float(final(line, measure).mean()))

    def ratio(self, setting: Setting, measure: Measure) -> Ratio:
        default, best = self.default(setting), self.best(setting, measure)
        a, b = final(default, measure), final(best, measure)
        value = error = None
        if b.mean() > np.nan_to_num(two_standard_errors(b)):
            value = float(a.mean() / b.mean())
            if len(a) > 1:
                error = float(two_standard_errors(a - value * b) / b.mean())
        return Ratio(setting, measure, default, best, value, error)

    def mixed(self) -> list[Line]:
        """Return the default by share of contexts revealed, from none to all; empty where shares were not tried."""
        between = [line for line in self.outcome.grid if line.curve.revealed < 1.0]
        between.sort(key=lambda line: line.curve.revealed)
        return [self.default("hidden"), *between, self.default("observed")] if between else []

    def coverage(self) -> list[Coverage]:
        """Return the coverage by setting, round and level; empty where nobody watched."""
        out = []
        for setting in SETTINGS:
            line = self.default(setting)
            if line.distance is None:
                continue
            d = self._features()
            for i, squares in enumerate((line.distance**2).T):
                for level in LEVELS:
                    inside = int((squares <= scipy.stats.chi2.ppf(level, d)).sum())
                    count = scipy.stats.binomtest(inside, len(squares))
                    interval = count.proportion_ci(method="wilson")
                    share = inside / len(squares)
                    out.append(
                        Coverage(
                            setting, line.curve.watched[i], level, share, float(interval.low), float(interval.high)
                        )
                    )
        return out

    def _features(self) -> int:
        """Return d, the number of features of the world whose theta is watched."""
        env = self.outcome.experiment.env
        assert isinstance(env, VectorEnvironment)
        theta = env.start_all([np.random.default_rng(0)]).theta
        assert theta is not None
        return int(theta.shape[-1])

    def _of(self, setting: Setting) -> list[Line]:
        return [line for line in self.outcome.grid if line.curve.setting == setting]


def share_of(line: Line) -> float:
    """Return the share of contexts that are revealed to a line."""
    return 0.0 if line.curve.setting == "hidden" else line.curve.revealed
