"""`overcast serve`: the decision service."""

from __future__ import annotations

import argparse

from overcast.cli.common import Commands, whole


def add_to(commands: Commands) -> None:
    parser = commands.add_parser("serve", help="the decision service: decisions and outcomes over HTTP, durable")
    parser.add_argument("--db", default="overcast.db", help="SQLite file, or postgresql://user@host/name (%(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=lambda text: whole(text, 0), default=8765, help="port (%(default)s)")
    parser.set_defaults(run=_run, resumes=False)


def _run(args: argparse.Namespace) -> None:
    try:
        from overcast.service import Settings, run
    except ModuleNotFoundError as error:
        raise ImportError(f"serve needs {error.name}; install it with pip install 'overcast[service]'") from None
    run(Settings(db=args.db, host=args.host, port=args.port))
