"""`overcast serve`: the decision service."""

from __future__ import annotations

import argparse

from overcast.cli.common import Commands, whole

HELP = "the decision service: decisions and outcomes over HTTP, durable"
EXTRAS = "service"


def add_to(commands: Commands) -> None:
    parser = commands.add_parser("serve", help=HELP, description="Serve decisions over HTTP from a durable log.")
    parser.add_argument("--db", help="SQLite file, or postgresql://user@host/name (overcast.db)")
    parser.add_argument("--host", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=lambda text: whole(text, 0), help="port (8765)")
    parser.add_argument(
        "--config", metavar="FILE", help="settings as TOML; flags and OVERCAST_... variables override it"
    )
    parser.add_argument(
        "--demo", action="store_true", help="fill it with a season of irrigation that goes on (in overcast-demo.db)"
    )
    parser.add_argument(
        "--new-key",
        action="store_true",
        help="make a key with the scope admin, as the first start does, if all are lost",
    )
    parser.add_argument(
        "--shrink",
        action="store_true",
        help="give the space of erased entries back to the system first, by writing the SQLite file anew",
    )
    parser.set_defaults(run=_run, resumes=False)


def _run(args: argparse.Namespace) -> None:
    from overcast.service import load_settings, run

    db = "overcast-demo.db" if args.demo and args.db is None else args.db
    settings = load_settings({"db": db, "host": args.host, "port": args.port}, args.config)
    run(settings, args.demo, args.new_key, args.shrink)
