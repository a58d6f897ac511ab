"""The entry point of the command: its parser, and one line per error."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import overcast
from overcast.cli import bench, calibrate, completion, data, demo, doctor, reproduce, serve
from overcast.cli.common import Watch, age, bold
from overcast.cli.extras import lacking

COMMANDS = (demo, reproduce, calibrate, serve, bench, data, doctor, completion)

#: the extras of the modules that a command may miss; all others come with experiments
EXTRAS = {
    **dict.fromkeys(("platformdirs", "pooch", "requests", "surprise"), "movielens"),
    **dict.fromkeys(("httptools", "msgspec", "prometheus_client", "starlette", "uvicorn"), "service"),
    "psycopg": "postgres",
    "shtab": "completion",
}

NEXT = (
    "Start with `overcast demo`, or judge forecasts of your own with",
    "`overcast calibrate forecasts.csv`. `overcast COMMAND --help` says what a",
    "command takes, and `overcast --version` which version this is.",
)


class Parser(argparse.ArgumentParser):
    """A parser with errors of one line and without abbreviated options."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message.removeprefix('argument ')}; see {self.prog} --help\n")


class Command(Parser):
    """The parser of a subcommand, which reports unknown arguments with a pointer to its own help."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown


class Front(Parser):
    """The parser of the whole command, with the front page as its help."""

    def format_help(self) -> str:
        return _page()


def build() -> Parser:
    """Return the parser of the command with all its subcommands."""
    parser = Front(prog="overcast")
    parser.add_argument("--version", action="version", version=f"overcast {overcast.__version__}", help="the version")
    parser.set_defaults(run=_overview, resumes=True)
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=Command)
    for command in COMMANDS:
        command.add_to(commands)
    return parser


def _overview(args: argparse.Namespace) -> None:
    print(_page(), end="")


def _page() -> str:
    """Return the front page: the commands, with missing extras."""
    lines = [str(overcast.__doc__), "", f"{bold('usage')}: overcast COMMAND [OPTIONS]", ""]
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2]
        lines.append(f"  {bold(f'{name:<12}')}{command.HELP}")
        if lacking(command.EXTRAS):
            lines.append(f"{'':14}needs pip install 'overcast[{command.EXTRAS}]'")
    return "\n".join([*lines, "", *NEXT, ""])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    watch = Watch(age() if argv is None else 0.0)  # with arguments, the process is a caller's
    args = build().parse_args(argv)
    args.watch = watch
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± shows a question mark
    try:
        code = args.run(args)
        sys.stdout.flush()  # so that a closed pipe raises here
    except KeyboardInterrupt:
        resume = "; run the same command again to go on from here" if args.resumes else ""
        print(f"overcast: stopped{resume}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discard the rest of the output
        return 141
    except ModuleNotFoundError as error:
        extra = EXTRAS.get(error.name or "", "experiments")
        print(f"overcast: needs {error.name}; install it with pip install 'overcast[{extra}]'", file=sys.stderr)
        return 1
    except (ValueError, TypeError, OSError, ImportError, RuntimeError, MemoryError) as error:
        if os.environ.get("OVERCAST_TRACEBACK"):
            raise
        print(f"overcast: {error}", file=sys.stderr)
        return 1
    return code or 0
