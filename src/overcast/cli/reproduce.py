"""`overcast reproduce`: a figure of the paper, or a comparison."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from overcast.cli.common import Commands, add_json, add_out, betas, ensure_folder, noise_values, progress, whole
from overcast.cli.running import compare_all, executor_of, reproduce_all, reproduce_one, run_forecasts
from overcast.environments.crop_trials import BELIEF, BeliefKind

if TYPE_CHECKING:
    from overcast.experiments.engine.experiment import Experiment

HELP = "a figure of the paper, or a comparison"
EXTRAS = "experiments"

QUICK: dict[str, Any] = {"trials": 20, "steps": 100}

FIGURE_1 = ("synthetic", "movielens", "crops")
COMPARISONS = ("untuned", "policies")
#: the experiments that take each option
USED_BY = {"data": ("movielens", "crops", "forecasts"), "noise": ("movielens",), "belief": ("crops",)}


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "reproduce",
        help=HELP,
        description="Run an experiment and write summary.json, curves, figure and report.html. The same command again "
        "goes on with an interrupted run.",
    )
    names = [*FIGURE_1, "all", "kernel", "forecasts", *COMPARISONS]
    which = f"{', '.join(names[:-1])} or {names[-1]}"
    parser.add_argument("experiment", choices=names, metavar="EXPERIMENT", help=which)
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the data (all but synthetic, kernel)")
    parser.add_argument("--trials", metavar="N", type=whole, help="independent trials (the experiment's own number)")
    parser.add_argument("--steps", metavar="N", type=whole, help="rounds per trial (the experiment's own number)")
    parser.add_argument(
        "--betas", metavar="LIST", type=betas, help="tune over a grid, e.g. 0.5,1,2,5,10 (the experiment's own beta)"
    )
    values = "values to draw reward noise from: --noise=-1,0,1, or 0 for none (movielens)"
    parser.add_argument("--noise", metavar="LIST", type=noise_values, help=values)
    kinds = get_args(BeliefKind)
    known = f"what is known about a season before it: {', '.join(kinds)} (crops; {BELIEF})"
    parser.add_argument("--belief", metavar="KIND", choices=kinds, help=known)
    parser.add_argument(
        "--seed", metavar="N", type=partial(whole, at_least=0), default=0, help="seed of the trials (%(default)s)"
    )
    add_out(parser)
    parser.add_argument(
        "--workers", metavar="N", type=whole, default=os.cpu_count() or 1, help="processes (%(default)s)"
    )
    parser.add_argument(
        "--dask", metavar="ADDRESS", type=_address, help="run on the workers of this Dask scheduler instead"
    )
    parser.add_argument("--quick", action="store_true", help="{trials} trials of {steps} steps".format(**QUICK))
    add_json(parser)
    parser.set_defaults(run=_run)


def _address(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError(f"expected the address of a scheduler, e.g. tcp://10.0.0.5:8786, got {text!r}")
    return text


def _run(args: argparse.Namespace) -> None:
    from overcast.experiments.comparisons.policies import Policies
    from overcast.experiments.comparisons.untuned import Untuned

    names = FIGURE_1 if args.experiment in ("all", *COMPARISONS) else (args.experiment,)
    for option, users in USED_BY.items():
        if getattr(args, option) is not None and not set(users) & set(names):
            listed = " and ".join(", ".join(users).rsplit(", ", 1))
            raise ValueError(f"--{option} is for {listed}, got it with {args.experiment}")
    size: dict[str, Any] = dict(QUICK) if args.quick else {}
    size |= {name: getattr(args, name) for name in ("trials", "steps") if getattr(args, name) is not None}
    if args.experiment == "forecasts":
        run_forecasts(args, **size)
        return
    # All data is read before any is processed, so that a fault in the last data set shows early.
    prepared = [_prepare(name, args) for name in names]
    with executor_of(args) as executor:
        experiments = [prepare(executor) for prepare in prepared]
        comparison = {"untuned": Untuned(), "policies": Policies()}.get(args.experiment)
        if comparison is not None:
            experiments = [comparison.experiment(problem) for problem in experiments]
        experiments = [replace(experiment, seed=args.seed, **size) for experiment in experiments]
        if args.betas:
            experiments = [experiment.tuned_over(args.betas) for experiment in experiments]
        if comparison is not None:
            show = compare_all(comparison, experiments, args, executor)
        elif args.experiment == "all":
            show = reproduce_all(experiments, args, executor)
        else:
            show = reproduce_one(experiments[0], args.out / experiments[0].name, executor, args)
    show()


def _prepare(name: str, args: argparse.Namespace) -> Callable[[Executor | None], Experiment]:
    """Read or generate the data of an experiment; return a function that builds the experiment, at paper scale."""
    from overcast.experiments.figures import problems

    if name == "movielens":
        from overcast.datasets.embedding import FITS, embed
        from overcast.datasets.movielens import generated_movielens, read_movielens
        from overcast.environments.movielens import NOISE

        ratings = generated_movielens() if args.data is None else read_movielens(args.data)

        def make(executor: Executor | None) -> Experiment:
            with progress(FITS, "embedding", "fit") as bar:
                embedding = embed(ratings, ensure_folder(args.out / "movielens"), executor, bar.update)
            return problems.movielens(ratings, embedding, args.noise or NOISE)

        return make
    if name == "crops":
        from overcast.datasets.crops import generated_crops, read_crops
        from overcast.datasets.yield_model import fit_yields

        data = generated_crops() if args.data is None else read_crops(args.data)
        if args.belief == "climatology":
            data.climate(problems.CLIMATE_YEARS)  # raises unless there is a history
        return lambda executor: problems.crops(data, fit_yields(data), args.belief or BELIEF)
    return lambda executor: problems.synthetic() if name == "synthetic" else problems.kernel()
