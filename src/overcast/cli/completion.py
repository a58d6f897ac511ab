"""`overcast completion`: print a shell script that completes commands and options."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from overcast.cli.common import Commands

HELP = "the shell's Tab key: a script for bash, zsh or fish"
EXTRAS = "completion"

SHELLS = ("bash", "zsh", "fish")

WHERE = """\
Write the script to where the shell looks for it, then open a new shell:
  overcast completion bash > ~/.local/share/bash-completion/completions/overcast
  overcast completion zsh > ~/.zfunc/_overcast
  overcast completion fish > ~/.config/fish/completions/overcast.fish
The folder must exist. zsh looks into ~/.zfunc if ~/.zshrc says fpath+=~/.zfunc
before compinit. A new release may bring new options: write the script again.
"""


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "completion",
        help=HELP,
        description="Print a script that completes commands, options, their values and paths on Tab.",
        epilog=WHERE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    parser.set_defaults(run=_run, resumes=False)


def _run(args: argparse.Namespace) -> None:
    import shtab

    from overcast.cli.entry import build

    parser = build()
    for action in _actions(parser):
        if action.type is Path:
            complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE
            action.complete = complete  # type: ignore[attr-defined]
    print(shtab.complete(parser, args.shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the options and arguments of a parser and of its subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
