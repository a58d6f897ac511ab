"""Run an experiment, judge the paper's claims about figure 1, and write summary, curves, figure and report.

Every claim is judged by the final regret. All curves have the same trials, so differences are paired. A difference is
significant if it exceeds two standard errors, with a false-alarm probability of about one in forty; a smaller one
leaves its claim open. L = 100 is competitive if it closes most of the gap between L = 10 and the expectation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from overcast._check import Array
from overcast._jobs import Done
from overcast.experiments.engine.experiment import CURVES, Experiment
from overcast.experiments.engine.files import write_figure, write_page, write_summary
from overcast.experiments.engine.outcome import Line, Outcome, Verdict, curve_table, ratio_of, sign, text, write_curves
from overcast.experiments.engine.run import run
from overcast.experiments.figures.drawing import draw, draw_all, final_regrets, notes
from overcast.simulation import Setting

#: the panels whose exact curve falls below zero, as the caption says
BELOW_ZERO = ("1a", "1b")

SAMPLES = (10, 100, None)

#: L = 100 is competitive if it closes at least this share of the gap between L = 10 and the expectation
ENOUGH = 0.8

SETTINGS: tuple[Setting, Setting] = ("observed", "hidden")


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The outcome of an experiment, and verdicts on the paper's claims about its figure."""

    outcome: Outcome
    verdicts: list[Verdict]

    def summary(self) -> dict[str, Any]:
        return {**self.outcome.summary(), "claims": [asdict(verdict) for verdict in self.verdicts]}


def reproduce(experiment: Experiment, folder: Path, executor: Executor | None, done: Done) -> Reproduction:
    """Run `experiment` and write summary.json, curves.parquet, figure.png, figure.pdf and report.html to `folder`."""
    outcome = run(experiment, folder, executor, done)
    reproduction = Reproduction(outcome, verdicts(outcome))
    _write(experiment.title, [reproduction], draw(outcome), folder)
    write_curves([curve_table(line) for line in outcome.lines], folder)
    write_summary(reproduction.summary(), folder)
    return reproduction


def side_by_side(reproductions: Sequence[Reproduction], folder: Path) -> None:
    """Write figure 1, the panels of all experiments side by side, and a report and a summary of them to `folder`."""
    _write("Figure 1", reproductions, draw_all([item.outcome for item in reproductions]), folder)
    write_summary({"experiments": [item.summary() for item in reproductions]}, folder)


def _write(title: str, reproductions: Sequence[Reproduction], figure: Figure, folder: Path) -> None:
    """Write the figure, and report.html with the figure and one section per experiment."""
    sections = [
        {
            "outcome": item.outcome,
            "experiment": item.outcome.experiment,
            "rows": final_regrets(item.outcome),
            "notes": notes(item.outcome),
            "verdicts": item.verdicts,
            "grid": _grid(item.outcome) if item.outcome.tuned else None,
        }
        for item in reproductions
    ]
    write_figure(figure, folder)
    write_page("report.html", title, figure, folder, sections=sections)


def _grid(outcome: Outcome) -> tuple[list[float], list[tuple[str, list[tuple[float, str]]]]]:
    """Return the betas, and for each curve its label, with its mean final regret and CSS class at each beta."""
    betas = sorted({line.beta for line in outcome.grid if line.beta is not None})
    rows = []
    for curve, picked in zip(outcome.experiment.curves, outcome.lines, strict=True):
        if curve.policy is not None:
            continue
        of_curve = {line.beta: line for line in outcome.grid if line.curve == curve}
        means = [float(of_curve[beta].final().mean()) for beta in betas]
        marks = [
            " ".join(["picked"] * (beta == picked.beta) + ["least"] * (mean == min(means)))
            for beta, mean in zip(betas, means, strict=True)
        ]
        rows.append((curve.label, list(zip(means, marks, strict=True))))
    return betas, rows


def verdicts(outcome: Outcome) -> list[Verdict]:
    """Judge the paper's claims about a figure; return none for a part of a figure or for a single trial."""
    figure = outcome.experiment.figure
    if not figure or outcome.experiment.trials < 2:
        return []
    lines = {(line.curve.setting, line.curve.samples): line for line in outcome.lines}
    if not all((curve.setting, curve.samples) in lines for curve in CURVES):
        return []
    final = {key: line.final() for key, line in lines.items()}
    exact = final["exact", None]
    ahead = [regret - exact for (setting, _), regret in final.items() if setting != "exact"]
    unseen = [final["hidden", n] - final["observed", n] for n in SAMPLES]
    few = [final[setting, 10] - final[setting, None] for setting in SETTINGS]
    below = figure in BELOW_ZERO
    return [
        Verdict.of(
            "Seeing the context before the decision (exact) beats every variant that sees its distribution only.",
            ahead,
            f"The best of the others has more by {text(min(ahead, key=lambda more: float(more.mean())))}.",
        ),
        Verdict.of(
            "Seeing the context after the decision (observed) beats never seeing it (hidden).",
            unseen,
            f"Hidden has more by {_listed(map(text, unseen), ('L = 10', 'L = 100', 'expectation'))}.",
        ),
        Verdict.of(
            "The number of samples matters: regret with L = 10 is higher than with the expectation.",
            few,
            f"Higher by {_listed(map(text, few), SETTINGS)}.",
        ),
        _competitive(final),
        Verdict.of(
            "Exact falls below zero in panels (a) and (b)."
            if below
            else "Exact stays above zero in panel (c): the caption says of (a) and (b) alone that it falls below.",
            [-exact if below else exact],
            f"It ends at {text(exact)}{'' if below else _clairvoyant(lines['exact', None])}.",
        ),
    ]


def _competitive(final: Mapping[tuple[Setting, int | None], Array]) -> Verdict:
    """Judge L = 100 by the share of the gap between L = 10 and the expectation that it closes, to the percent.

    A share that misses by less than two standard errors leaves the claim open. There is no share unless L = 10 is above
    the expectation by two standard errors. In a setting without one, L = 100 is competitive if it is not above the
    expectation by two standard errors either; otherwise the claim is open there.
    """
    signs, shares, regrets = [], [], []
    for setting in SETTINGS:
        ten, hundred, full = (final[setting, samples] for samples in SAMPLES)
        if sign(ten - full) > 0:
            share, error = ratio_of(ten - hundred, ten - full)
            signs.append(1 if round(share, 2) >= ENOUGH else 0 if share + error >= ENOUGH else -1)
            shares.append(f"{share:.0%} ± {error:.0%}")
        else:
            signs.append(1 if sign(hundred - full) <= 0 else 0)
            shares.append("undefined, as L = 10 costs no more within error")
        regrets.append(f"{text(hundred)} beside {text(full)}")
    return Verdict.of_signs(
        f"L = 100 is already competitive: it goes {ENOUGH:.0%} or more of the way from L = 10 to the expectation.",
        signs,
        f"The share is {_listed(shares, SETTINGS)}; regret is {_listed(regrets, SETTINGS)}.",
    )


def _clairvoyant(line: Line) -> str:
    """Return a clause on the regret against the best variety in hindsight, which cannot be negative."""
    return f", and at {text(line.final('clairvoyant_regret'))} against the best variety for the season that came"


def _listed(values: Iterable[str], names: Iterable[str]) -> str:
    return ", ".join(f"{value} ({name})" for value, name in zip(values, names, strict=True))
