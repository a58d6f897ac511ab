"""Draw an experiment: regret against steps, one line a curve, bands of two standard errors."""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from overcast.experiments.outcome import Line, Outcome
from overcast.simulation.runs import draw_band

# One hue a setting, told apart without colour by the dashes, which stand for the number of samples.
HUES = {"exact": "#444444", "observed": "#0072b2", "hidden": "#d55e00"}
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
    """Return the figure; where exact falls far below zero it gets a panel of its own."""
    exact = [line for line in outcome.lines if line.curve.setting == "exact"]
    others = [line for line in outcome.lines if line.curve.setting != "exact"]
    height = max(float(line.regret.mean(axis=0).max()) for line in others)
    apart = any(float(line.regret.mean(axis=0).min()) < -height for line in exact)
    with matplotlib.rc_context(STYLE):
        fig = Figure(figsize=(9.0, 4.8), layout="constrained")
        if apart:
            main, below = fig.subplots(2, 1, sharex=True, height_ratios=[3, 1])
            panels: list[tuple[Axes, list[Line]]] = [(main, others), (below, exact)]
        else:
            main = fig.subplots()
            panels = [(main, [*others, *exact])]
        for ax, lines in panels:
            for line in lines:
                _draw_line(ax, line)
            ax.margins(x=0)
        panels[-1][0].set_xlabel("steps")
        fig.supylabel("cumulative regret", fontsize=10)
        e = outcome.experiment
        fig.suptitle(f"{e.title}: mean of {e.trials} trials, bands of two standard errors", fontsize=11)
        fig.legend(loc="outside right center", handlelength=2.8)
    return fig


def _draw_line(ax: Axes, line: Line) -> None:
    dashes = DASHES[line.curve.samples]
    label = f"{line.curve.label} (β = {line.beta:g})"
    draw_band(ax, line.regret, label=label, color=HUES[line.curve.setting], dashes=dashes, linewidth=1.4)


def final_regrets(outcome: Outcome) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table beside the figure: curve, beta, regret and expected regret after the last step."""
    rows = []
    for line in outcome.lines:
        summary = line.summary()
        regret, expected = _with_error(summary["regret"]), _with_error(summary["expected_regret"])
        rows.append((line.curve.label, f"{line.beta:g}", regret, expected))
    return rows


def _with_error(value: dict[str, float | None]) -> str:
    mean, error = value["mean"], value["two_se"]
    return f"{mean:,.1f}" if error is None else f"{mean:,.1f} ± {error:,.1f}"
