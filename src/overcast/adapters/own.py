"""Adapters of one's own, by the entry-point group `overcast.adapters`.

A package names a function there, which gets the object, and `model`, `level` and `member_dim` by keyword. It returns a
belief, a sequence of them (one per row), or None for objects that are not its own. It is asked first:

    [project.entry-points."overcast.adapters"]
    mine = "my_package.overcast:as_belief"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.metadata import entry_points
from typing import Any

from overcast import _check
from overcast.adapters.forecasts import Ask, Forecasts, one
from overcast.beliefs import Belief

GROUP = "overcast.adapters"


@cache
def adapters() -> tuple[tuple[str, Callable[..., Any]], ...]:
    """Return the adapters of installed packages, loaded once."""
    return tuple((entry.name, entry.load()) for entry in entry_points(group=GROUP))


def forecasts(obj: Any, ask: Ask) -> Forecasts | None:
    """Return the forecasts that the first adapter of one's own finds in the object, None if none does."""
    for name, adapt in adapters():
        found = adapt(obj, **ask.options())
        if found is not None:
            ask.used.update(ask.options())
        if isinstance(found, Belief):
            return one(found)
        if isinstance(found, Sequence):
            return Forecasts(len(found), partial(_entry, name, found))
        if found is not None:
            raise _wrong(name, found)
    return None


def _entry(name: str, found: Sequence[Any], i: int) -> Belief:
    belief = found[i]
    if not isinstance(belief, Belief):
        raise _wrong(name, belief)
    return belief


def _wrong(name: str, found: Any) -> TypeError:
    must = "must return a belief, a sequence of beliefs, or None"
    return TypeError(f"as_belief: the adapter {name!r} {must}, got {_check.short(found)}")
