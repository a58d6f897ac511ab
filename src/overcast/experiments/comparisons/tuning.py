"""Compare the untuned default with every beta of the paper's UCB on each problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
import scipy.stats
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, PercentFormatter, StrMethodFormatter

from overcast._check import Array
from overcast.environments.base import VectorEnvironment
from overcast.experiments.engine.outcome import Line, Measure, Outcome, ratio_of
from overcast.experiments.figures.drawing import HUES, STYLE
from overcast.simulation import Setting
from overcast.simulation.record import two_standard_errors

SETTINGS: tuple[Setting, Setting] = ("hidden", "observed")
MEASURES: tuple[Measure, Measure] = ("regret", "expected_regret")
DEFAULT = "default"

#: nominal levels of the confidence sets
LEVELS = (0.9, 0.95)

BARS: Any = {"marker": "o", "markersize": 4, "linewidth": 1.0, "capsize": 2}


@dataclass(frozen=True)
class Ratio:
    """The default's mean regret divided by that of the best beta, over the same trials.

    default, best : the lines compared; the best beta is chosen in hindsight, from the same trials
    value, two_se : None unless the regret of the best exceeds zero by two standard errors
    """

    setting: Setting
    measure: Measure
    default: Line
    best: Line
    value: float | None
    two_se: float | None

    @property
    def text(self) -> str:
        if self.value is None:
            return "–"
        return f"{self.value:.2f}" + ("" if self.two_se is None else f" ± {self.two_se:.2f}")

    def below(self, target: float) -> Array:
        """Return a value per trial; the mean is positive if the ratio is below the target."""
        return target * self.best.final(self.measure) - self.default.final(self.measure)

    def summary(self) -> dict[str, Any]:
        return {
            "setting": self.setting,
            "measure": self.measure,
            "best_beta": self.best.beta,
            "ratio": None if self.value is None else {"mean": self.value, "two_se": self.two_se},
        }


@dataclass(frozen=True)
class Coverage:
    """The share of trials whose true theta lies in the set {theta: |theta - theta-hat|_P^2 <= chi2_d(level)}.

    low, high : Wilson's 95 % interval of the share
    """

    setting: Setting
    round: int
    level: float
    share: float
    low: float
    high: float


class Tuning:
    """The outcome of one problem: the default and the grid of betas in both settings."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    def default(self, setting: Setting) -> Line:
        return next(line for line in self._of(setting) if line.curve.name == DEFAULT)

    def grid(self, setting: Setting) -> list[Line]:
        return sorted((line for line in self._of(setting) if not line.curve.name), key=lambda line: line.beta or 0.0)

    def ratio(self, setting: Setting, measure: Measure = "regret") -> Ratio:
        default = self.default(setting)
        best = min(self.grid(setting), key=lambda line: float(line.final(measure).mean()))
        a, b = default.final(measure), best.final(measure)
        if b.mean() <= np.nan_to_num(two_standard_errors(b)):
            return Ratio(setting, measure, default, best, None, None)
        value, error = ratio_of(a, b)
        return Ratio(setting, measure, default, best, value, error if len(a) > 1 else None)

    def mixed(self) -> list[Line]:
        """Return the default by share of revealed contexts, from none to all; empty without mixed feedback."""
        between = [line for line in self.outcome.grid if line.curve.revealed < 1.0]
        between.sort(key=lambda line: line.curve.revealed)
        return [self.default("hidden"), *between, self.default("observed")] if between else []

    def coverage(self) -> list[Coverage]:
        """Return the coverage by setting, round and level; empty without watched rounds."""
        out = []
        for setting in SETTINGS:
            line = self.default(setting)
            if line.distance is None:
                continue
            env = self.outcome.experiment.env
            assert isinstance(env, VectorEnvironment)
            theta = env.start_all([np.random.default_rng(0)]).theta
            assert theta is not None
            for i, squares in enumerate((line.distance**2).T):
                for level in LEVELS:
                    inside = int((squares <= scipy.stats.chi2.ppf(level, theta.shape[-1])).sum())
                    low, high = scipy.stats.binomtest(inside, len(squares)).proportion_ci(method="wilson")
                    share = inside / len(squares)
                    out.append(Coverage(setting, line.curve.watched[i], level, share, float(low), float(high)))
        return out

    def _of(self, setting: Setting) -> list[Line]:
        return [line for line in self.outcome.grid if line.curve.setting == setting]


def draw(outcomes: Sequence[Outcome], targets: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the figure: one panel per problem; below them the ratios, mixed feedback and coverage, if available."""
    tunings = [Tuning(outcome) for outcome in outcomes]
    with matplotlib.rc_context(STYLE):
        fig = Figure(figsize=(4.6 * max(3, len(tunings)), 8.6), layout="constrained")
        grid = fig.add_gridspec(2, max(3, len(tunings)))
        for i, tuning in enumerate(tunings):
            _draw_betas(fig.add_subplot(grid[0, i]), tuning)
        _draw_ratios(fig.add_subplot(grid[1, 0]), tunings, targets)
        for tuning in tunings:
            if lines := tuning.mixed():
                _draw_shares(fig.add_subplot(grid[1, 1]), tuning, lines)
            if counts := tuning.coverage():
                _draw_coverage(fig.add_subplot(grid[1, 2]), tuning, counts)
        fig.legend(*fig.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        title = "The untuned default beside the paper's UCB at every β; bars and bands of two standard errors"
        fig.suptitle(title, fontsize=12)
    return fig


def _draw_betas(ax: Axes, tuning: Tuning) -> None:
    """Plot regret against beta, and the default as a horizontal band."""
    for setting in SETTINGS:
        lines, colour = tuning.grid(setting), HUES[setting]
        betas = [line.beta or 0.0 for line in lines]
        mean, error = _means(lines)
        ax.errorbar(betas, mean, error, color=colour, label=f"{setting}, paper's UCB", **BARS)
        (level,), (band,) = _means([tuning.default(setting)])
        ax.axhline(level, color=colour, linewidth=2.0, dashes=(5, 2), label=f"{setting}, untuned default")
        ax.axhspan(level - band, level + band, color=colour, alpha=0.15, linewidth=0)
    if all(beta > 0.0 for beta in betas):
        ax.set_xscale("log")
    ax.set_xticks(betas, [f"{beta:g}" for beta in betas])
    ax.xaxis.set_minor_locator(NullLocator())
    if all(float(line.final().mean()) > 0.0 for line in tuning.outcome.grid):
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0, 7.0)))
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.yaxis.set_minor_locator(NullLocator())
    e = tuning.outcome.experiment
    ax.set_title(f"{e.title}, {e.trials} trials", fontsize=10)
    ax.set(xlabel="β of the paper's UCB", ylabel=f"regret after {e.steps} steps")


def _draw_ratios(ax: Axes, tunings: Sequence[Tuning], targets: Mapping[str, Mapping[str, float]]) -> None:
    """Plot the ratio of default and best beta with its target, one row per problem and setting."""
    labels: list[str] = []
    for tuning in tunings:
        for setting in SETTINGS:
            ratio, y, colour = tuning.ratio(setting), -len(labels), HUES[setting]
            labels.append(f"{tuning.outcome.experiment.name}\n{setting}")
            if ratio.value is not None:
                ax.errorbar(ratio.value, y, xerr=ratio.two_se, color=colour, marker="o", capsize=3)
            target = targets[tuning.outcome.experiment.name][setting]
            label = None if y else "target"
            ax.plot([target, target], [y - 0.3, y + 0.3], color="black", linewidth=2.0, label=label)
    ax.axvline(1.0, color="#999999", linewidth=1.0)
    ax.set_yticks(-np.arange(len(labels)), labels, fontsize=8)
    ax.set_xlim(left=0.0)
    ax.set(xlabel="default / best β")
    ax.set_title("Cost of the default, the best β chosen in hindsight", fontsize=10)
    ax.legend(fontsize=8, loc="lower left")


def _draw_shares(ax: Axes, tuning: Tuning, lines: Sequence[Line]) -> None:
    mean, error = _means(lines)
    ax.errorbar([line.curve.seen for line in lines], mean, error, color="#009e73", marker="o", markersize=4, capsize=2)
    ax.set(xlabel="share of contexts revealed", ylabel=f"regret after {tuning.outcome.experiment.steps} steps")
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    ax.set_title(f"{tuning.outcome.experiment.title}: mixed feedback, untuned default", fontsize=10)


def _draw_coverage(ax: Axes, tuning: Tuning, counts: Sequence[Coverage]) -> None:
    for level, dashes, shifts in zip(LEVELS, ((4.0, 2.0), ()), ((0.88, 1.04), (0.96, 1.12)), strict=True):
        ax.axhline(level, color="#777777", linewidth=1.0, dashes=dashes)
        for setting, shift in zip(SETTINGS, shifts, strict=True):  # intervals side by side
            of = [count for count in counts if (count.setting, count.level) == (setting, level)]
            share = np.array([count.share for count in of])
            error = np.abs(np.array([[count.low for count in of], [count.high for count in of]]) - share)
            rounds, label = [shift * count.round for count in of], f"{setting}, nominal {level:.0%}"
            ax.errorbar(rounds, share, error, color=HUES[setting], dashes=dashes, label=label, **BARS)
    ax.set_xscale("log")
    ticks = sorted({count.round for count in counts})
    ax.set_xticks(ticks, [f"{n}" for n in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_ylim(bottom=max(0.0, min(count.low for count in counts) - 0.08))  # room for the legend
    ax.set(xlabel="round", ylabel="trials whose θ is inside")
    ax.set_title(f"{tuning.outcome.experiment.title}: coverage of the confidence set", fontsize=10)
    ax.legend(fontsize=8, loc="lower left")


def _means(lines: Sequence[Line]) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and two standard errors of final regrets, zero error for a single trial."""
    values = [line.final() for line in lines]
    errors = np.nan_to_num([float(two_standard_errors(value)) for value in values])
    return np.array([value.mean() for value in values]), errors
