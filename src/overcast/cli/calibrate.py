"""`overcast calibrate`: judge a file of forecasts by what happened."""

from __future__ import annotations

import argparse
from pathlib import Path

from overcast.cli.common import Commands, add_out, made, print_rows

HELP = "judge forecasts by what happened"
EXTRAS = "plot,scores"


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "calibrate",
        help=HELP,
        description="Judge forecasts by what happened, and say what recalibration would have made of them.",
        epilog="A row is a forecast, in order of time. Columns: NAME for what happened, with the members of an "
        "ensemble in NAMEfc.1, NAMEfc.2, ... (or from 0), or NAME_mean and NAME_sd of a normal forecast; any number of "
        "quantities side by side. Other columns, such as dates, are not read; rows without an outcome (empty or NA) "
        "are left out.",
    )
    parser.add_argument("file", type=Path, metavar="forecasts.csv", help="forecasts and outcomes")
    add_out(parser)
    parser.set_defaults(run=_run, resumes=False)


def _run(args: argparse.Namespace) -> None:
    from overcast.datasets.forecasts import read_forecasts
    from overcast.experiments.comparisons import calibrate

    record = read_forecasts(args.file)
    folder = made(args.out / "calibrate")
    judged = calibrate.judge(record)
    picture = calibrate.draw(judged, folder)  # first: a folder that cannot be written to shows at once
    print(judged.whole.verdict)
    if record.left_out:
        print(f"{record.left_out} rows without an outcome are left out.")
    half = len(judged.before)
    print(f"\nThe last {half} of {len(record.outcomes)}, each corrected by what was known by then:\n")
    print_rows([calibrate.HEADER, *judged.rows()], left=2)
    if len(record.names) > 1:
        print(f"\nEnergy score of all together: {judged.before.energy:.3g}, recalibrated {judged.after.energy:.3g}.")
    print(f"\nOpen {picture}")
