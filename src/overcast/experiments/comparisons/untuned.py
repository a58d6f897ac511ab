"""The cost of not tuning: the default against every beta of the paper's UCB on the paper's three problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure

from overcast.experiments.comparisons.comparison import GRID, Comparison, Table, features_of
from overcast.experiments.comparisons.tuning import DEFAULT, LEVELS, MEASURES, SETTINGS, Coverage, Ratio, Tuning, draw
from overcast.experiments.engine.experiment import Curve, Experiment
from overcast.experiments.engine.outcome import Line, Outcome, Shown, Verdict, sign, text
from overcast.models import LinearModel
from overcast.policies import UCB

#: shares of revealed contexts between none and all
SHARES = (0.1, 0.25, 0.5, 0.75)

#: rounds at which to count the coverage of the confidence set
ROUNDS = (30, 100, 300, 1000)

#: the largest accepted regret of the default, as a multiple of the regret of the best beta
TARGETS = {
    "synthetic": {"hidden": 0.88, "observed": 1.1},
    "movielens": {"hidden": 1.2, "observed": 1.2},
    "crops": {"hidden": 1.2, "observed": 1.2},
}


class Untuned(Comparison):
    """The default and the grid of betas, hidden and observed; also mixed feedback and coverage on one problem."""

    name = "untuned"
    title = "Without tuning"

    def experiment(self, problem: Experiment) -> Experiment:
        watched, shares = (ROUNDS, SHARES) if problem.name == "synthetic" else ((), ())  # its theta is known
        default = Curve("observed", None, DEFAULT, LinearModel(features_of(problem)), UCB())
        return replace(
            problem,
            betas=dict.fromkeys(problem.betas, GRID),
            curves=(
                *(Curve(setting, None) for setting in SETTINGS),
                *(replace(default, setting=setting, watched=watched) for setting in SETTINGS),
                *(replace(default, name=f"{DEFAULT}, {share:g} revealed", revealed=share) for share in shares),
            ),
        )

    def variants(self, outcome: Outcome) -> list[Line]:
        return list(outcome.grid)

    def details(self, outcome: Outcome) -> dict[str, Any]:
        tuning = Tuning(outcome)
        ratios = [tuning.ratio(setting, measure) for setting in SETTINGS for measure in MEASURES]
        coverage = tuning.coverage()
        return {
            "ratios": [ratio.summary() for ratio in ratios],
            **({"coverage": [asdict(count) for count in coverage]} if coverage else {}),
        }

    def tables(self, outcomes: Sequence[Outcome]) -> list[Table]:
        tunings = [Tuning(outcome) for outcome in outcomes]
        out = [_costs(tuning) for tuning in tunings]
        for tuning in tunings:
            if lines := tuning.mixed():
                out.append(_shares(tuning.outcome, lines))
            if counts := tuning.coverage():
                out.append(_coverage_table(tuning.outcome, counts))
        return out

    def verdicts(self, outcomes: Sequence[Outcome]) -> list[Verdict]:
        out: list[Verdict] = []
        for outcome in outcomes:
            if outcome.experiment.trials < 2:
                return []
            tuning, targets = Tuning(outcome), TARGETS[outcome.experiment.name]
            ratios = [tuning.ratio(setting) for setting in SETTINGS]
            if len(set(targets.values())) == 1:
                out.append(_within(outcome, ratios, targets[SETTINGS[0]]))
            else:
                out.extend(_within(outcome, [ratio], targets[ratio.setting]) for ratio in ratios)
            if lines := tuning.mixed():
                out.append(_falls(lines))
        return out

    def draw(self, outcomes: Sequence[Outcome]) -> Figure:
        return draw(outcomes, TARGETS)


def _within(outcome: Outcome, ratios: Sequence[Ratio], target: float) -> Verdict:
    where = " and ".join(ratio.setting for ratio in ratios)
    evidence = ", ".join(f"{ratio.text} ({ratio.setting}, beside β = {ratio.best.beta:g})" for ratio in ratios)
    return Verdict.of(
        f"{outcome.experiment.title}, {where}: the default has at most {target:g} times the regret of the best β.",
        [ratio.below(target) for ratio in ratios],
        f"{evidence}.",
    )


def _falls(lines: Sequence[Line]) -> Verdict:
    """Judge whether regret falls with the share of revealed contexts: "yes" if it falls overall and no step rises."""
    signs = [sign(a.final() - b.final()) for a, b in pairwise(lines)]
    rises, falls = min(signs) < 0, sign(lines[0].final() - lines[-1].final()) > 0
    shown: Shown = ("in part" if falls else "no") if rises else ("yes" if falls else "open")
    steps = [(text(a.final() - b.final()), a.curve.seen, b.curve.seen) for a, b in pairwise(lines)]
    evidence = ", ".join(f"{by} ({less:g} to {more:g})" for by, less, more in steps)
    return Verdict(
        "The more contexts are revealed, the lower the regret of the default: it rises nowhere, within error.",
        shown,
        f"It falls by {evidence}.",
    )


def _costs(tuning: Tuning) -> Table:
    e = tuning.outcome.experiment
    ratios = [tuning.ratio(setting, measure) for setting in SETTINGS for measure in MEASURES]

    def row(label: str, lines: Sequence[Line]) -> tuple[str, ...]:
        return (label, *(text for line in lines for text in line.finals()))

    betas = zip(*(tuning.grid(setting) for setting in SETTINGS), strict=True)
    note = "The best β is chosen in hindsight, column by column, from the same trials."
    if any(ratio.value is None for ratio in ratios):
        note += " A ratio has no meaning unless the regret of the best β is above zero by two standard errors."
    return Table(
        f"{e.title}: {e.trials} trials of {e.steps} steps, data {e.data}",
        ("UCB", *(f"{setting}, {name}" for setting in SETTINGS for name in ("regret", "expected"))),
        (
            row("default, untuned", [tuning.default(setting) for setting in SETTINGS]),
            *(row(f"paper, β = {pair[0].beta_label}", pair) for pair in betas),
            ("default / best β", *(ratio.text for ratio in ratios)),
        ),
        note,
    )


def _shares(outcome: Outcome, lines: Sequence[Line]) -> Table:
    changes = ["", *(text(b.final() - a.final()) for a, b in pairwise(lines))]
    return Table(
        f"{outcome.experiment.title}: the default where a share of the contexts is revealed",
        ("share", "regret", "expected regret", "change"),
        tuple((f"{line.curve.seen:g}", *line.finals(), last) for line, last in zip(lines, changes, strict=True)),
        "Change: from the row above, trial by trial.",
    )


def _coverage_table(outcome: Outcome, counts: Sequence[Coverage]) -> Table:
    by_round: dict[int, list[Coverage]] = {}
    for count in counts:
        by_round.setdefault(count.round, []).append(count)
    return Table(
        f"{outcome.experiment.title}: trials whose θ lies in the default's confidence set",
        ("round", *(f"{setting}, {level:.0%}" for setting in SETTINGS for level in LEVELS)),
        tuple(
            (f"{n:,}", *(f"{count.share:.0%} ({count.low:.0%} to {count.high:.0%})" for count in row))
            for n, row in by_round.items()
        ),
        "The set is |θ - θ̂|² ≤ χ²_d(level) under the precision P of the estimate; intervals are Wilson's, of 95 %.",
    )
