"""Run experiments with a progress bar, write their files, and print their results."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overcast.cli import findings
from overcast.cli.common import Watch, ensure_folder, print_json, progress

if TYPE_CHECKING:
    from overcast.experiments.comparisons.comparison import Comparison
    from overcast.experiments.engine.experiment import Experiment
    from overcast.experiments.figures.reproduce import Reproduction


def executor_of(args: argparse.Namespace) -> AbstractContextManager[Executor | None]:
    """Return the executor for --dask or --workers."""
    from overcast.experiments.engine import executors

    return executors.dask_executor(args.dask) if args.dask else executors.process_executor(args.workers)


def reproduce_one(
    experiment: Experiment, folder: Path, executor: Executor | None, args: argparse.Namespace
) -> Callable[[], None]:
    """Run one experiment with a progress bar, and write its files; return a function that prints the results.

    Call it after the workers have ended, since the user waits for that too.
    """
    reproduction = _reproduce(experiment, folder, executor)

    def show() -> None:
        if args.json:
            _print_json(reproduction.summary(), folder, args.watch)
        else:
            findings.print_reproduction(reproduction)
            findings.print_end(args.watch.lap(), folder)

    return show


def reproduce_all(
    experiments: list[Experiment], args: argparse.Namespace, executor: Executor | None
) -> Callable[[], None]:
    """Run all experiments and print the results of each; return a function that prints the end of the report."""
    from overcast.experiments.figures.reproduce import side_by_side

    reproductions = []
    for experiment in experiments:
        folder = args.out / experiment.name
        reproductions.append(_reproduce(experiment, folder, executor))
        if not args.json:
            findings.print_reproduction(reproductions[-1])
            findings.print_end(args.watch.lap(), folder)
            print()
    folder = ensure_folder(args.out / "all")
    side_by_side(reproductions, folder)

    def show() -> None:
        if args.json:
            _print_json({"experiments": [item.summary() for item in reproductions]}, folder, args.watch)
        else:
            print(f"All side by side, {args.watch.whole:.1f} s: {folder / 'report.html'} or {folder / 'figure.png'}")

    return show


def _reproduce(experiment: Experiment, folder: Path, executor: Executor | None) -> Reproduction:
    from overcast.experiments.figures.reproduce import reproduce

    with progress(len(list(experiment.parts())), experiment.name, "part") as bar:
        return reproduce(experiment, ensure_folder(folder), executor, bar.update)


def compare_all(
    comparison: Comparison, experiments: list[Experiment], args: argparse.Namespace, executor: Executor | None
) -> Callable[[], None]:
    from overcast.experiments.comparisons.comparison import compare

    folder = args.out / comparison.name
    with progress(sum(len(list(experiment.parts())) for experiment in experiments), comparison.name, "part") as bar:
        result = compare(comparison, experiments, ensure_folder(folder), executor, bar.update)

    def show() -> None:
        if args.json:
            _print_json(result.summary, folder, args.watch)
        else:
            findings.print_comparison(result)
            findings.print_end(args.watch.lap(), folder)

    return show


def run_forecasts(args: argparse.Namespace, trials: int | None = None, steps: int | None = None) -> None:
    from overcast.datasets.forecasts import generated_forecasts, read_innsbruck
    from overcast.experiments.comparisons import forecasts

    if args.betas:
        raise ValueError("--betas is for the figures of the paper, got it with forecasts")
    record = generated_forecasts() if args.data is None else read_innsbruck(args.data, "temp")
    record = record.first(steps or len(record.outcomes))
    trials = trials or forecasts.TRIALS
    folder = ensure_folder(args.out / "forecasts")
    with progress(trials, "forecasts", "trial") as bar, executor_of(args) as executor:
        result = forecasts.run(record, trials, args.seed, folder, executor, bar.update)
    if args.json:
        _print_json(result.summary(), folder, args.watch)
    else:
        findings.print_forecasts(result)
        findings.print_end(args.watch.lap(), folder, "figure.png", "calibration.png")


def _print_json(summary: dict[str, Any], folder: Path, watch: Watch) -> None:
    """Print a summary with the folder of the files, and the seconds that the user waited."""
    print_json({**summary, "seconds": round(watch.whole, 3), "folder": str(folder)})
