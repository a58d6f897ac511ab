"""The chain of a log: each event has its number and a running checksum, so that damage is noticed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from overcast import _check
from overcast.bandit.config import ENTRIES
from overcast.events import checksums

Event = dict[str, Any]
#: where a log ends: with the event `closed`, at the event of a number, or nobody knows where
End = int | Literal["closed", "open"]

#: of configurations and events together; version 2 has numbers and checksums
VERSION = 2
# What `chained` adds to an event.
LINK = ("number", "checksum")
#: what a configuration holds
CONFIG = ("version", *ENTRIES)


def chained(event: Event, after: Event) -> Event:
    """Return an event with its number and a running checksum, which follow from the event before it.

    The checksum is the CRC-32 of the configuration and of all events up to this one, as JSON with sorted keys. It
    notices damage, not forgery.

    Parameters
    ----------
    event : as the other functions of this module return it
    after : the event before it, as this function returned it; the configuration for the first event

    Examples
    --------
    >>> import overcast as oc
    >>> log = [oc.events.config(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())]
    >>> log.append(chained(oc.events.observed("a", [1.0], 2.0), after=log[-1]))
    >>> log.append(chained(oc.events.closed(), after=log[-1]))
    >>> [event["number"] for event in log[1:]]
    [1, 2]
    >>> oc.replay(log[0], log[1:]).learnt.rounds
    1
    """
    number, checksum = _link(after)
    if _kind(after) == "close":
        raise ValueError(f"events: after must not be the end of the log, got event {number} (close)")
    content = {name: value for name, value in event.items() if name not in LINK} | {"number": number + 1}
    return content | {"checksum": checksums.checksum(checksum, checksums.canonical(content))}


def checked(events: Iterable[Any], after: Event, end: End = "closed") -> Iterator[Event]:
    """Yield events after checking that each follows the one before it; raise ValueError at the first that does not.

    `replay` does so itself. Use it where a bandit that was loaded from a file goes on with later events.

    Parameters
    ----------
    events : as `chained` returned them, in order; those of earlier releases, without numbers, raise one warning
    after : the event before the first of them; the configuration if they are all that happened
    end : where the log must end, as for `replay`

    Examples
    --------
    >>> import overcast as oc
    >>> log = [oc.events.config(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())]
    >>> for reward in (1.0, 2.0, 3.0):
    ...     log.append(chained(oc.events.observed("a", [1.0], reward), after=log[-1]))
    >>> list(checked([log[1], log[3]], after=log[0], end=3))
    Traceback (most recent call last):
    ValueError: replay: event 2 must come after event 1, got number 3; events were lost, repeated or moved
    """
    yield from followed(events, after, end)


def followed(events: Iterable[Any], after: Event, end: End) -> Iterator[Event]:
    """Yield events as `checked` does; the warnings are about the caller of the caller."""
    if not isinstance(end, str):
        end = _check.integer("replay", "end", end, at_least=0)
    elif end not in ("closed", "open"):
        raise ValueError(f"replay: end must be closed, open or the number of the last event, got {_check.short(end)}")
    (number, checksum), kind, plain, first = _link(after), _kind(after), False, True
    for event in events:
        linked = isinstance(event, Mapping) and any(name in event for name in LINK)
        if first:
            plain, first = not linked, False
            if plain:
                warnings.warn(
                    "replay: events have no checksums, so that damage to the log stays unnoticed; pass each through "
                    "events.chained when you write it down",
                    stacklevel=3,
                )
        if linked == plain:
            want = "no number, as those before it have none" if plain else "the number and checksum of events.chained"
            raise ValueError(f"replay: event {number + 1} must have {want}, got {_check.short(_name(event))}")
        if kind == "close":
            raise ValueError(f"replay: event {number} (close) must be the last one, got {_check.short(_name(event))}")
        if not plain:
            checksum = _next(event, number, checksum)
        number, kind = number + 1, _kind(event)
        yield event
    if isinstance(end, int) and number != end:
        raise ValueError(f"replay: the last event must be number {end}, got {number}; the end of the log is not there")
    if end == "closed" and not first and not plain and kind != "close":
        warnings.warn(
            f"replay: events must end with events.closed, got event {number} ({_check.cut(kind, 20)}) as the last; the "
            f"end may be lost. If the log goes on, pass end={number}, or end='open' where the number of the last event "
            "is not known",
            stacklevel=3,
        )


def _next(event: Event, number: int, checksum: str) -> str:
    """Return the checksum of the next event; raise ValueError unless it follows a number and a checksum."""
    said = event.get("number")
    if type(said) is not int or said != number + 1:
        raise ValueError(
            f"replay: event {number + 1} must come after {f'event {number}' if number else 'the configuration'}, got "
            f"number {said if type(said) is int else _check.short(said)}; events were lost, repeated or moved"
        )
    try:
        content = checksums.canonical({name: value for name, value in event.items() if name != "checksum"})
    except (TypeError, RecursionError):
        content = b""
    want = checksums.checksum(checksum, content)
    if event.get("checksum") != want:
        raise ValueError(
            f"replay: event {said} ({_check.cut(_kind(event), 20)}) must have the checksum {want}, got "
            f"{_check.short(event.get('checksum'))}; it is damaged{'' if number else ', or the configuration is'}"
        )
    return want


def _link(event: Any) -> tuple[int, str]:
    """Return number and checksum of an event; a configuration has the number 0."""
    if isinstance(event, dict) and "event" not in event and all(name in event for name in CONFIG):
        return 0, checksums.checksum("", checksums.canonical(event))
    if not isinstance(event, dict) or any(name not in event for name in LINK):
        got = _check.short(_name(event))
        raise ValueError(f"events: after must be a configuration or an event that chained returned, got {got}")
    checksum = event["checksum"]
    if not isinstance(checksum, str) or not re.fullmatch("[0-9a-f]{8}", checksum):
        raise ValueError(f"events: checksum must be eight hexadecimal digits, got {_check.short(checksum)}")
    return _check.integer("events", "number", event["number"], at_least=1), checksum


def _name(event: Any) -> Any:
    """Return the name of an event for error messages."""
    return event.get("event") if isinstance(event, Mapping) else event


def _kind(event: Any) -> Any:
    return event.get("event") if isinstance(event, Mapping) else None
