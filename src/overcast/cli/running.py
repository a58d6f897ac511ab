"""Run experiments with a progress bar, write their files, and print what they found."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overcast.cli import findings
from overcast.cli.common import Watch, made, print_json, progress

if TYPE_CHECKING:
    from overcast.experiments.comparisons.comparison import Comparison
    from overcast.experiments.engine.experiment import Experiment
    from overcast.experiments.figures.reproduce import Reproduction


def executor_of(args: argparse.Namespace) -> AbstractContextManager[Executor | None]:
    """Return the workers that the options ask for."""
    from overcast.experiments.engine import executors

    return executors.dask_executor(args.dask) if args.dask else executors.process_executor(args.workers)


def reproduce_one(
    experiment: Experiment, folder: Path, executor: Executor | None, args: argparse.Namespace
) -> Callable[[], None]:
    """Run one experiment with a progress bar, and write its files; return a function that prints what it found.

    It is to be called when the workers are gone: the user waits for that too.
    """
    found = _reproduce(experiment, folder, executor)

    def show() -> None:
        if args.json:
            _print_json(found.summary(), folder, args.watch)
        else:
            findings.print_reproduction(found)
            findings.print_end(args.watch.lap(), folder)

    return show


def reproduce_all(
    experiments: list[Experiment], args: argparse.Namespace, executor: Executor | None
) -> Callable[[], None]:
    """Run all experiments, and print what each found as soon as it is there; return a function that ends the report."""
    from overcast.experiments.figures.reproduce import side_by_side

    found = []
    for experiment in experiments:
        folder = args.out / experiment.name
        found.append(_reproduce(experiment, folder, executor))
        if not args.json:
            findings.print_reproduction(found[-1])
            findings.print_end(args.watch.lap(), folder)
            print()
    folder = made(args.out / "all")
    side_by_side(found, folder)

    def show() -> None:
        if args.json:
            _print_json({"experiments": [one.summary() for one in found]}, folder, args.watch)
        else:
            print(f"All side by side, {args.watch.whole:.1f} s: {folder / 'report.html'} or {folder / 'figure.png'}")

    return show


def _reproduce(experiment: Experiment, folder: Path, executor: Executor | None) -> Reproduction:
    from overcast.experiments.figures.reproduce import reproduce

    with progress(len(list(experiment.parts())), experiment.name, "part") as bar:
        return reproduce(experiment, made(folder), executor, bar.update)


def compare_all(
    comparison: Comparison, experiments: list[Experiment], args: argparse.Namespace, executor: Executor | None
) -> Callable[[], None]:
    from overcast.experiments.comparisons.comparison import compare

    folder = args.out / comparison.name
    with progress(sum(len(list(experiment.parts())) for experiment in experiments), comparison.name, "part") as bar:
        found = compare(comparison, experiments, made(folder), executor, bar.update)

    def show() -> None:
        if args.json:
            _print_json(found.summary, folder, args.watch)
        else:
            findings.print_comparison(found)
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
    folder = made(args.out / "forecasts")
    with progress(trials, "forecasts", "trial") as bar, executor_of(args) as executor:
        found = forecasts.run(record, trials, args.seed, folder, executor, bar.update)
    if args.json:
        _print_json(found.summary(), folder, args.watch)
    else:
        findings.print_forecasts(found)
        findings.print_end(args.watch.lap(), folder, "figure.png", "calibration.png")


def _print_json(summary: dict[str, Any], folder: Path, watch: Watch) -> None:
    """Print a summary with the folder that has the files, and the seconds that the user waited."""
    print_json({**summary, "seconds": round(watch.whole, 3), "folder": str(folder)})
