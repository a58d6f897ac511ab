"""Draw PIT or rank histograms of forecasts, and the coverage of their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from overcast.calibration.check import Calibration

BINS = 10
#: colours of original and of corrected forecasts
BEFORE, AFTER = "#d55e00", "#0072b2"
STYLE: Any = {"axes.spines.top": False, "axes.spines.right": False, "font.size": 10, "legend.frameon": False}


def draw(calibration: Calibration, after: Calibration | None = None) -> Figure:
    """Draw histograms and coverage, one row per dimension; `after` are the corrected forecasts."""
    drawn = [(calibration, "as they came", BEFORE), *([(after, "recalibrated", AFTER)] if after is not None else [])]
    rows, columns = len(calibration.names), len(drawn) + 1
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.1 * columns, 3.1 * rows + 0.6), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        for i, row in enumerate(axes):
            for ax, (calibration, title, color) in zip(row, drawn, strict=False):
                histogram(ax, calibration, i, f"{calibration.names[i]}: forecasts {title}", color)
            coverage(row[-1], drawn, i)
            row[-1].set_title(f"{calibration.names[i]}: coverage (below the line: over-confident)", fontsize=10)
        figure.suptitle(f"Forecasts and what happened, {len(calibration):,} outcomes", fontsize=11)
    return figure


def ink() -> str:
    """Return the colour of text, for lines that are no data, so that they show on dark paper too."""
    return str(matplotlib.rcParams["text.color"])


def histogram(ax: Axes, calibration: Calibration, i: int, title: str, color: str) -> None:
    """Draw the PIT or rank histogram, with the band in which bars of calibrated forecasts lie."""
    ranked = calibration.members is not None and calibration.members <= 2 * BINS and not calibration.sure[i]
    bins = calibration.members + 1 if ranked and calibration.members is not None else BINS
    shares = 100 * calibration.histogram(bins)[:, i]
    edges = np.arange(bins) if ranked else (np.arange(bins) + 0.5) / bins
    ax.bar(edges, shares, width=0.9 if ranked else 0.9 / bins, color=color)
    low, high = calibration.band(bins)
    ax.axhspan(100 * low, 100 * high, color=ink(), alpha=0.18, linewidth=0, label="90 % of bars, if right")
    ax.axhline(100 / bins, color=ink(), linewidth=1.2, linestyle="--")
    ax.set_ylim(0, max(1.15 * shares.max(), 260 / bins, 130 * high))
    ax.set_title(title, fontsize=10)
    ax.set_ylabel("% of outcomes")
    if ranked:
        ax.set_xlabel("members below the outcome")
        ax.set_xticks(range(0, bins, max(1, (bins - 1) // 4)))
    else:
        ax.set_xlabel("place of the outcome in its forecast (PIT)")
    ax.legend(loc="upper center", fontsize=9)


def coverage(ax: Axes, drawn: list[tuple[Calibration, str, str]], i: int) -> None:
    """Plot the share of outcomes within intervals against their nominal level."""
    ax.plot([0, 100], [0, 100], color=ink(), linewidth=1.2, linestyle="--")
    for calibration, title, color in drawn:
        # Members bound no interval beyond the outermost ones.
        most = float(calibration.reaches[:, i].min()) or 1.0
        levels = np.linspace(0.05, 0.95, 19) if most >= 0.95 else most * np.linspace(0.05, 1.0, 19)
        shares = np.array([calibration.coverage(float(level))[i] for level in levels])
        ax.plot(100 * levels, 100 * shares, color=color, linewidth=2, marker="o", markersize=3, label=title)
    ax.set(xlim=(0, 100), ylim=(0, 100), xlabel="nominal % of an interval", ylabel="% of outcomes within")
    ax.legend(loc="upper left", fontsize=9)
