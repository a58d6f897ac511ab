"""Run an experiment from start to files."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from overcast.experiments.experiment import Experiment
from overcast.experiments.figure import draw
from overcast.experiments.outcome import Outcome
from overcast.experiments.parts import Store, run_parts
from overcast.experiments.report import write_report


def reproduce(experiment: Experiment, folder: Path, executor: Executor | None, done: Callable[[], object]) -> Outcome:
    """Run `experiment` and write summary.json, curves.parquet, figure.png, figure.pdf and report.html to `folder`.

    Parts that an earlier run finished are taken from `folder/parts`; `done` is called for every part.
    """
    start = time.perf_counter()
    results = run_parts(experiment.parts(), Store(folder, experiment), executor, done)
    outcome = Outcome.of(experiment, results, time.perf_counter() - start)
    figure = draw(outcome)
    figure.savefig(folder / "figure.png", dpi=160)
    figure.savefig(folder / "figure.pdf", metadata={"CreationDate": None})
    outcome.write_curves(folder / "curves.parquet")
    write_report(outcome, figure, folder / "report.html")
    outcome.write_summary(folder / "summary.json")
    return outcome
