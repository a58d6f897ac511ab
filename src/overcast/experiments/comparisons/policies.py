"""Rank all policies and baselines on the paper's three problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from overcast._check import Array
from overcast.experiments.comparisons.comparison import GRID, Comparison, Table, features_of
from overcast.experiments.comparisons.tuning import SETTINGS
from overcast.experiments.engine.experiment import Curve, Experiment
from overcast.experiments.engine.outcome import Line, Outcome, text
from overcast.experiments.figures.drawing import STYLE
from overcast.models import Exp4, FixedProfile, LinearModel, MeanContext, NoisyContext
from overcast.policies import IDS, UCB, EpsilonGreedy, Greedy, MostlyGreedy, PerturbedHistory, Proportional, Thompson
from overcast.simulation import Setting
from overcast.simulation.record import mean_and_error, two_standard_errors

#: number of trials, and the share of them for methods without lock-step, which are slow
TRIALS, SLOW = 100, 0.25

#: the number of EXP4's random experts
EXPERTS = 100

# Regrets of methods with equal choices may differ by rounding.
ROUNDING = 1e-9

DEFAULT = "UCB, untuned (default)"
PAPER = "UCB, tuned (paper)"

# One hue and marker per kind of method.
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

# A panel ends at the best regret plus this many times the median's distance from it; larger regrets are annotated.
FAR = 3.0


class Policies(Comparison):
    """One ranking per problem and setting, hidden and observed, by final regret."""

    name = "policies"
    title = "Policies and baselines"

    def experiment(self, problem: Experiment) -> Experiment:
        return replace(
            problem,
            trials=min(problem.trials, TRIALS),
            betas=dict.fromkeys(problem.betas, GRID),
            curves=tuple(curve for setting in SETTINGS for curve in _curves(problem, setting)),
        )

    def variants(self, outcome: Outcome) -> list[Line]:
        return [place.line for setting in SETTINGS for place in ranking(outcome, setting)]

    def details(self, outcome: Outcome) -> dict[str, Any]:
        return {"rankings": {setting: [place.summary() for place in ranking(outcome, setting)] for setting in SETTINGS}}

    def tables(self, outcomes: Sequence[Outcome]) -> list[Table]:
        return [_table(outcome, setting) for outcome in outcomes for setting in SETTINGS]

    def draw(self, outcomes: Sequence[Outcome]) -> Figure:
        """Draw the figure: one column per problem, one row per setting."""
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
            title = "Regret after the last step; bars of two standard errors, filled where tied with the best"
            fig.suptitle(title, fontsize=12)
        return fig


def _curves(problem: Experiment, setting: Setting) -> list[Curve]:
    """Return every method, slow ones first, to keep all workers busy to the end."""
    features = features_of(problem)
    default = LinearModel(features)
    # Models with a ridge of one do not learn their scale, and get the authors' beta.
    appendix = UCB(problem.betas[setting][0])
    slow = [
        Curve(setting, None, "FixedProfile", FixedProfile(features), appendix),
        Curve(setting, 1, "NoisyContext", NoisyContext(features), appendix),
        Curve(setting, None, "EXP4", Exp4(features, EXPERTS), Proportional()),
    ]
    policies = [Thompson(), PerturbedHistory(), Greedy(), EpsilonGreedy(), MostlyGreedy(), IDS()]
    return [
        *(replace(curve, share=SLOW) for curve in slow),
        *(Curve(setting, None, type(policy).__name__, default, policy) for policy in policies),
        Curve(setting, None, "mean plugged in", MeanContext(default), UCB()),
        Curve(setting, 1, "one sampled context", default, UCB()),
        Curve(setting, None, PAPER),
        Curve(setting, None, DEFAULT, default, UCB()),
    ]


def _table(outcome: Outcome, setting: Setting) -> Table:
    e, places = outcome.experiment, ranking(outcome, setting)
    fewer = sorted({len(place.line.regret) for place in places} - {e.trials})
    note = "≈: within two standard errors of the best with all trials, trial by trial."
    if fewer:
        names = ", ".join(place.line.curve.name for place in places if len(place.line.regret) in fewer)
        note += f" With {fewer[0]} trials only, over which differences are taken: {names}."
    if setting == "observed":
        note += " EXP4 has no use for a revealed context: its regret equals that of the hidden setting."
    more = ["" if p.more is None else text(p.more) + (" ≈" if p.tied else "  ") for p in places]
    return Table(
        f"{e.title}, {setting}: {e.trials} trials of {e.steps} steps, data {e.data}",
        ("method", "regret", "expected regret", "more than the best"),
        tuple((f"{i + 1:>2}  {p.label}", *p.line.finals(), more[i]) for i, p in enumerate(places)),
        note,
    )


@dataclass(frozen=True, eq=False)
class Place:
    """A method's place in a ranking.

    line : the method's trials, at the beta with the least regret if several were tried
    more : (n,) regret of the method minus that of the best method with all trials, over common trials; None for the
        best method
    """

    line: Line
    more: Array | None

    @property
    def tied(self) -> bool:
        """Whether the method ties with the best: their paired difference is within two standard errors."""
        return self.more is None or not bool(abs(self.more.mean()) > two_standard_errors(self.more) + ROUNDING)

    @property
    def values(self) -> Array:
        """The final regret of each trial, (n,)."""
        return self.line.final()

    @property
    def label(self) -> str:
        return self.line.curve.name + ("" if self.line.beta is None else f", β = {self.line.beta:g}")

    @property
    def kind(self) -> str:
        return KIND_OF.get(self.line.curve.name, "other policies, same model")

    def summary(self) -> dict[str, Any]:
        return {
            "name": self.line.curve.name,
            "beta": self.line.beta,
            "trials": len(self.line.regret),
            "regret": mean_and_error(self.values),
            "more_than_best": None if self.more is None else mean_and_error(self.more),
            "tied_with_best": self.tied,
        }


def ranking(outcome: Outcome, setting: Setting) -> list[Place]:
    """Return the methods of a setting in increasing order of regret."""

    def order(line: Line) -> tuple[float, bool]:
        # Among methods that differ by rounding, the default comes first.
        return round(float(line.final().mean()), 9), line.curve.name != DEFAULT

    best_of: dict[str, Line] = {}
    for line in sorted(outcome.grid, key=order):
        if line.curve.setting == setting:
            best_of.setdefault(line.curve.name, line)
    lines = list(best_of.values())
    most = max(len(line.regret) for line in lines)
    best = next(line for line in lines if len(line.regret) == most)

    more = [line.final() - best.final()[: len(line.regret)] for line in lines]
    return [Place(line, None if line is best else by) for line, by in zip(lines, more, strict=True)]


def _draw_panel(ax: Axes, outcome: Outcome, setting: Setting) -> None:
    places = ranking(outcome, setting)
    means = np.array([float(place.values.mean()) for place in places])
    errors = np.nan_to_num([float(two_standard_errors(place.values)) for place in places])
    edge = means[0] + FAR * (np.median(means) - means[0])
    for i, place in enumerate(places):
        colour, marker = KINDS[place.kind]
        if means[i] > edge > means[0]:
            short = f"{means[i]:,.0f}" if abs(means[i]) >= 9.95 else f"{means[i]:.2g}"
            ax.annotate(f"{short} →", (edge, -i), ha="right", va="center", color=colour, fontsize=8)
            continue
        fill = colour if place.tied else "white"
        ax.errorbar(means[i], -i, xerr=errors[i], color=colour, marker=marker, markerfacecolor=fill, capsize=3)
    if edge > means[0]:
        ax.set_xlim(right=max(edge, float((means + errors)[means <= edge].max())) * 1.02)
    ax.set_ylim(-len(places) + 0.4, 0.6)
    ax.set_yticks(-np.arange(len(places)), [place.label for place in places], fontsize=8)
    for tick, place in zip(ax.get_yticklabels(), places, strict=True):
        tick.set_color(KINDS[place.kind][0])
        tick.set_fontweight("bold" if place.line.curve.name in (DEFAULT, PAPER) else "normal")
    e = outcome.experiment
    ax.set_title(f"{e.title}, {setting}", fontsize=10)
    ax.set_xlabel(f"regret after {e.steps} steps")
