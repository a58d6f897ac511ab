"""Number the events of a log and give them running checksums, so that damage is detected."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from overcast import _check
from overcast.bandit.config import ENTRIES
from overcast.events import checksums

Event = dict[str, Any]
#: where a log ends: with the event `closed`, at the event with this number, or anywhere
End = int | Literal["closed", "open"]

#: version of the format of configurations and events; version 2 has numbers and checksums
VERSION = 2
# The fields that `chained` adds to an event.
CHAIN_FIELDS = ("number", "checksum")
#: the fields of a configuration
CONFIG_FIELDS = ("version", *ENTRIES)


def chained(event: Event, after: Event) -> Event:
    """Add a number and a running checksum to an event, which follow from the event before it.

    The checksum is the CRC-32 of the configuration and of all events up to this one, as JSON with sorted keys. It
    detects damage, not forgery.

    Parameters
    ----------
    event : from another function of this module
    after : the event before it, from this function; the configuration for the first event

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
    number, checksum = _number_and_checksum(after)
    if _event_kind(after) == "close":
        raise ValueError(f"events: after must not be the end of the log, got event {number} (close)")
    content = {name: value for name, value in event.items() if name not in CHAIN_FIELDS} | {"number": number + 1}
    return content | {"checksum": checksums.checksum(checksum, checksums.canonical(content))}


def checked(events: Iterable[Any], after: Event, end: End = "closed") -> Iterator[Event]:
    """Check that each event follows the one before it; yield it, or raise ValueError.

    `replay` does so itself. Use this function to apply later events to a bandit that was loaded from a file.

    Parameters
    ----------
    events : from `chained`, in order; events of earlier releases, without numbers, cause one warning
    after : the event before the first of them; the configuration if they are the whole log
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
    yield from checked_events(events, after, end)


def checked_events(events: Iterable[Any], after: Event, end: End) -> Iterator[Event]:
    """Check and yield events as `checked` does, with warnings that point to the caller's caller."""
    if not isinstance(end, str):
        end = _check.integer("replay", "end", end, at_least=0)
    elif end not in ("closed", "open"):
        raise ValueError(f"replay: end must be closed, open or the number of the last event, got {_check.short(end)}")
    (number, checksum), kind, unchained, first = _number_and_checksum(after), _event_kind(after), False, True
    for event in events:
        linked = isinstance(event, Mapping) and any(name in event for name in CHAIN_FIELDS)
        if first:
            unchained, first = not linked, False
            if unchained:
                warnings.warn(
                    "replay: events have no checksums, so that damage to the log stays unnoticed; pass each through "
                    "events.chained when you write it down",
                    stacklevel=3,
                )
        if linked == unchained:
            must = (
                "no number, as those before it have none" if unchained else "the number and checksum of events.chained"
            )
            raise ValueError(f"replay: event {number + 1} must have {must}, got {_check.short(_event_name(event))}")
        if kind == "close":
            got = _check.short(_event_name(event))
            raise ValueError(f"replay: event {number} (close) must be the last one, got {got}")
        if not unchained:
            checksum = _next_checksum(event, number, checksum)
        number, kind = number + 1, _event_kind(event)
        yield event
    if isinstance(end, int) and number != end:
        raise ValueError(f"replay: the last event must be number {end}, got {number}; the end of the log is not there")
    if end == "closed" and not first and not unchained and kind != "close":
        warnings.warn(
            f"replay: events must end with events.closed, got event {number} ({_check.cut(kind, 20)}) as the last; the "
            f"end may be lost. If the log goes on, pass end={number}, or end='open' where the number of the last event "
            "is not known",
            stacklevel=3,
        )


def _next_checksum(event: Event, number: int, checksum: str) -> str:
    """Check the number and checksum of the event after `number`; return its checksum."""
    stated = event.get("number")
    if type(stated) is not int or stated != number + 1:
        raise ValueError(
            f"replay: event {number + 1} must come after {f'event {number}' if number else 'the configuration'}, got "
            f"number {stated if type(stated) is int else _check.short(stated)}; events were lost, repeated or moved"
        )
    try:
        content = checksums.canonical({name: value for name, value in event.items() if name != "checksum"})
    except (TypeError, RecursionError):
        content = b""
    expected = checksums.checksum(checksum, content)
    if event.get("checksum") != expected:
        raise ValueError(
            f"replay: event {stated} ({_check.cut(_event_kind(event), 20)}) must have the checksum {expected}, got "
            f"{_check.short(event.get('checksum'))}; it is damaged{'' if number else ', or the configuration is'}"
        )
    return expected


def _number_and_checksum(event: Any) -> tuple[int, str]:
    """Return number and checksum of an event; a configuration has number 0."""
    if isinstance(event, dict) and "event" not in event and all(name in event for name in CONFIG_FIELDS):
        return 0, checksums.checksum("", checksums.canonical(event))
    if not isinstance(event, dict) or any(name not in event for name in CHAIN_FIELDS):
        got = _check.short(_event_name(event))
        raise ValueError(f"events: after must be a configuration or an event that chained returned, got {got}")
    checksum = event["checksum"]
    if not isinstance(checksum, str) or not re.fullmatch("[0-9a-f]{8}", checksum):
        raise ValueError(f"events: checksum must be eight hexadecimal digits, got {_check.short(checksum)}")
    return _check.integer("events", "number", event["number"], at_least=1), checksum


def _event_name(event: Any) -> Any:
    """Return the name of an event, or whatever came instead, for error messages."""
    return event.get("event") if isinstance(event, Mapping) else event


def _event_kind(event: Any) -> Any:
    return event.get("event") if isinstance(event, Mapping) else None
