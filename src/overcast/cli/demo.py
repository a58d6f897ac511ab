"""`overcast demo`: the synthetic figure at a size that takes well under a minute."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from overcast.cli.common import Commands, add_json, add_out
from overcast.cli.running import reproduce_one

HELP = "the paper's synthetic figure at a small size"
EXTRAS = "experiments"

TRIALS, STEPS = 50, 500


def add_to(commands: Commands) -> None:
    parser = commands.add_parser("demo", help=HELP, description=f"Draw {HELP}: {TRIALS} trials of {STEPS} steps.")
    add_out(parser)
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    from overcast.experiments.engine.executors import process_executor
    from overcast.experiments.figures.problems import synthetic

    with process_executor(os.cpu_count() or 1) as executor:
        experiment = replace(synthetic(), trials=TRIALS, steps=STEPS)
        show = reproduce_one(experiment, args.out / "demo", executor, args)
    show()
