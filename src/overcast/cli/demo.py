"""`overcast demo`: a season as a story, and the synthetic figure at a small size, within a minute."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from overcast.cli.common import Commands, add_json, add_out, ensure_folder
from overcast.cli.running import reproduce_one

HELP = "a season told as a story, and the paper's synthetic figure"
EXTRAS = "experiments"

TRIALS, STEPS = 50, 500


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "demo",
        help=HELP,
        description="Tell and draw a season of irrigation by forecasts, and draw the paper's synthetic figure at a "
        f"small size: {TRIALS} trials of {STEPS} steps.",
    )
    add_out(parser)
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    from overcast._files import write_figure
    from overcast.experiments.engine.executors import process_executor
    from overcast.experiments.figures import story
    from overcast.experiments.figures.problems import synthetic

    season, picture = story.play(), ensure_folder(args.out / "demo") / "story.png"
    write_figure(story.draw(season), picture)
    if not args.json:
        print(*story.tell(season), f"Open {picture}", "", sep="\n", flush=True)
    with process_executor(os.cpu_count() or 1) as executor:
        experiment = replace(synthetic(), trials=TRIALS, steps=STEPS)
        show = reproduce_one(experiment, args.out / "demo", executor, args)
    show()
