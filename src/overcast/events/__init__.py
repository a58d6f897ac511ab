"""The life of a bandit as a list of events, from which it can be rebuilt.

An event is JSON data that says what happened: `decided`, `learnt`, `forgotten`, `observed`, `added`, `retired`,
`renamed`, `policy`, `fitted` or `merged`. Write one down after each call that succeeded. `replay` takes the
configuration of a bandit and its events, and returns a bandit that remembers the same. It never decides again: what was
decided is in the records.

`chained` gives an event its number and a running checksum, so that `replay` notices a log that was damaged. `closed`
ends a log, so that `replay` notices if its end was cut off.
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
