"""Draw a ranking: a dot and its interval a method, a panel a problem and setting."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from overcast.experiments.figure import STYLE
from overcast.experiments.outcome import Outcome
from overcast.experiments.ranking import DEFAULT, PAPER, Place, ranking
from overcast.experiments.tuning import SETTINGS
from overcast.simulation.runner import Setting
from overcast.simulation.runs import two_standard_errors

# One hue a kind of method, and a shape of the dot that tells them apart without colour.
KINDS = {
    "the default": ("#0072b2", "D"),
    "the paper's UCB": ("#d55e00", "s"),
    "other policies, same model": ("#444444", "o"),
    "shortcuts past the distribution": ("#cc79a7", "^"),
    "other models": ("#009e73", "v"),
}
KIND_OF = {
    DEFAULT: "the default",
    PAPER: "the paper's UCB",
    **dict.fromkeys(("mean plugged in", "one sampled context"), "shortcuts past the distribution"),
    **dict.fromkeys(("FixedProfile", "NoisyContext", "EXP4"), "other models"),
}

# Regrets beyond so many times the median are cut off at the edge of the panel and written there.
FAR = 3.0


def draw(outcomes: Sequence[Outcome]) -> Figure:
    """Return a column a problem, a row a setting."""
    with matplotlib.rc_context(STYLE):
        fig = Figure(figsize=(5.4 * len(outcomes), 8.8), layout="constrained")
        axes = fig.subplots(len(SETTINGS), len(outcomes), squeeze=False)
        for column, outcome in zip(axes.T, outcomes, strict=True):
            for ax, setting in zip(column, SETTINGS, strict=True):
                _draw_panel(ax, outcome, setting)
        handles = [
            Line2D([], [], color=colour, marker=marker, linestyle="", label=kind)
            for kind, (colour, marker) in KINDS.items()
        ]
        fig.legend(handles=handles, loc="outside lower center", ncols=len(KINDS))
        fig.suptitle(
            "Regret after the last step; bars of two standard errors, filled where tied with the best", fontsize=12
        )
    return fig


def _draw_panel(ax: Axes, outcome: Outcome, setting: Setting) -> None:
    places = ranking(outcome, setting)
    means = np.array([float(place.values.mean()) for place in places])
    errors = np.nan_to_num([float(two_standard_errors(place.values)) for place in places])
    edge = means[0] + FAR * (np.median(means) - means[0])
    for i, place in enumerate(places):
        colour, marker = KINDS[_kind(place)]
        if means[i] > edge > means[0]:
            ax.annotate(f"{_short(means[i])} →", (edge, -i), ha="right", va="center", color=colour, fontsize=8)
            continue
        fill = colour if place.tied else "white"
        ax.errorbar(means[i], -i, xerr=errors[i], color=colour, marker=marker, markerfacecolor=fill, capsize=3)
    if edge > means[0]:
        shown = means <= edge
        ax.set_xlim(right=max(edge, float((means + errors)[shown].max())) * 1.02)
    ax.set_ylim(-len(places) + 0.4, 0.6)
    ax.set_yticks(-np.arange(len(places)), [place.label for place in places], fontsize=8)
    for tick, place in zip(ax.get_yticklabels(), places, strict=True):
        tick.set_color(KINDS[_kind(place)][0])
        tick.set_fontweight("bold" if place.line.curve.name in (DEFAULT, PAPER) else "normal")
    e = outcome.experiment
    ax.set_title(f"{e.title}, {setting}", fontsize=10)
    ax.set_xlabel(f"{places[0].measure.replace('_', ' ')} after {e.steps} steps")


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.2g}"


def _kind(place: Place) -> str:
    return KIND_OF.get(place.line.curve.name, "other policies, same model")
