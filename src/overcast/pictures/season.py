"""Draw the history of a bandit: rewards, shares of actions, widths, and forecasts with outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from overcast._check import Array, cut
from overcast.pictures.common import MAIN, OTHER, ink, open_frame, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: most actions with an area each, and most dimensions of the context
AREAS, DIMENSIONS = 7, 4
# Widths that differ by this factor get a logarithmic axis.
FAR = 20.0
COLORS = ("#2b8cdb", "#e08214", "#7fbf7b", "#c2a5cf", "#f6c64f", "#8c6d46", "#5ab4ac", "#9a9a9a")
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "oo", "")


def draw(owner: str, history: Any, labels: Sequence[str]) -> Figure:
    """Draw an `overcast.decisions.History`; labels (k,) name the actions."""
    shown = min(len(history.names), DIMENSIONS)
    rows = 3 + shown
    figure: Figure
    figure, grid = pyplot(owner).subplots(
        rows, 1, layout="constrained", figsize=(8.4, 1.75 * rows + 0.4), sharex=True, squeeze=False
    )
    reward, share, width, *forecasts = grid[:, 0]
    rounds, window = history.round, max(5, len(history) // 10)
    _rewards(reward, rounds, history.reward, window)
    _shares(share, rounds, history.index, labels, window)
    _widths(width, rounds, history.width)
    for i, ax in enumerate(forecasts):
        _fan(ax, rounds, history.quantiles[:, :, i], history.context[:, i])
        ax.set_ylabel(history.names[i])
    for ax in grid[:, 0]:
        open_frame(ax)
    if forecasts:
        forecasts[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)
    grid[-1, 0].xaxis.get_major_locator().set_params(integer=True)
    left = len(history.names) - shown
    grid[-1, 0].set_xlabel("decision" + (f" ({left} more dimensions of the context are left out)" if left else ""))
    return figure


def moving_mean(values: Array, window: int) -> Array:
    """Return the moving mean of values (n,) over `window` entries, ignoring NaN; NaN if all are."""
    known = np.isfinite(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(known)])
    end = np.arange(1, len(values) + 1)
    start = np.maximum(0, end - window)
    number = counts[end] - counts[start]
    return np.where(number > 0, (sums[end] - sums[start]) / np.maximum(number, 1), np.nan)


def _rewards(ax: Axes, rounds: Any, rewards: Array, window: int) -> None:
    ax.plot(rounds, rewards, ".", color=ink(ax), alpha=0.5, markersize=4, label="reward")
    ax.plot(rounds, moving_mean(rewards, window), color=MAIN, linewidth=2, label=f"mean of\n{window} decisions")
    ax.set_ylabel("reward")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)


def _shares(ax: Axes, rounds: Any, index: Any, labels: Sequence[str], window: int) -> None:
    """Draw the share of each action among the latest decisions, with rare actions as one area."""
    counts = np.bincount(index, minlength=len(labels))
    often = [int(i) for i in np.argsort(-counts, kind="stable")[:AREAS] if counts[i]]
    rows = [moving_mean((index == i).astype(np.float64), window) for i in often]
    names = [labels[i] for i in often]
    rest = int((counts > 0).sum()) - len(often)
    if rest:
        rows.append(np.clip(1.0 - np.sum(rows, axis=0), 0.0, 1.0))
        names.append(f"{rest} others")
    x = rounds if len(rounds) > 1 else np.array([rounds[0] - 0.5, rounds[0] + 0.5])
    table = np.array(rows) if len(rounds) > 1 else np.repeat(np.array(rows), 2, axis=1)
    areas = ax.stackplot(x, 100.0 * table, labels=[cut(name, 24) for name in names])
    for at, area in enumerate(areas):
        area.set(facecolor=COLORS[at], edgecolor=ax.get_facecolor(), hatch=HATCHES[at], linewidth=0.6)
    ax.set_ylim(0.0, 100.0)
    ax.set_ylabel("% of decisions")
    handles, texts = ax.get_legend_handles_labels()
    ax.legend(handles[::-1], texts[::-1], loc="upper left", bbox_to_anchor=(1.0, 1.05), frameon=False, fontsize=8)


def _widths(ax: Axes, rounds: Any, widths: Array) -> None:
    """Plot the widths of the chosen actions, on a logarithmic axis if they shrink by much."""
    ax.plot(rounds, widths, ".", color=MAIN, markersize=5)
    if widths.min() > 0.0 and widths.max() > FAR * widths.min():
        ax.set_yscale("log")
    else:
        ax.set_ylim(0.0)
    ax.set_ylabel("width")


def _fan(ax: Axes, rounds: Any, quantiles: Array, came: Array) -> None:
    """Draw quantiles (n, 5) as two bands, contexts known exactly as points, and outcomes (n,)."""
    certain = quantiles[:, 0] == quantiles[:, 4]  # a band without width is invisible
    if certain.any():
        ax.plot(rounds[certain], quantiles[certain, 2], ".", color=MAIN, markersize=6, label="known")
    if len(rounds) > 1:
        for low, high, alpha, name in ((0, 4, 0.35, "5 to 95 %"), (1, 3, 0.6, "25 to 75 %")):
            edges = quantiles[:, low], quantiles[:, high]
            ax.fill_between(rounds, *edges, step="mid", color=MAIN, alpha=alpha, linewidth=0, label=name)
    else:
        ax.vlines(rounds, quantiles[:, 0], quantiles[:, 4], color=MAIN, alpha=0.35, linewidth=8, label="5 to 95 %")
        ax.vlines(rounds, quantiles[:, 1], quantiles[:, 3], color=MAIN, alpha=0.6, linewidth=8, label="25 to 75 %")
    ax.plot(rounds, came, "x", color=OTHER, markersize=4, markeredgewidth=1.2, label="what came")
