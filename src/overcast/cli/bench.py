"""`overcast bench`: compare the speed with bare NumPy calls and with other packages."""

from __future__ import annotations

import argparse
from pathlib import Path

from overcast.cli.common import Commands, add_json, print_json, print_rows, progress

HELP = "speed side by side with bare NumPy and with other packages"
EXTRAS = "experiments"


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "bench",
        help=HELP,
        description="Time a decision and its update on the same rounds: this package, the bare NumPy and SciPy calls, "
        "and with --peers all other bandit packages that are installed. Entries take turns on one thread. All that "
        "solve the same problem by the same rule must make the same choices, and the table says whether they do.",
    )
    parser.add_argument("--peers", action="store_true", help="race the installed peers too")
    parser.add_argument("--quick", action="store_true", help="few rounds, for a first look")
    add_json(parser)
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the bars into this file, e.g. peers.png")
    parser.set_defaults(run=_run, resumes=False)


def _run(args: argparse.Namespace) -> None:
    from overcast._files import write_figure
    from overcast.bench import reference, report
    from overcast.bench.peers import PEERS
    from overcast.bench.race import race
    from overcast.bench.tasks import tasks

    installed = [peer for peer in PEERS if peer.installed] if args.peers else []
    missing = [peer.package for peer in PEERS if peer not in installed] if args.peers else []
    entries = [*reference.ENTRIES, *(entry for peer in installed for entry in peer.entries)]
    race_tasks = tasks(args.quick)
    results = []
    with progress(sum(task.steps for task in race_tasks), "bench", "round") as bar:
        for task in race_tasks:
            results += race(task, entries, bar.update)
    if args.picture:
        write_figure(report.draw(results), args.picture)
    if args.json:
        print_json(report.record(results, missing))
        return
    for name, rows in report.tables(results):
        print(f"{name}\n")
        print_rows([report.HEADER, *rows], left=2)
        print()
    if missing:
        print(f"Not installed: {', '.join(missing)}. `make bench-peers` installs all of them.")
