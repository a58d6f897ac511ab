"""Draw an experiment: regret against steps for each curve, with bands of two standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from overcast.experiments.engine.experiment import CURVES
from overcast.experiments.engine.outcome import Line, Outcome, with_error
from overcast.simulation.record import draw_band, mean_and_error

# One hue per setting. Dashes encode the number of samples, also for readers without colour.
HUES = {"exact": "#444444", "observed": "#0072b2", "hidden": "#d55e00"}
# Hues of named curves.
NAMED = {"Fourier": "#009e73", "mean plugged in": "#cc79a7", "theory": "#56b4e9"}
DASHES: dict[int | None, tuple[float, ...]] = {10: (1.0, 1.5), 100: (4.0, 2.0), None: ()}

STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "font.size": 10,
    "legend.frameon": False,
    "svg.fonttype": "path",
}


def draw(outcome: Outcome) -> Figure:
    """Draw the main panel and the named panels; an exact curve far below zero gets its own axes."""
    e = outcome.experiment
    main = [line for line in outcome.lines if not line.curve.panel]
    side = list(dict.fromkeys(line.curve.panel for line in outcome.lines if line.curve.panel))
    with matplotlib.rc_context(STYLE):
        fig = Figure(figsize=(9.0 + 4.5 * bool(side), 4.8 + 1.2 * bool(side)), layout="constrained")
        grid = fig.add_gridspec(1, 1 + bool(side), width_ratios=[1.5, 1.0] if side else [1.0])
        betas = {line.beta for line in outcome.lines}
        _draw_main(fig, grid[0], main, betas=len(betas) > 1)
        if side:
            cells = grid[1].subgridspec(len(side), 1)
            for i, panel in enumerate(side):
                ax = fig.add_subplot(cells[i])
                _draw_side(ax, panel, [line for line in outcome.lines if line.curve.panel == panel], main)
        fig.supylabel("cumulative regret", fontsize=10)
        suffix = f", {_betas(main)}" if len(betas) == 1 else ""
        fig.suptitle(f"{e.title}: mean of {e.trials} trials, bands of two standard errors{suffix}", fontsize=11)
        fig.legend(*_legend(fig), loc="outside right center", handlelength=2.8)
    return fig


def draw_all(outcomes: Sequence[Outcome]) -> Figure:
    """Draw the main panels of several experiments side by side, with a joint legend."""
    with matplotlib.rc_context(STYLE):
        fig = Figure(figsize=(4.6 * len(outcomes), 5.4), layout="constrained")
        grid = fig.add_gridspec(1, len(outcomes))
        for i, outcome in enumerate(outcomes):
            e, lines = outcome.experiment, [line for line in outcome.lines if not line.curve.panel]
            top = _draw_main(fig, grid[i], lines, betas=False)
            top.set_title(f"({e.figure[-1:]}) {e.title}\n{e.trials} trials, {_betas(lines)}", fontsize=10)
        fig.supylabel("cumulative regret", fontsize=10)
        fig.suptitle("Mean over trials, bands of two standard errors", fontsize=11)
        fig.legend(*_legend(fig), loc="outside lower center", ncols=len(CURVES), handlelength=2.8)
    return fig


def _betas(lines: list[Line]) -> str:
    """Return the betas of the settings as text, one if all are equal."""
    by_setting: dict[str, dict[str, None]] = {}
    for line in sorted(lines, key=lambda line: line.beta or 0.0):
        by_setting.setdefault(line.curve.setting, {})[line.beta_label] = None
    if len({line.beta for line in lines}) == 1:
        return f"β = {lines[0].beta_label}"
    known = [setting for setting in HUES if setting in by_setting]
    return "β = " + ", ".join(f"{'/'.join(by_setting[setting])} ({setting})" for setting in known)


def _draw_main(fig: Figure, cell: SubplotSpec, lines: list[Line], betas: bool = True) -> Axes:
    """Draw the main panel into a cell, and return its upper axes."""
    exact = [line for line in lines if line.curve.setting == "exact"]
    others = [line for line in lines if line.curve.setting != "exact"]
    height = max(float(line.regret.mean(axis=0).max()) for line in others)
    if any(float(line.regret.mean(axis=0).min()) < -height for line in exact):
        cells = cell.subgridspec(2, 1, height_ratios=[3, 1])
        top = fig.add_subplot(cells[0])
        panels = [(top, others), (fig.add_subplot(cells[1], sharex=top), exact)]
        top.tick_params(labelbottom=False)
    else:
        panels = [(fig.add_subplot(cell), [*others, *exact])]
    for ax, drawn in panels:
        for line in drawn:
            _draw_line(ax, line, betas)
        ax.margins(x=0)
    panels[-1][0].set_xlabel("steps")
    return panels[0][0]


def _draw_side(ax: Axes, title: str, lines: list[Line], main: list[Line]) -> None:
    """Draw curves with those of the main panel for the same setting and samples, or with the theorem's bound."""
    for line in lines:
        counterpart = (line.curve.setting, line.curve.samples, "") if line.bound is None else None
        for other in main:
            if (other.curve.setting, other.curve.samples, other.curve.name) == counterpart:
                _draw_line(ax, other)
        _draw_line(ax, line)
        if line.bound is not None:
            draw_band(ax, line.bound, label="bound of the theorem", color="black", linewidth=1.4)
            ax.set_yscale("log")
    ax.set_title(title, fontsize=10)
    ax.margins(x=0)
    ax.set_xlabel("steps")


def _draw_line(ax: Axes, line: Line, betas: bool = True) -> None:
    curve, label = line.curve, line.curve.label
    if betas:
        label += " (β_t of the theorem)" if line.beta is None else f" (β = {line.beta:g})"
    color = NAMED.get(curve.name, HUES[curve.setting])
    draw_band(ax, line.regret, label=label, color=color, dashes=DASHES[curve.samples], linewidth=1.4)


def _legend(fig: Figure) -> tuple[list[Artist], list[str]]:
    """Return handles and distinct labels."""
    seen: dict[str, Artist] = {}
    for ax in fig.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            seen.setdefault(label, handle)
    return list(seen.values()), list(seen)


def final_regrets(outcome: Outcome) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table: curve, beta, final regret and final expected regret."""
    return [(line.curve.label, line.beta_label, *line.finals()) for line in outcome.lines]


def notes(outcome: Outcome) -> list[str]:
    """Return sentences on the data, the bounds, and the cost of named curves against plain ones."""
    lines = outcome.lines
    plain = {(line.curve.setting, line.curve.samples): line for line in lines if not line.curve.name}
    out = list(outcome.experiment.notes)
    for line in lines:
        if line.bound is not None:
            share = (line.regret <= line.bound).all(axis=1).mean()
            out.append(
                f"“{line.curve.label}” has a bound of {line.bound[:, -1].mean():,.0f} by the theorem; "
                f"{share:.0%} of the trials stay below theirs at every step."
            )
        elif line.curve.name:
            base = plain[line.curve.setting, line.curve.samples]
            gap = with_error(mean_and_error(line.final() - base.final()))
            out.append(f"“{line.curve.label}” costs {gap} more than “{base.curve.label}”, trial by trial.")
    return out
