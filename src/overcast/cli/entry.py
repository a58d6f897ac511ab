"""The entry point of the command: its parser, and one line per error."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

import overcast
from overcast.cli import calibrate, data, demo, reproduce, serve

#: the modules that come with the extra of this name; all others that a command may miss come with experiments
MOVIELENS = ("platformdirs", "pooch", "requests", "surprise")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="overcast", description=overcast.__doc__)
    parser.add_argument("--version", action="version", version=f"overcast {overcast.__version__}")
    parser.set_defaults(resumes=True)
    commands = parser.add_subparsers(required=True, metavar="command")
    for command in (demo, reproduce, calibrate, data, serve):
        command.add_to(commands)
    args = parser.parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± shows a question mark
    try:
        args.run(args)
        sys.stdout.flush()  # so that a reader who went away is noticed here
    except KeyboardInterrupt:
        resume = "; run the same command again to go on from here" if args.resumes else ""
        print(f"overcast: stopped{resume}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads what is still to be written
        return 141
    except ModuleNotFoundError as error:
        extra = "movielens" if error.name in MOVIELENS else "experiments"
        print(f"overcast: needs {error.name}; install it with pip install 'overcast[{extra}]'", file=sys.stderr)
        return 1
    except (ValueError, TypeError, OSError, ImportError, RuntimeError, MemoryError) as error:
        if os.environ.get("OVERCAST_TRACEBACK"):
            raise
        print(f"overcast: {error}", file=sys.stderr)
        return 1
    return 0
