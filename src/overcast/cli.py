"""The `overcast` command."""

from __future__ import annotations

import argparse
import io
import math
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import overcast
from overcast import _check
from overcast.environments.crop_trials import BeliefKind

if TYPE_CHECKING:
    from overcast.experiments.claims import Verdict
    from overcast.experiments.comparison import Comparison
    from overcast.experiments.experiment import Experiment
    from overcast.experiments.outcome import Outcome

QUICK: dict[str, Any] = {"trials": 20, "steps": 100}
DEMO: dict[str, Any] = {"trials": 50, "steps": 500}

FIGURE_1 = ("synthetic", "movielens", "crops")
COMPARISONS = ("untuned", "policies")
BELIEFS = get_args(BeliefKind)
#: the experiments that take an option; the others have no use for it
USED_BY = {"data": ("movielens", "crops", "forecasts"), "noise": ("movielens",), "belief": ("crops",)}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    args = _parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± shows a question mark
    try:
        args.run(args)
    except KeyboardInterrupt:
        resume = "" if args.run is _calibrate else "; run the same command again to go on from here"
        print(f"overcast: stopped{resume}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on: say no more
        return 141
    except ModuleNotFoundError as error:
        print(f"overcast: needs {error.name}; install it with pip install 'overcast[experiments]'", file=sys.stderr)
        return 1
    except (ValueError, TypeError, OSError, ImportError, RuntimeError, MemoryError) as error:
        if os.environ.get("OVERCAST_TRACEBACK"):
            raise
        print(f"overcast: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="overcast", description=overcast.__doc__)
    parser.add_argument("--version", action="version", version=f"overcast {overcast.__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    demo = commands.add_parser("demo", help="the paper's synthetic figure at a small size")
    demo.add_argument("--out", type=Path, default=Path("overcast-out"), help="folder to write to (%(default)s)")
    demo.set_defaults(run=_demo)

    figure = commands.add_parser(
        "reproduce", help="a figure of the paper or of its kernelised algorithm, or a comparison"
    )
    figure.add_argument(
        "experiment", choices=[*FIGURE_1, "all", "kernel", "forecasts", *COMPARISONS], help="which figure"
    )
    figure.add_argument("--data", type=Path, metavar="DIR", help="folder with the data (all but synthetic, kernel)")
    figure.add_argument("--trials", type=_count, help="independent trials (the experiment's own number)")
    figure.add_argument("--steps", type=_count, help="rounds a trial (the experiment's own number)")
    figure.add_argument("--betas", type=_betas, help="tune over a grid, e.g. 0.5,1,2,5,10 (the experiment's own beta)")
    figure.add_argument(
        "--noise", type=_noise, help="values to draw reward noise from: --noise=-1,0,1, or 0 for none (movielens)"
    )
    figure.add_argument("--belief", choices=BELIEFS, help="what is known of a season before it (crops; forecast)")
    figure.add_argument("--seed", type=_seed, default=0, help="of the trials (%(default)s)")
    figure.add_argument("--out", type=Path, default=Path("overcast-out"), help="folder to write to (%(default)s)")
    figure.add_argument("--workers", type=_count, default=os.cpu_count() or 1, help="processes (%(default)s)")
    figure.add_argument("--dask", metavar="ADDRESS", help="run on the workers of this Dask scheduler instead")
    figure.add_argument("--quick", action="store_true", help="{trials} trials of {steps} steps".format(**QUICK))
    figure.set_defaults(run=_reproduce)

    calibrate = commands.add_parser(
        "calibrate",
        help="judge forecasts by what happened",
        description="Judge forecasts by what happened, and say what recalibration would have made of them.",
        epilog="A row is a forecast, in order of time. Columns: NAME for what happened, with the members of an "
        "ensemble in NAMEfc.1, NAMEfc.2, ... (or from 0), or NAME_mean and NAME_sd of a normal forecast; any number of "
        "quantities side by side. Other columns, such as dates, are not read; rows without an outcome (empty or NA) "
        "are left out.",
    )
    calibrate.add_argument("file", type=Path, metavar="forecasts.csv", help="forecasts and outcomes")
    calibrate.add_argument("--out", type=Path, default=Path("overcast-out"), help="folder to write to (%(default)s)")
    calibrate.set_defaults(run=_calibrate)

    data = commands.add_parser("data", help="download data that may not be passed on")
    data.add_argument("name", choices=["movielens"], help="which data")
    data.add_argument("--to", type=Path, metavar="DIR", help="folder to unpack in (the user's data directory)")
    data.add_argument("--accept-licence", action="store_true", help="accept its terms of use without being asked")
    data.set_defaults(run=_data)
    return parser


def _demo(args: argparse.Namespace) -> None:
    from overcast.experiments.synthetic import synthetic

    with _executor(os.cpu_count() or 1, None) as executor:
        _run(replace(synthetic(), **DEMO), args.out / "demo", executor)


def _reproduce(args: argparse.Namespace) -> None:
    from overcast.experiments.reproduce import side_by_side

    names = FIGURE_1 if args.experiment in ("all", *COMPARISONS) else (args.experiment,)
    for option, users in USED_BY.items():
        if getattr(args, option) is not None and not set(users) & set(names):
            raise ValueError(f"--{option} is for {_listed(users)}, got it with {args.experiment}")
    size: dict[str, Any] = dict(QUICK) if args.quick else {}
    size |= {name: getattr(args, name) for name in ("trials", "steps") if getattr(args, name) is not None}
    if args.experiment == "forecasts":
        _forecasts(args, **size)
        return
    # All data is read before any of it is worked on: what is wrong with the last shows at once.
    prepared = [_prepare(name, args) for name in names]
    with _executor(args.workers, args.dask) as executor:
        experiments = [prepare(executor) for prepare in prepared]
        comparison = _comparison(args.experiment)
        if comparison is not None:
            experiments = [comparison.experiment(problem) for problem in experiments]
        experiments = [replace(experiment, seed=args.seed, **size) for experiment in experiments]
        if args.betas:
            experiments = [experiment.tuned_over(args.betas) for experiment in experiments]
        if comparison is not None:
            _compare(comparison, experiments, args.out / comparison.name, executor)
            return
        outcomes = [_run(experiment, args.out / experiment.name, executor) for experiment in experiments]
    if len(outcomes) > 1:
        folder = _made(args.out / args.experiment)
        side_by_side(outcomes, folder)
        print(f"\nAll side by side: {folder / 'report.html'} or {folder / 'figure.png'}")


def _listed(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[:-1] else []), names[-1]])


def _prepare(name: str, args: argparse.Namespace) -> Callable[[Executor | None], Experiment]:
    """Read or generate the data of an experiment; return what makes the experiment of it, at paper scale."""
    if name == "movielens":
        return _movielens(args)
    if name == "crops":
        return _crops(args)
    from overcast.experiments.kernel import kernel
    from overcast.experiments.synthetic import synthetic

    make = {"synthetic": synthetic, "kernel": kernel}[name]
    return lambda executor: make()


def _movielens(args: argparse.Namespace) -> Callable[[Executor | None], Experiment]:
    from tqdm import tqdm

    from overcast.datasets.embedding import FITS, embed
    from overcast.datasets.movielens import generated_movielens, read_movielens
    from overcast.environments.movielens import NOISE
    from overcast.experiments.movielens import movielens

    data = generated_movielens() if args.data is None else read_movielens(args.data)

    def make(executor: Executor | None) -> Experiment:
        with tqdm(total=FITS, desc="embedding", unit="fit", disable=None) as bar:
            embedding = embed(data, _made(args.out / "movielens"), executor, bar.update)
        return movielens(data, embedding, args.noise or NOISE)

    return make


def _crops(args: argparse.Namespace) -> Callable[[Executor | None], Experiment]:
    from overcast.datasets.crops import generated_crops, read_crops
    from overcast.datasets.yield_model import fit_yields
    from overcast.experiments.crops import CLIMATE_YEARS, crops

    data = generated_crops() if args.data is None else read_crops(args.data)
    if args.belief == "climatology":
        data.climate(CLIMATE_YEARS)  # there must be a history
    return lambda executor: crops(data, fit_yields(data), args.belief or BELIEFS[0])


def _run(experiment: Experiment, folder: Path, executor: Executor | None) -> Outcome:
    from tqdm import tqdm

    from overcast.experiments.reproduce import reproduce

    with tqdm(total=len(list(experiment.parts())), desc=experiment.name, unit="part", disable=None) as bar:
        outcome = reproduce(experiment, _made(folder), executor, bar.update)
    _print_table(outcome)
    print(f"\n{outcome.wall_seconds:.1f} s. Open {folder / 'report.html'} or {folder / 'figure.png'}")
    return outcome


def _forecasts(args: argparse.Namespace, trials: int | None = None, steps: int | None = None) -> None:
    from tqdm import tqdm

    from overcast.datasets.forecasts import generated_forecasts, read_innsbruck
    from overcast.experiments import forecasts

    if args.betas:
        raise ValueError("--betas is for the figures of the paper, got it with forecasts")
    record = generated_forecasts() if args.data is None else read_innsbruck(args.data, "temp")
    record = record.first(steps or len(record.outcomes))
    trials = trials or forecasts.TRIALS
    folder = _made(args.out / "forecasts")
    bar = tqdm(total=trials, desc="forecasts", unit="trial", disable=None)
    with bar, _executor(args.workers, args.dask) as executor:
        found = forecasts.run(record, trials, args.seed, folder, executor, bar.update)
    print(f"Frost protection by forecasts: {trials} trials of {len(record.outcomes)} steps, data {record.source}\n")
    _print_rows([("forecasts", "80 % covers", "regret", "regret, rewards known"), *found.rows()])
    print("\nCoverage over the second half; regret after the last step, mean over trials ± two standard errors.")
    for note in found.notes():
        print(note)
    print(f"\n{found.seconds:.1f} s. Open {folder / 'figure.png'} or {folder / 'calibration.png'}")


def _calibrate(args: argparse.Namespace) -> None:
    from overcast.datasets.forecasts import read_forecasts
    from overcast.experiments import calibrate

    record = read_forecasts(args.file)
    folder = _made(args.out / "calibrate")
    judged = calibrate.judge(record)
    picture = calibrate.draw(judged, folder)  # first, so that a folder that cannot be written to shows at once
    print(judged.whole.verdict)
    if record.left_out:
        print(f"{record.left_out} rows without an outcome are left out.")
    half = len(judged.before)
    print(f"\nThe last {half} of {len(record.outcomes)}, each corrected by what was known by then:\n")
    _print_rows([calibrate.HEADER, *judged.rows()], left=2)
    if len(record.names) > 1:
        print(f"\nEnergy score of all together: {judged.before.energy:.3g}, recalibrated {judged.after.energy:.3g}.")
    print(f"\nOpen {picture}")


def _comparison(name: str) -> Comparison | None:
    if name == "untuned":
        from overcast.experiments.untuned import Untuned

        return Untuned()
    if name == "policies":
        from overcast.experiments.policies import Policies

        return Policies()
    return None


def _compare(
    comparison: Comparison, experiments: Sequence[Experiment], folder: Path, executor: Executor | None
) -> None:
    from tqdm import tqdm

    from overcast.experiments.comparison import compare

    parts = sum(len(list(experiment.parts())) for experiment in experiments)
    with tqdm(total=parts, desc=comparison.name, unit="part", disable=None) as bar:
        outcomes = compare(comparison, experiments, _made(folder), executor, bar.update)
    for table in comparison.tables(outcomes):
        print(f"{table.title}\n")
        _print_rows([table.header, *table.rows])
        print(f"\n{table.note}\n")
    print("After the last step, mean over trials ± two standard errors.")
    for note in dict.fromkeys(note for outcome in outcomes for note in outcome.experiment.notes):
        print(note)
    judged = comparison.verdicts(outcomes)
    if judged:
        print("\nWhat is claimed, and whether this run shows it:")
    _print_verdicts(judged)
    seconds = sum(outcome.wall_seconds for outcome in outcomes)
    print(f"\n{seconds:.1f} s. Open {folder / 'report.html'} or {folder / 'figure.png'}")


def _data(args: argparse.Namespace) -> None:
    from overcast.datasets import download

    if not args.accept_licence:
        print(download.LICENCE)
        if not sys.stdin.isatty():
            raise ValueError("the terms above must be accepted: pass --accept-licence")
        if _answer("Accept these terms? Type yes: ") != "yes":
            raise ValueError("the terms were not accepted, and nothing was downloaded")
    folder = download.download_movielens(_made(args.to or download.default_folder()))
    command = f"overcast reproduce movielens --data {shlex.quote(str(folder))}"
    print(f"MovieLens-1M is in {folder}; do not pass it on. Now: {command}")


def _answer(question: str) -> str:
    try:
        return input(question).strip().lower()
    except EOFError:
        print()
        return ""


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _executor(workers: int, dask: str | None) -> AbstractContextManager[Executor | None]:
    from overcast.experiments import executors

    return executors.dask_executor(dask) if dask else executors.process_executor(workers)


def _print_table(outcome: Outcome) -> None:
    from overcast.experiments.claims import verdicts
    from overcast.experiments.figure import final_regrets, notes

    e = outcome.experiment
    print(f"{e.title}: {e.trials} trials of {e.steps} steps, data {e.data}\n")
    _print_rows([("learner sees", "beta", "regret", "expected regret"), *final_regrets(outcome)])
    print("\nAfter the last step, mean over trials ± two standard errors.")
    for note in notes(outcome):
        print(note)
    judged = verdicts(outcome)
    if judged:
        which = "this run on generated data" if e.found.get("generated") else "this run"
        print(f"\nWhat the paper says of figure {e.figure}, and whether {which} shows it:")
    _print_verdicts(judged)


def _print_rows(rows: Sequence[tuple[str, ...]], left: int = 1) -> None:
    """Print a table, its first columns flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def _print_verdicts(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        print(f"{verdict.shown:>8}  {verdict.claim}\n{'':10}{verdict.evidence}")


def _count(text: str) -> int:
    return _whole(text, 1)


def _seed(text: str) -> int:
    return _whole(text, 0)


def _whole(text: str, at_least: int) -> int:
    if not text.isdecimal() or int(text) < at_least:
        raise argparse.ArgumentTypeError(f"expected a whole number >= {at_least}, got {text!r}")
    return int(text)


def _betas(text: str) -> tuple[float, ...]:
    values = _numbers(text)
    if min(values) < 0:
        raise argparse.ArgumentTypeError(f"expected numbers >= 0, got {text!r}")
    return tuple(dict.fromkeys(values))


def _noise(text: str) -> tuple[float, ...]:
    values = _numbers(text)
    try:
        _check.centred("--noise", "values", values)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return values


def _numbers(text: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(math.isfinite(value) for value in values):
        raise argparse.ArgumentTypeError(f"expected numbers with commas between, e.g. 0.5,1,2, got {text!r}")
    return values


if __name__ == "__main__":
    sys.exit(main())
