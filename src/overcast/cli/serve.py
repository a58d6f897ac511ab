"""`overcast serve`: the decision service."""

from __future__ import annotations

import argparse

from overcast.cli.common import Commands, whole

HELP = "the decision service: decisions and outcomes over HTTP, durable"
EXTRAS = "service"


def add_to(commands: Commands) -> None:
    parser = commands.add_parser("serve", help=HELP, description="Serve decisions over HTTP from a durable log.")
    parser.add_argument("--db", default="overcast.db", help="SQLite file, or postgresql://user@host/name (%(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=lambda text: whole(text, 0), default=8765, help="port (%(default)s)")
    parser.set_defaults(run=_run, resumes=False)


def _run(args: argparse.Namespace) -> None:
    from overcast.service import Settings, run

    run(Settings(db=args.db, host=args.host, port=args.port))
