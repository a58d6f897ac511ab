"""Draw what it costs not to tune."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, PercentFormatter, StrMethodFormatter

from overcast.experiments.figure import HUES, STYLE
from overcast.experiments.outcome import Line, Outcome
from overcast.experiments.tuning import LEVELS, SETTINGS, Coverage, Measure, Tuning, final, share_of
from overcast.simulation.runs import two_standard_errors


def draw(outcomes: Sequence[Outcome], targets: Mapping[str, Mapping[str, float]]) -> Figure:
    """Return a panel a problem, the ratios, and below them mixed feedback and coverage where they were tried."""
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
        fig.suptitle(
            "The untuned default beside the paper's UCB at every β; bars and bands of two standard errors", fontsize=12
        )
    return fig


def _draw_betas(ax: Axes, tuning: Tuning) -> None:
    """Draw regret against beta, and the default as a band across."""
    measure = tuning.measure
    for setting in SETTINGS:
        lines, colour = tuning.grid(setting), HUES[setting]
        betas = [line.beta or 0.0 for line in lines]
        mean, error = _means(lines, measure)
        ax.errorbar(
            betas,
            mean,
            error,
            color=colour,
            marker="o",
            markersize=4,
            linewidth=1.0,
            capsize=2,
            label=f"{setting}, paper's UCB",
        )
        (level,), (band,) = _means([tuning.default(setting)], measure)
        ax.axhline(level, color=colour, linewidth=2.0, dashes=(5, 2), label=f"{setting}, untuned default")
        ax.axhspan(level - band, level + band, color=colour, alpha=0.15, linewidth=0)
    if all(beta > 0.0 for beta in betas):
        ax.set_xscale("log")
    ax.set_xticks(betas, [f"{beta:g}" for beta in betas])
    ax.xaxis.set_minor_locator(NullLocator())
    if all(float(final(line, measure).mean()) > 0.0 for line in tuning.outcome.grid):
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0, 7.0)))
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.yaxis.set_minor_locator(NullLocator())
    e = tuning.outcome.experiment
    ax.set_title(f"{e.title}, {e.trials} trials", fontsize=10)
    ax.set(xlabel="β of the paper's UCB", ylabel=f"{measure.replace('_', ' ')} after {e.steps} steps")


def _draw_ratios(ax: Axes, tunings: Sequence[Tuning], targets: Mapping[str, Mapping[str, float]]) -> None:
    """Draw default over best beta, one row a problem and setting, with what it is to stay below."""
    labels: list[str] = []
    for tuning in tunings:
        for setting in SETTINGS:
            ratio, y, colour = tuning.ratio(setting, tuning.measure), -len(labels), HUES[setting]
            kind = " (expected)" if ratio.measure == "expected_regret" else ""
            labels.append(f"{tuning.outcome.experiment.name}{kind}\n{setting}")
            if ratio.value is not None:
                ax.errorbar(ratio.value, y, xerr=ratio.two_se, color=colour, marker="o", capsize=3)
            target = targets[tuning.outcome.experiment.name][setting]
            ax.plot(
                [target, target], [y - 0.3, y + 0.3], color="black", linewidth=2.0, label="target" if y == 0 else None
            )
    ax.axvline(1.0, color="#999999", linewidth=1.0)
    ax.set_yticks(-np.arange(len(labels)), labels, fontsize=8)
    ax.set_xlim(left=0.0)
    ax.set(xlabel="default / best β")
    ax.set_title("Cost of the default, the best β chosen in hindsight", fontsize=10)
    ax.legend(fontsize=8, loc="lower left")


def _draw_shares(ax: Axes, tuning: Tuning, lines: Sequence[Line]) -> None:
    mean, error = _means(lines, "regret")
    ax.errorbar([share_of(line) for line in lines], mean, error, color="#009e73", marker="o", markersize=4, capsize=2)
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
            ax.errorbar(
                [shift * count.round for count in of],
                share,
                error,
                color=HUES[setting],
                dashes=dashes,
                marker="o",
                markersize=4,
                linewidth=1.0,
                capsize=2,
                label=f"{setting}, nominal {level:.0%}",
            )
    ax.set_xscale("log")
    rounds = sorted({count.round for count in counts})
    ax.set_xticks(rounds, [f"{n}" for n in rounds])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_ylim(bottom=max(0.0, min(count.low for count in counts) - 0.08))  # room for the legend
    ax.set(xlabel="round", ylabel="trials whose θ is inside")
    ax.set_title(f"{tuning.outcome.experiment.title}: coverage of the confidence set", fontsize=10)
    ax.legend(fontsize=8, loc="lower left")


def _means(lines: Sequence[Line], measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and two standard errors of final regrets; no error for a single trial."""
    values = [final(line, measure) for line in lines]
    errors = np.nan_to_num([float(two_standard_errors(value)) for value in values])
    return np.array([value.mean() for value in values]), errors
