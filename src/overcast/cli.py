"""The `overcast` command."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import overcast

if TYPE_CHECKING:
    from overcast.experiments.experiment import Experiment
    from overcast.experiments.outcome import Outcome

QUICK: dict[str, Any] = {"trials": 20, "steps": 100}
DEMO: dict[str, Any] = {"trials": 50, "steps": 500}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    args = _parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± shows a question mark
    try:
        args.run(args)
    except KeyboardInterrupt:
        print("overcast: stopped; run the same command again to go on from here", file=sys.stderr)
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

    figure = commands.add_parser("reproduce", help="a figure of the paper, or of its kernelised algorithm")
    figure.add_argument("experiment", choices=["synthetic", "kernel"], help="which figure")
    figure.add_argument("--trials", type=_count, help="independent trials (the experiment's own number)")
    figure.add_argument("--steps", type=_count, help="rounds a trial (the experiment's own number)")
    figure.add_argument("--betas", type=_betas, help="tune over a grid, e.g. 0.5,1,2,5,10 (the experiment's own beta)")
    figure.add_argument("--seed", type=_seed, default=0, help="of all random numbers (%(default)s)")
    figure.add_argument("--out", type=Path, default=Path("overcast-out"), help="folder to write to (%(default)s)")
    figure.add_argument("--workers", type=_count, default=os.cpu_count() or 1, help="processes (%(default)s)")
    figure.add_argument("--dask", metavar="ADDRESS", help="run on the workers of this Dask scheduler instead")
    figure.add_argument("--quick", action="store_true", help="{trials} trials of {steps} steps".format(**QUICK))
    figure.set_defaults(run=_reproduce)
    return parser


def _demo(args: argparse.Namespace) -> None:
    from overcast.experiments.synthetic import synthetic

    _run(replace(synthetic(), **DEMO), args.out / "demo", os.cpu_count() or 1, None)


def _reproduce(args: argparse.Namespace) -> None:
    from overcast.experiments.kernel import kernel
    from overcast.experiments.synthetic import synthetic

    experiment = {"synthetic": synthetic, "kernel": kernel}[args.experiment]()
    size: dict[str, Any] = dict(QUICK) if args.quick else {}
    size |= {name: getattr(args, name) for name in ("trials", "steps") if getattr(args, name) is not None}
    experiment = replace(experiment, seed=args.seed, **size)
    if args.betas:
        experiment = experiment.tuned_over(args.betas)
    _run(experiment, args.out / args.experiment, args.workers, args.dask)


def _run(experiment: Experiment, folder: Path, workers: int, dask: str | None) -> None:
    from tqdm import tqdm

    from overcast.experiments.reproduce import reproduce

    folder.mkdir(parents=True, exist_ok=True)
    with (
        _executor(workers, dask) as executor,
        tqdm(total=len(list(experiment.parts())), desc=experiment.name, unit="part", disable=None) as bar,
    ):
        outcome = reproduce(experiment, folder, executor, bar.update)
    _print_table(outcome)
    print(f"\n{outcome.wall_seconds:.1f} s. Open {folder / 'report.html'} or {folder / 'figure.png'}")


def _executor(workers: int, dask: str | None) -> AbstractContextManager[Executor | None]:
    from overcast.experiments import executors

    return executors.dask_executor(dask) if dask else executors.process_executor(workers)


def _print_table(outcome: Outcome) -> None:
    from overcast.experiments.figure import final_regrets, notes

    e = outcome.experiment
    print(f"{e.title}: {e.trials} trials of {e.steps} steps, data {e.data}\n")
    rows = [("learner sees", "beta", "regret", "expected regret"), *final_regrets(outcome)]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  ".join(cells))
    print("\nAfter the last step, mean over trials ± two standard errors.")
    for note in notes(outcome):
        print(note)


def _count(text: str) -> int:
    return _whole(text, 1)


def _seed(text: str) -> int:
    return _whole(text, 0)


def _whole(text: str, at_least: int) -> int:
    if not text.isdecimal() or int(text) < at_least:
        raise argparse.ArgumentTypeError(f"expected a whole number >= {at_least}, got {text!r}")
    return int(text)


def _betas(text: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(0 <= value < float("inf") for value in values):
        raise argparse.ArgumentTypeError(f"expected numbers >= 0 with commas between, e.g. 0.5,1,2, got {text!r}")
    return tuple(dict.fromkeys(values))


if __name__ == "__main__":
    sys.exit(main())
