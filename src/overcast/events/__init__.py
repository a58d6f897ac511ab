"""Event logs of a bandit, from which it can be rebuilt.

An event is JSON data that says what happened: `decided`, `learnt`, `forgotten`, `observed`, `added`, `retired`,
`renamed`, `policy`, `fitted` or `merged`. Append one to the log after each call that succeeded. `replay` takes the
configuration of a bandit and its events, and returns a bandit in the same state. It takes decisions from their records
and makes none itself.

`chained` adds a number and a running checksum to an event, so that `replay` detects a damaged log. `closed` ends a log,
so that `replay` detects a missing end.
"""

from overcast.events.chain import chained, checked
from overcast.events.log import (
    added,
    closed,
    config,
    decided,
    fitted,
    forgotten,
    learnt,
    merged,
    observed,
    policy,
    renamed,
    retired,
)
from overcast.events.replay import apply, replay

__all__ = [
    "added",
    "apply",
    "chained",
    "checked",
    "closed",
    "config",
    "decided",
    "fitted",
    "forgotten",
    "learnt",
    "merged",
    "observed",
    "policy",
    "renamed",
    "replay",
    "retired",
]
