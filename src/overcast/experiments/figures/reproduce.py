"""Run an experiment, judge the paper's claims about figure 1, and write summary, curves, figure and report.

Every claim is judged by the regret after the last step. All curves meet the same trials, so differences are taken
trial by trial. A difference is real if it exceeds two standard errors, which chance alone brings about in about one
comparison out of forty; a smaller difference leaves its claim open. A curve is competitive with another if it
ends below the upper edge of the other's band.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from overcast._jobs import Done
from overcast.experiments.engine.experiment import CURVES, Experiment
from overcast.experiments.engine.files import write_figure, write_page, write_summary
from overcast.experiments.engine.outcome import Outcome, Verdict, curve_table, text, write_curves
from overcast.experiments.engine.run import run
from overcast.experiments.figures.drawing import draw, draw_all, final_regrets, notes
from overcast.simulation import Setting
from overcast.simulation.record import two_standard_errors

#: the panels whose exact curve falls below zero, as the caption says
BELOW_ZERO = ("1a", "1b")

SAMPLES = (10, 100, None)
BOTH: tuple[Setting, Setting] = ("observed", "hidden")


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
    found = Reproduction(outcome, verdicts(outcome))
    _write(experiment.title, [found], draw(outcome), folder)
    write_curves([curve_table(line) for line in outcome.lines], folder)
    write_summary(found.summary(), folder)
    return found


def side_by_side(found: Sequence[Reproduction], folder: Path) -> None:
    """Write figure 1, the panels of all experiments side by side, and a report and a summary of them to `folder`."""
    _write("Figure 1", found, draw_all([one.outcome for one in found]), folder)
    write_summary({"experiments": [one.summary() for one in found]}, folder)


def _write(title: str, found: Sequence[Reproduction], figure: Figure, folder: Path) -> None:
    """Write the figure, and report.html with the figure and one section per experiment."""
    sections = [
        {
            "outcome": one.outcome,
            "experiment": one.outcome.experiment,
            "rows": final_regrets(one.outcome),
            "notes": notes(one.outcome),
            "verdicts": one.verdicts,
            "grid": _grid(one.outcome) if one.outcome.tuned else None,
        }
        for one in found
    ]
    write_figure(figure, folder)
    write_page("report.html", title, figure, folder, sections=sections)


def _grid(outcome: Outcome) -> tuple[list[float], list[tuple[str, list[tuple[float, str]]]]]:
    """Return the betas, and for each curve its label, and its mean final regret and CSS class at each beta."""
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
    final = {(line.curve.setting, line.curve.samples): line.final() for line in outcome.lines}
    if not all((curve.setting, curve.samples) in final for curve in CURVES):
        return []
    exact = final["exact", None]
    ahead = [regret - exact for (setting, _), regret in final.items() if setting != "exact"]
    unseen = [final["hidden", n] - final["observed", n] for n in SAMPLES]
    few = [final[setting, 10] - final[setting, None] for setting in BOTH]
    many = [(final[setting, 100], final[setting, None]) for setting in BOTH]
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
            f"Higher by {_listed(map(text, few), BOTH)}.",
        ),
        Verdict(
            "L = 100 is already competitive: within two standard errors of the expectation, or better.",
            ("no", "in part", "yes")[
                sum(sampled.mean() <= full.mean() + two_standard_errors(full) for sampled, full in many)
            ],
            _listed((f"{text(sampled)} beside {text(full)}" for sampled, full in many), BOTH) + ".",
        ),
        Verdict.of(
            "Exact falls below zero in panels (a) and (b)" + ("." if below else ", and (c) is not named with them."),
            [-exact if below else exact],
            f"It ends at {text(exact)}.",
        ),
    ]


def _listed(values: Iterable[str], names: Iterable[str]) -> str:
    return ", ".join(f"{value} ({name})" for value, name in zip(values, names, strict=True))
