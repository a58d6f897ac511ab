"""Draw a verification: histograms, coverage, spread and skill, the event, and the groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from overcast.calibration.picture import AFTER, BEFORE, STYLE, coverage, histogram, ink
from overcast.calibration.reliability import LEVEL, Reliability

if TYPE_CHECKING:
    from overcast.calibration.verification import Verification

#: the third colour
THIRD = "#009e73"


def draw(verification: Verification) -> Figure:
    """Draw the figure: one row per dimension, and one for the event."""
    columns = 4 if verification.parts else 3
    rows = len(verification.names) + (verification.event is not None)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.1 * columns, 3.2 * rows + 0.4), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        for i, name in enumerate(verification.names):
            histogram(axes[i, 0], verification.calibration, i, f"{name}: places of outcomes", AFTER)
            coverage(axes[i, 1], [(verification.calibration, "forecasts", AFTER)], i)
            axes[i, 1].set_title(f"{name}: coverage (below the line: over-confident)", fontsize=10)
            _spread(axes[i, 2], verification, i)
            if verification.parts:
                _groups(axes[i, 3], verification, i)
        if verification.event is not None:
            last = axes[-1]
            _event(last[0], verification.event)
            _forecasts(last[1], verification.event)
            _decomposition(last[2], verification.event)
            for ax in last[3:]:
                ax.set_visible(False)
        figure.suptitle(f"Forecasts and what happened, {len(verification):,} outcomes", fontsize=11)
    return figure


def _spread(ax: Axes, verification: Verification, i: int) -> None:
    """Plot errors against spreads."""
    spread, error = verification.spread_and_error()[:, :, i].T
    top = 1.08 * max(float(spread.max()), float(error.max())) or 1.0
    ax.plot([0, top], [0, top], color=ink(), linewidth=1.2, linestyle="--", label="if forecasts were right")
    ax.plot(spread, error, color=AFTER, linewidth=0, marker="o", markersize=5, label="a tenth of the forecasts")
    ax.set(xlim=(0, top), ylim=(0, top), xlabel="spread of the forecasts", ylabel="error of their means (RMSE)")
    ax.set_title(f"{verification.names[i]}: spread and skill", fontsize=10)
    ax.legend(loc="best", fontsize=9)


def _groups(ax: Axes, verification: Verification, i: int) -> None:
    """Plot the skill of each group."""
    labels, at = list(verification.parts), np.arange(len(verification.parts))
    for title, color, marker in (("climatology", AFTER, "o"), ("persistence", BEFORE, "s")):
        skill = [float(getattr(part, f"skill_{title}")[i]) for part in verification.parts.values()]
        ax.plot(at, 100 * np.array(skill), color=color, marker=marker, markersize=4, linewidth=1.2, label=title)
    ax.axhline(0, color=ink(), linewidth=1.2, linestyle="--")
    step = max(1, len(labels) // 8)
    ax.set_xticks(at[::step], labels[::step])
    ax.set(xlabel="group", ylabel="% skill against")
    ax.set_title(f"{verification.names[i]}: skill by group", fontsize=10)
    ax.legend(loc="best", fontsize=9)


def _event(ax: Axes, event: Reliability) -> None:
    """Draw the reliability diagram: frequencies against probabilities, and the band of calibrated forecasts."""
    x = 100 * event.values
    label = f"{100 * LEVEL:.0f} % of frequencies, if right"
    ax.fill_between(x, 100 * event.low, 100 * event.high, color=ink(), alpha=0.18, linewidth=0, label=label)
    ax.plot([0, 100], [0, 100], color=ink(), linewidth=1.2, linestyle="--")
    ax.plot(
        x, 100 * event.frequencies, color=AFTER, linewidth=2, marker="o", markersize=3, label="how often it happened"
    )
    ax.set(xlim=(-2, 102), ylim=(-2, 102), xlabel="forecast probability, %", ylabel="% happened")
    ax.set_title(f"{event.text}: reliability", fontsize=10)
    ax.legend(loc="upper left", fontsize=9)


def _forecasts(ax: Axes, event: Reliability) -> None:
    """Draw the histogram of forecast probabilities, when the event happened and when it did not."""
    edges = np.linspace(0.0, 100.0, 11)
    probabilities = [100 * event.probabilities[event.happened], 100 * event.probabilities[~event.happened]]
    ax.hist(
        probabilities,
        bins=edges.tolist(),
        stacked=True,
        color=[BEFORE, AFTER],
        label=["it happened", "it did not"],
        rwidth=0.9,
    )
    ax.set(xlim=(-2, 102), xlabel="forecast probability, %", ylabel="forecasts")
    ax.set_title(f"{event.text}: what was forecast", fontsize=10)
    ax.legend(loc="best", fontsize=9)


def _decomposition(ax: Axes, event: Reliability) -> None:
    """Draw the parts of the Brier score."""
    parts = {"Brier score": event.brier, "miscalibration": event.miscalibration}
    parts |= {"discrimination": event.discrimination, "uncertainty": event.uncertainty}
    colors = [AFTER, BEFORE, THIRD, "#999999"]
    bars = ax.barh(list(parts), list(parts.values()), color=colors)
    ax.bar_label(bars, fmt="%.3g", padding=3)
    ax.invert_yaxis()
    ax.margins(x=0.15)
    ax.set_title(f"{event.text}: parts of the Brier score", fontsize=10)
