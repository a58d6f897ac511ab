"""Adapters of other packages, registered under the entry-point group `overcast.adapters`.

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
from overcast.adapters.forecasts import Forecasts, Options, single
from overcast.beliefs import Belief

GROUP = "overcast.adapters"


@cache
def adapters() -> tuple[tuple[str, Callable[..., Any]], ...]:
    """Load the adapters of installed packages, once."""
    return tuple((entry.name, entry.load()) for entry in entry_points(group=GROUP))


def forecasts(obj: Any, options: Options) -> Forecasts | None:
    """Return the forecasts from the first adapter that knows the object, None if none does."""
    for name, adapt in adapters():
        result = adapt(obj, **options.by_keyword())
        if result is not None:
            options.used.update(options.by_keyword())
        if isinstance(result, Belief):
            return single(result)
        if isinstance(result, Sequence):
            return Forecasts(len(result), partial(_check_entry, name, result))
        if result is not None:
            raise _wrong_type(name, result)
    return None


def _check_entry(name: str, beliefs: Sequence[Any], i: int) -> Belief:
    belief = beliefs[i]
    if not isinstance(belief, Belief):
        raise _wrong_type(name, belief)
    return belief


def _wrong_type(name: str, result: Any) -> TypeError:
    must = "must return a belief, a sequence of beliefs, or None"
    return TypeError(f"as_belief: the adapter {name!r} {must}, got {_check.short(result)}")
