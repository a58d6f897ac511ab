"""Draw an experiment: regret against steps, one line a curve, bands of two standard errors."""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from overcast.experiments.outcome import Line, Outcome
from overcast.simulation.runs import draw_band, mean_and_error

# One hue a setting, told apart without colour by the dashes, which stand for the number of samples.
HUES = {"exact": "#444444", "observed": "#0072b2", "hidden": "#d55e00"}
# Curves with a name of their own have a hue of their own.
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
    """Return the figure: the main panel, others beside it; where exact falls far below zero it gets one below."""
    e = outcome.experiment
    main = [line for line in outcome.lines if not line.curve.panel]
    side = list(dict.fromkeys(line.curve.panel for line in outcome.lines if line.curve.panel))
    with matplotlib.rc_context(STYLE):
        fig = Figure(figsize=(9.0 + 4.5 * bool(side), 4.8 + 1.2 * bool(side)), layout="constrained")
        grid = fig.add_gridspec(1, 1 + bool(side), width_ratios=[1.5, 1.0] if side else [1.0])
        _draw_main(fig, grid[0], main)
        if side:
            cells = grid[1].subgridspec(len(side), 1)
            for i, panel in enumerate(side):
                ax = fig.add_subplot(cells[i])
                _draw_side(ax, panel, [line for line in outcome.lines if line.curve.panel == panel], main)
        fig.supylabel("cumulative regret", fontsize=10)
        fig.suptitle(f"{e.title}: mean of {e.trials} trials, bands of two standard errors", fontsize=11)
        fig.legend(*_legend(fig), loc="outside right center", handlelength=2.8)
    return fig


def _draw_main(fig: Figure, cell: SubplotSpec, lines: list[Line]) -> None:
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
            _draw_line(ax, line)
        ax.margins(x=0)
    panels[-1][0].set_xlabel("steps")


def _draw_side(ax: Axes, title: str, lines: list[Line], main: list[Line]) -> None:
    """Draw curves against those of the main panel that see the same, and the theorem's bound where there is one."""
    for line in lines:
        same = [
            (other.curve.setting, other.curve.samples) == (line.curve.setting, line.curve.samples) for other in main
        ]
        for other, drawn in zip(main, same, strict=True):
            if drawn and not other.curve.name and line.bound is None:
                _draw_line(ax, other)
        _draw_line(ax, line)
        if line.bound is not None:
            draw_band(ax, line.bound, label="bound of the theorem", color="black", linewidth=1.4)
            ax.set_yscale("log")
    ax.set_title(title, fontsize=10)
    ax.margins(x=0)
    ax.set_xlabel("steps")


def _draw_line(ax: Axes, line: Line) -> None:
    curve = line.curve
    label = f"{curve.label} (β_t of the theorem)" if line.beta is None else f"{curve.label} (β = {line.beta:g})"
    color = NAMED.get(curve.name, HUES[curve.setting])
    draw_band(ax, line.regret, label=label, color=color, dashes=DASHES[curve.samples], linewidth=1.4)


def _legend(fig: Figure) -> tuple[list[Artist], list[str]]:
    """Return every label once."""
    seen: dict[str, Artist] = {}
    for ax in fig.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            seen.setdefault(label, handle)
    return list(seen.values()), list(seen)


def final_regrets(outcome: Outcome) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table beside the figure: curve, beta, regret and expected regret after the last step."""
    rows = []
    for line in outcome.lines:
        summary = line.summary()
        regret, expected = _with_error(summary["regret"]), _with_error(summary["expected_regret"])
        rows.append((line.curve.label, line.beta_label, regret, expected))
    return rows


def notes(outcome: Outcome) -> list[str]:
    """Return sentences on what the table does not show: bounds, and what named curves cost beside plain ones."""
    lines = outcome.lines
    plain = {(line.curve.setting, line.curve.samples): line for line in lines if not line.curve.name}
    out = []
    for line in lines:
        if line.bound is not None:
            out.append(
                f"“{line.curve.label}” has a bound of {line.bound[:, -1].mean():,.0f} by the theorem; "
                f"{_share(line)} of the trials stay below theirs at every step."
            )
        elif line.curve.name:
            base = plain[line.curve.setting, line.curve.samples]
            gap = _with_error(mean_and_error(line.regret[:, -1] - base.regret[:, -1]))
            out.append(f"“{line.curve.label}” costs {gap} more than “{base.curve.label}”, trial by trial.")
    return out


def _share(line: Line) -> str:
    assert line.bound is not None
    return f"{(line.regret <= line.bound).all(axis=1).mean():.0%}"


def _with_error(value: dict[str, float | None]) -> str:
    mean, error = value["mean"], value["two_se"]
    return f"{mean:,.1f}" if error is None else f"{mean:,.1f} ± {error:,.1f}"
