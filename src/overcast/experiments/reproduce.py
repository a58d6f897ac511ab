"""Run an experiment from start to files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from overcast.experiments.claims import verdicts
from overcast.experiments.experiment import Experiment
from overcast.experiments.figure import draw, draw_all
from overcast.experiments.outcome import Outcome
from overcast.experiments.parts import Store, run_parts
from overcast.experiments.report import write_report


def reproduce(experiment: Experiment, folder: Path, executor: Executor | None, done: Callable[[], object]) -> Outcome:
    """Run `experiment` and write summary.json, curves.parquet, figure.png, figure.pdf and report.html to `folder`.

    Parts that an earlier run finished are taken from `folder/parts`; `done` is called for every part.
    """
    outcome = run(experiment, folder, executor, done)
    _write(experiment.title, [outcome], draw(outcome), folder)
    outcome.write_curves(folder / "curves.parquet")
    write_json(_summary(outcome), folder)
    return outcome


def run(experiment: Experiment, folder: Path, executor: Executor | None, done: Callable[[], object]) -> Outcome:
    """Run `experiment`, but for the parts that an earlier run left in `folder/parts`."""
    start = time.perf_counter()
    results = run_parts(experiment.parts(), Store(folder, experiment), executor, done)
    return Outcome.of(experiment, results, time.perf_counter() - start)


def side_by_side(outcomes: Sequence[Outcome], folder: Path) -> None:
    """Write figure 1, the panels of all experiments side by side, and a report and a summary of them to `folder`."""
    _write("Figure 1", outcomes, draw_all(outcomes), folder)
    write_json({"experiments": [_summary(outcome) for outcome in outcomes]}, folder)


def _summary(outcome: Outcome) -> dict[str, Any]:
    return {**outcome.summary(), "claims": [asdict(verdict) for verdict in verdicts(outcome)]}


def write_json(summary: dict[str, Any], folder: Path) -> None:
    (folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def save_figure(figure: Figure, folder: Path) -> None:
    figure.savefig(folder / "figure.png", dpi=160)
    figure.savefig(folder / "figure.pdf", metadata={"CreationDate": None})


def _write(title: str, outcomes: Sequence[Outcome], figure: Figure, folder: Path) -> None:
    save_figure(figure, folder)
    write_report(title, outcomes, figure, folder / "report.html")
