"""What the judge found: ratios with intervals, a table, a file and a picture."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from overcast.experiments.figures.drawing import HUES, STYLE

#: no problem may have the upper end of its interval above this
LIMIT = 1.3
SETTINGS = "hidden", "observed"
# Coverage of a stated 95 % interval should lie between these.
LOW, HIGH = 0.90, 0.99
# Ratios below this count as this: a logarithm needs some.
TINY = 1e-6
# How the horizons are drawn: label, marker and strength.
MARKS = ("T = 30", "o", 0.45), ("T = 100", "s", 0.7), ("last round", "D", 1.0)


class Ratio(NamedTuple):
    """The default's mean regret divided by the opponent's, over the same trials, with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """One problem in one setting; "both" if the context is always known.

    ratios : by opponent and horizon
    betas : chosen for each opponent and horizon
    coverage : share of intervals that hold the truth and half its 95 % interval, by round; empty if not counted
    """

    name: str
    setting: str
    ratios: dict[str, dict[str, Ratio | None]]
    betas: dict[str, dict[str, float]]
    coverage: dict[str, list[float]]
    seconds: float

    @property
    def text(self) -> str:
        parts = [
            f"{shown} " + " ".join("–" if r is None else f"{r.value:.2f}" for r in by_horizon.values())
            for shown, by_horizon in self.ratios.items()
        ]
        if self.coverage:
            parts.append("coverage " + " ".join(f"{100 * share:.0f}" for share, _ in self.coverage.values()) + " %")
        return " | ".join([*parts, f"{self.seconds:.0f} s"])

    def summary(self) -> dict[str, Any]:
        def short(ratio: Ratio | None) -> list[float] | None:
            return None if ratio is None else [float(f"{x:.4g}") for x in ratio]

        return {
            "name": self.name,
            "setting": self.setting,
            "ratios": {shown: {t: short(r) for t, r in by.items()} for shown, by in self.ratios.items()},
            "betas": self.betas,
            "coverage": {t: [round(x, 4) for x in pair] for t, pair in self.coverage.items()},
        }


def ratio(default: Sequence[float], opponent: Sequence[float]) -> Ratio | None:
    """Return the ratio of two means over paired trials, by the delta method; None if the opponent has no regret."""
    a, b = np.array(default), np.array(opponent)
    if not b.mean() > 0.0:
        return None
    value = float(a.mean() / b.mean())
    error = 1.96 * float((a - value * b).std(ddof=1)) / math.sqrt(len(a)) / float(b.mean())
    return Ratio(value, value - error, value + error)


class Score(NamedTuple):
    """The ratios of all problems in one setting against one opponent at one horizon."""

    setting: str
    opponent: str
    horizon: str
    problems: int
    mean: float  # geometric
    worst: float
    worst_name: str
    above: list[str]  # problems whose upper end is above the limit


def scores(rows: Sequence[Row]) -> Iterator[Score]:
    """Yield the scores by setting, opponent and horizon; of the settings that were run."""
    run = {row.setting for row in rows} - {"both"} or set(SETTINGS)
    for setting in (setting for setting in SETTINGS if setting in run):
        of = [row for row in rows if row.setting in (setting, "both")]
        for opponent in dict.fromkeys(shown for row in of for shown in row.ratios):
            for t in sorted({t for row in of for t in row.ratios[opponent]}, key=int):
                found = {row.name: r for row in of if (r := row.ratios[opponent].get(t)) is not None}
                if not found:
                    continue
                worst = max(found, key=lambda name: found[name].value)
                mean = math.exp(np.mean([math.log(max(r.value, TINY)) for r in found.values()]))
                above = [name for name, r in found.items() if r.high > LIMIT]
                yield Score(setting, opponent, t, len(found), mean, found[worst].value, worst, above)


def table(rows: Sequence[Row]) -> str:
    """Return the scores, the problems above the limit, and the coverage, as text."""
    lines = [f"{'setting':10}{'opponent':10}{'T':>5}{'n':>4}{'geo. mean':>11}{'worst':>7}"]
    lines += [
        f"{s.setting:10}{s.opponent:10}{s.horizon:>5}{s.problems:4}{s.mean:11.3f}{s.worst:7.2f}  {s.worst_name}"
        for s in scores(rows)
    ]
    lines += ["", f"upper end of the interval above {LIMIT}:"]
    for row in rows:
        high = [
            f"{shown} T={t} {r.value:.2f} ({r.low:.2f}–{r.high:.2f})"
            for shown, by in row.ratios.items()
            for t, r in by.items()
            if r is not None and r.high > LIMIT
        ]
        if high:
            lines.append(f"  {row.name} · {row.setting}: {'; '.join(high)}")
    lines += ["", "coverage of the stated 95 % interval, least and most over problems:"]
    for setting in SETTINGS:
        of = [row for row in rows if row.setting in (setting, "both") and row.coverage]
        for t in sorted({t for row in of for t in row.coverage}, key=int):
            shares = {row.name: row.coverage[t][0] for row in of if t in row.coverage}
            outside = [f"{name} {share:.1%}" for name, share in shares.items() if not LOW <= share <= HIGH]
            line = f"  {setting:10}round {t:>4}: {min(shares.values()):.1%} – {max(shares.values()):.1%}"
            lines.append(line + (f"; outside {LOW:.0%}–{HIGH:.0%}: {', '.join(outside)}" if outside else ""))
    return "\n".join(lines)


def keep(path: Path, policy: str, part: str, trials: int, rows: Sequence[Row]) -> None:
    """Put the summary of one part into a JSON file that may hold others; every problem takes one line."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept = [{**s._asdict(), "mean": round(s.mean, 4), "worst": round(s.worst, 4)} for s in scores(rows)]
    data.setdefault(policy, {})[part] = {
        "trials": trials,
        "scores": kept,
        "problems": [row.summary() for row in rows],
    }
    path.write_text(_json(data) + "\n", encoding="utf-8")


def _json(data: dict[str, Any]) -> str:
    """Return JSON with one line for each score and each problem."""

    def lines(items: Sequence[Any]) -> str:
        return "[\n" + ",\n".join("    " + json.dumps(item, ensure_ascii=False) for item in items) + "\n   ]"

    def part(found: dict[str, Any]) -> str:
        inner = f'"scores": {lines(found["scores"])},\n   "problems": {lines(found["problems"])}'
        return f'{{\n   "trials": {found["trials"]},\n   {inner}\n  }}'

    def of(parts: dict[str, Any]) -> str:
        return ",\n".join(f"  {json.dumps(name)}: {part(found)}" for name, found in parts.items())

    policies = [f" {json.dumps(name)}: {{\n{of(parts)}\n }}" for name, parts in data.items()]
    return "{\n" + ",\n".join(policies) + "\n}"


def draw(rows: Sequence[Row], title: str) -> Figure:
    """Return the figure: the ratios of all problems, one row of panels per setting and one column per opponent."""
    opponents = list(dict.fromkeys(shown for row in rows for shown in row.ratios))
    names = list(dict.fromkeys(row.name for row in rows))
    with matplotlib.rc_context(STYLE):
        size = 2.5 + 4.0 * len(opponents), 2.0 + 0.3 * len(names) * len(SETTINGS)
        fig = Figure(figsize=size, layout="constrained")
        panels = fig.subplots(len(SETTINGS), len(opponents), sharex=True, sharey=True, squeeze=False)
        for setting, line in zip(SETTINGS, panels, strict=True):
            of = [row for row in rows if row.setting in (setting, "both")]
            for opponent, ax in zip(opponents, line, strict=True):
                _draw_panel(ax, {names.index(row.name): list(row.ratios[opponent].values()) for row in of}, setting)
                ax.set_title(f"{setting}, against {opponent}", fontsize=10)
                ax.set_yticks(-np.arange(len(names)), names, fontsize=7)
                ax.set_ylim(0.4 - len(names), 0.6)
        for ax in panels[-1]:
            ax.set_xlabel("default / best β")
        fig.legend(*_legend(panels), loc="outside lower center", ncols=2)
        fig.suptitle(f"The untuned default against the best β of the grid: {title}; 95 % intervals", fontsize=12)
    return fig


def _draw_panel(ax: Axes, ratios: dict[int, list[Ratio | None]], setting: str) -> None:
    """Draw the ratios of each problem, by its place, one mark per horizon."""
    for i, (label, marker, alpha) in enumerate(MARKS):
        found = [(place, r) for place, own in ratios.items() if i < len(own) and (r := own[i]) is not None]
        if not found:
            continue
        y = [0.22 - 0.22 * i - place for place, _ in found]
        x, low, high = (np.array([r[j] for _, r in found]) for j in range(3))
        bars = np.maximum([x - np.maximum(low, x / 3.0), high - x], 0.0)  # a log axis has no room below zero
        style: Any = {"fmt": marker, "markersize": 3, "linewidth": 0.9, "alpha": alpha, "label": f"{setting}, {label}"}
        ax.errorbar(np.maximum(x, TINY), y, xerr=bars, color=HUES[setting], **style)
    ax.axvline(1.0, color="#999999", linewidth=1.0)
    ax.axvline(LIMIT, color="black", linewidth=1.0, dashes=(4, 2))
    ax.set_xscale("log")


def _legend(panels: Any) -> tuple[list[Any], list[str]]:
    """Return the handles and labels of the first panel of each setting."""
    pairs = [panel.get_legend_handles_labels() for panel in panels[:, 0]]
    return [h for handles, _ in pairs for h in handles], [label for _, labels in pairs for label in labels]
