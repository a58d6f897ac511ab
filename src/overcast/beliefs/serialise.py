"""The JSON form of beliefs, checks of the parts of composite beliefs, and short reprs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import KINDS, Belief

# Composite beliefs, such as mixtures, may be nested so deep.
MAX_DEPTH = 32
# A repr shows at most so many numbers or beliefs.
SHOWN = 16


def belief_from_json(data: object) -> Belief:
    """Rebuild a belief from the data that `to_json` returned; custom classes must have been imported.

    Parameters
    ----------
    data : object with the class name under "type" and that class's parameters; "names" of its dimensions may stand
        beside them

    Examples
    --------
    >>> belief_from_json({"type": "Gaussian", "mean": [21.0], "cov": [4.0]})
    Gaussian(mean=[21.0], cov=[4.0])
    """
    if not isinstance(data, dict):
        raise ValueError(f"belief_from_json: belief must be an object with a type, got {_check.short(data)}")
    if "type" not in data:
        raise ValueError('belief_from_json: belief must have a "type", such as "Gaussian", got none')
    kind = data["type"]
    if not isinstance(kind, str) or kind not in KINDS:
        known = ", ".join(sorted(KINDS))
        raise ValueError(f"belief_from_json: type must be one of {known}, got {_check.short(kind)}")
    _check_depth(data)
    names = data.get("names")
    if names is None:
        return KINDS[kind].from_json(data)
    return KINDS[kind].from_json({key: value for key, value in data.items() if key != "names"}).named(names)


def _check_depth(data: dict[str, Any]) -> None:
    """Raise ValueError if beliefs are nested so deep that building them would exhaust the stack."""
    level, depth = [data], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"belief_from_json: beliefs must be nested at most {MAX_DEPTH} deep, got more")
        values = [value for belief in level for value in belief.values()]
        inner = [item for value in values if isinstance(value, list) and value for item in _objects(value)]
        level = [value for value in values if isinstance(value, dict)] + inner


def _objects(items: list[Any]) -> list[dict[str, Any]]:
    """Return the dictionaries in a list; [] if its first item is none."""
    return [item for item in items if isinstance(item, dict)] if isinstance(items[0], dict) else []


def fields(owner: str, data: dict[str, Any], required: Collection[str], optional: Collection[str] = ()) -> list[Any]:
    """Return the values of a JSON form, None for absent optional ones; raise ValueError for wrong keys."""
    missing = [key for key in required if key not in data]
    if missing:
        raise ValueError(f"{owner}: JSON must have the keys {_names(required)}, got none named {_names(missing)}")
    allowed = [*required, *optional]
    unknown = [key for key in data if key not in {"type", *allowed}]
    if unknown:
        raise ValueError(f"{owner}: JSON must have the keys {_names(allowed)} only, got {_check.short(unknown[0])}")
    return [data.get(key) for key in allowed]


def nested(owner: str, data: object) -> list[Belief]:
    """Rebuild the parts of a composite belief from their JSON forms."""
    if not isinstance(data, list):
        raise ValueError(f"{owner}: beliefs must be a list of beliefs, got {_check.short(data)}")
    return [belief_from_json(item) for item in data]


def parts(owner: str, beliefs: Iterable[Belief]) -> tuple[Belief, ...]:
    """Return `beliefs` as a tuple; raise unless there is at least one and all are beliefs."""
    try:
        out = tuple(beliefs)
    except TypeError:
        raise TypeError(f"{owner}: beliefs must be a sequence of beliefs, got {_check.short(beliefs)}") from None
    for at, belief in enumerate(out):
        if not isinstance(belief, Belief):
            got = f"{_check.short(belief)} at index {at}"
            raise TypeError(f"{owner}: beliefs must hold beliefs only, got {got}; try as_belief")
    if not out:
        raise ValueError(f"{owner}: beliefs must hold at least one belief, got none")
    if max(map(_nesting, out)) >= MAX_DEPTH:  # JSON could not be read back
        raise ValueError(f"{owner}: beliefs must be nested at most {MAX_DEPTH} deep, got more")
    return out


def _nesting(belief: Belief) -> int:
    """Return the depth of nesting, 1 for a simple belief."""
    inner = getattr(belief, "beliefs", None) or (getattr(belief, "belief", None),)
    return 1 + max((_nesting(part) for part in inner if isinstance(part, Belief)), default=0)


def shown(content: Array | tuple[Belief, ...]) -> str:
    """Format numbers or beliefs for a repr: all of them if they are few, else their count."""
    if isinstance(content, tuple):
        return str(list(content)) if len(content) <= SHOWN else f"[{len(content)} beliefs]"
    return str(content.tolist()) if content.size <= SHOWN else f"[array of shape {content.shape}]"


def _names(keys: Collection[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
