"""`overcast data`: download data that may not be passed on."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from overcast.cli.common import Commands, ensure_folder

HELP = "download data that may not be passed on"
EXTRAS = "movielens"


def add_to(commands: Commands) -> None:
    parser = commands.add_parser("data", help=HELP, description=f"{HELP.capitalize()}: MovieLens-1M.")
    parser.add_argument("name", choices=["movielens"], metavar="NAME", help="movielens")
    parser.add_argument("--to", type=Path, metavar="DIR", help="folder to unpack in (the user's data directory)")
    parser.add_argument("--accept-licence", action="store_true", help="accept its terms of use without being asked")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    from overcast.datasets import download

    if not args.accept_licence:
        print(download.LICENCE)
        if not sys.stdin.isatty():
            raise ValueError("the terms above must be accepted: pass --accept-licence")
        try:
            answer = input("Accept these terms? Type yes: ")
        except EOFError:
            answer = ""
            print()
        if answer.strip().lower() != "yes":
            raise ValueError("the terms were not accepted, and nothing was downloaded")
    folder = download.download_movielens(ensure_folder(args.to or download.default_folder()))
    command = f"overcast reproduce movielens --data {shlex.quote(str(folder))}"
    print(f"MovieLens-1M is in {folder}; do not pass it on. Now: {command}")
