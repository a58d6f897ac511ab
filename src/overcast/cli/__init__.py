"""The `overcast` command: one module per subcommand."""

from overcast.cli.entry import main

__all__ = ["main"]
