"""What beliefs made of other beliefs, and their JSON forms, check alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from overcast import _check
from overcast.beliefs.base import Belief


def parts(owner: str, beliefs: Iterable[Belief]) -> tuple[Belief, ...]:
    """Return `beliefs` as a tuple after checking that each is a belief and that there is one at least."""
    try:
        out = tuple(beliefs)
    except TypeError:
        raise TypeError(f"{owner}: beliefs must be a sequence of beliefs, got {_check.short(beliefs)}") from None
    for at, belief in enumerate(out):
        if not isinstance(belief, Belief):
            raise TypeError(
                f"{owner}: beliefs must hold beliefs only, got {_check.short(belief)} at index {at}; try as_belief"
            )
    if not out:
        raise ValueError(f"{owner}: beliefs must hold at least one belief, got none")
    return out


def fields(owner: str, data: dict[str, Any], required: Collection[str], optional: Collection[str] = ()) -> None:
    """Check the keys of a JSON form; a misspelt key would otherwise be ignored in silence."""
    missing = [key for key in required if key not in data]
    if missing:
        raise ValueError(f"{owner}: JSON must have the keys {_names(required)}, got none named {_names(missing)}")
    unknown = [key for key in data if key not in {"type", *required, *optional}]
    if unknown:
        allowed = [*required, *optional]
        raise ValueError(f"{owner}: JSON must have the keys {_names(allowed)} only, got {_check.short(unknown[0])}")


def _names(keys: Collection[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
