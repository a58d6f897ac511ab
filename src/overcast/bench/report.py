"""The report of a race: its record, its table and its picture."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from overcast.bench.race import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADER = "", "rule", "µs a round", "overcast = 1", "same choices"
OVERCAST, FLOOR, OTHER = "#0072b2", "#999999", "#d55e00"


def record(results: Sequence[Result], missing: Sequence[str]) -> dict[str, Any]:
    """Return results as JSON data; `missing` names the packages that are not installed."""
    rows = [{**r._asdict(), "seconds": float(f"{r.seconds:.4g}"), "agreement": round(r.agreement, 4)} for r in results]
    return {"python": platform.python_version(), "machine": platform.machine(), "missing": list(missing), "rows": rows}


def results(data: dict[str, Any]) -> list[Result]:
    """Return the results in a record."""
    return [Result(**row) for row in data["rows"]]


def tables(race_results: Iterable[Result]) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return one table per task: its name, and rows from the fastest entry to the slowest."""
    return [(task, _rows(list(rows))) for task, rows in groupby(race_results, key=lambda r: r.task)]


def _rows(race_results: list[Result]) -> list[tuple[str, ...]]:
    overcast = next(r.seconds for r in race_results if r.label == "overcast")
    return [
        (
            f"{r.label} {r.version}".strip(),
            r.rule,
            f"{r.seconds * 1e6:,.0f}",
            f"{r.seconds / overcast:.3g}",
            f"{r.agreement:.0%}" if r.same else "-",
        )
        for r in sorted(race_results, key=lambda r: r.seconds)
    ]


def draw(race_results: Iterable[Result]) -> Figure:
    """Draw one panel per task, one bar per entry, with microseconds on a logarithmic scale."""
    import matplotlib
    from matplotlib.figure import Figure

    groups = [
        (task, sorted(rows, key=lambda r: -r.seconds)) for task, rows in groupby(race_results, key=lambda r: r.task)
    ]
    heights = [len(rows) + 1.2 for _, rows in groups]
    style: Any = {"axes.spines.top": False, "axes.spines.right": False, "font.size": 9}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(8.0, 0.27 * sum(heights) + 0.5), layout="constrained")
        axes = figure.subplots(len(groups), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        for ax, (task, rows) in zip(axes, groups, strict=True):
            micro = [r.seconds * 1e6 for r in rows]
            colours = [OVERCAST if r.label.startswith("overcast") else OTHER if r.version else FLOOR for r in rows]
            bars = ax.barh([f"{r.label}: {r.rule}" for r in rows], micro, color=colours, height=0.7)
            ax.bar_label(bars, [f"{value:,.0f}" for value in micro], padding=3, fontsize=8)
            ax.set_xscale("log")
            ax.set_title(task, fontsize=9, loc="left")
            ax.margins(y=0.02)
        axes[-1].set_xlabel("microseconds to decide and learn, one thread; shorter is faster")
        most = max(r.seconds for _, rows in groups for r in rows) * 1e6
        axes[-1].set_xlim(5.0, most * 4.0)
    return figure


def brief(race_results: Iterable[Result]) -> str:
    """Return a Markdown table with one line per task: this package, the bare calls, and the two fastest others."""
    lines = ["| the same rounds | overcast | bare NumPy | the fastest others |", "|---|--:|--:|---|"]
    for task, group in groupby(race_results, key=lambda r: r.task):
        rows = sorted(group, key=lambda r: r.seconds)
        overcast = next(r for r in rows if r.label == "overcast")
        bare = next(r for r in rows if not r.version)
        others = [r for r in rows if r.version and not r.label.startswith("overcast")][:2]
        fastest = ", ".join(f"{r.label} ({r.rule}) {r.seconds * 1e6:,.0f}" for r in others)
        lines.append(f"| {task} | {overcast.seconds * 1e6:,.0f} | {bare.seconds * 1e6:,.0f} | {fastest} |")
    return "\n".join(lines)
