"""Comparisons across the paper's three problems: run, tabulate, draw and report them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from overcast._jobs import Done
from overcast.experiments.engine.experiment import Experiment
from overcast.experiments.engine.files import write_figure, write_page, write_summary
from overcast.experiments.engine.outcome import Line, Outcome, Verdict, curve_table, versions, write_curves
from overcast.experiments.engine.run import run
from overcast.features import FeatureMap
from overcast.models import LinearModel

#: the betas that the authors tuned over
GRID = (0.5, 1.0, 2.0, 5.0, 10.0)

# Steps of a curve in the file, as a comparison has many curves.
KEPT_STEPS = 100


@dataclass(frozen=True)
class Table:
    """A table that the command prints and the report shows."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


class Comparison(ABC):
    """A comparison: its experiment on each problem, and the tables, verdicts and figure of the outcomes."""

    #: the name in the command, and the name of the folder
    name: str
    title: str

    @abstractmethod
    def experiment(self, problem: Experiment) -> Experiment:
        """Return the experiment to run on a problem, at paper scale."""

    @abstractmethod
    def variants(self, outcome: Outcome) -> list[Line]:
        """Return the lines for summary.json and the file of curves."""

    @abstractmethod
    def details(self, outcome: Outcome) -> dict[str, Any]:
        """Return further entries of summary.json about a problem."""

    @abstractmethod
    def tables(self, outcomes: Sequence[Outcome]) -> list[Table]: ...

    def verdicts(self, outcomes: Sequence[Outcome]) -> list[Verdict]:
        return []

    @abstractmethod
    def draw(self, outcomes: Sequence[Outcome]) -> Figure: ...


@dataclass(frozen=True, eq=False)
class ComparisonResult:
    """The outcomes of a comparison, with its tables, verdicts and summary."""

    outcomes: list[Outcome]
    tables: list[Table]
    verdicts: list[Verdict]
    summary: dict[str, Any]


def compare(
    comparison: Comparison, experiments: Sequence[Experiment], folder: Path, executor: Executor | None, done: Done
) -> ComparisonResult:
    """Run the experiments; write summary.json, curves.parquet, figure.png, figure.pdf and report.html to `folder`."""
    outcomes = [run(experiment, folder, executor, done) for experiment in experiments]
    verdicts = comparison.verdicts(outcomes)
    summary = {
        "experiment": comparison.name,
        "seconds": round(sum(outcome.wall_seconds for outcome in outcomes), 3),
        "versions": versions(),
        "experiments": [{**o.summary(comparison.variants(o)), **comparison.details(o)} for o in outcomes],
        "claims": [asdict(verdict) for verdict in verdicts],
    }
    result = ComparisonResult(outcomes, comparison.tables(outcomes), verdicts, summary)
    figure = comparison.draw(outcomes)
    write_figure(figure, folder)
    write_page("comparison.html", comparison.title, figure, folder, result=result)
    curves = [
        curve_table(line, max(1, outcome.experiment.steps // KEPT_STEPS), experiment=outcome.experiment.name)
        for outcome in outcomes
        for line in comparison.variants(outcome)
    ]
    write_curves(curves, folder)
    write_summary(summary, folder)
    return result


def features_of(problem: Experiment) -> FeatureMap:
    """Return the feature map of a problem with the paper's linear model."""
    assert isinstance(problem.model, LinearModel)
    return problem.model.features
