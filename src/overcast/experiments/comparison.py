"""Comparisons across the paper's three problems, judged, drawn and reported together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure

from overcast.experiments.claims import Verdict
from overcast.experiments.experiment import Experiment
from overcast.experiments.outcome import Line, Outcome, curve_table, versions
from overcast.experiments.report import rendered
from overcast.experiments.reproduce import run, save_figure, write_json
from overcast.features import FeatureMap
from overcast.models import LinearModel

#: the betas that the authors tuned over
GRID = (0.5, 1.0, 2.0, 5.0, 10.0)

# Steps of a curve that are kept in the file: a comparison has many.
KEPT_STEPS = 100


@dataclass(frozen=True)
class Table:
    """What is printed, and shown in the report."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


class Comparison(ABC):
    """What to run on each problem, and what to make of it."""

    #: of the command and the folder
    name: str
    title: str

    @abstractmethod
    def experiment(self, problem: Experiment) -> Experiment:
        """Return what to run on a problem, at paper scale."""

    @abstractmethod
    def variants(self, outcome: Outcome) -> list[Line]:
        """Return the lines for summary.json and the file of curves."""

    @abstractmethod
    def found(self, outcome: Outcome) -> dict[str, Any]:
        """Return what else summary.json says of a problem."""

    @abstractmethod
    def tables(self, outcomes: Sequence[Outcome]) -> list[Table]: ...

    @abstractmethod
    def verdicts(self, outcomes: Sequence[Outcome]) -> list[Verdict]: ...

    @abstractmethod
    def draw(self, outcomes: Sequence[Outcome]) -> Figure: ...


def compare(
    comparison: Comparison,
    experiments: Sequence[Experiment],
    folder: Path,
    executor: Executor | None,
    done: Callable[[], object],
) -> list[Outcome]:
    """Run the experiments and write summary.json, curves.parquet, figure.png, figure.pdf and report.html to `folder`.

    Parts that an earlier run finished are taken from `folder/parts`; `done` is called for every part.
    """
    outcomes = [run(experiment, folder, executor, done) for experiment in experiments]
    figure, verdicts = comparison.draw(outcomes), comparison.verdicts(outcomes)
    save_figure(figure, folder)
    tables = comparison.tables(outcomes)
    page = rendered("comparison.html", comparison.title, figure, outcomes=outcomes, tables=tables, verdicts=verdicts)
    (folder / "report.html").write_text(page, encoding="utf-8")
    _write_curves(comparison, outcomes, folder / "curves.parquet")
    summary = {
        "experiment": comparison.name,
        "seconds": round(sum(outcome.wall_seconds for outcome in outcomes), 3),
        "versions": versions(),
        "experiments": [
            {**outcome.summary(comparison.variants(outcome)), **comparison.found(outcome)} for outcome in outcomes
        ],
        "claims": [asdict(verdict) for verdict in verdicts],
    }
    write_json(summary, folder)
    return outcomes


def features_of(problem: Experiment) -> FeatureMap:
    """Return the features of a problem with the paper's linear model."""
    assert isinstance(problem.model, LinearModel)
    return problem.model.features


def _write_curves(comparison: Comparison, outcomes: Sequence[Outcome], path: Path) -> None:
    tables = []
    for outcome in outcomes:
        stride = max(1, outcome.experiment.steps // KEPT_STEPS)
        for line in comparison.variants(outcome):
            table = curve_table(line, stride)
            names: Any = pa.array([outcome.experiment.name] * table.num_rows)
            tables.append(table.add_column(0, "experiment", names))
    pq.write_table(pa.concat_tables(tables), path, compression="zstd")
