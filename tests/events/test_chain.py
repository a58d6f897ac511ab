"""Numbers and checksums of events: no damage stays unnoticed."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import overcast as oc
from life_support import Life
from memory_support import memory_of, unchanged
from overcast import events
from overcast.events.chain import CHAIN_FIELDS
from support import refused


def _life(name: str = "ridge", steps: int = 8) -> list[Any]:
    """Return the log of a short life, which is closed."""
    life = Life(name, 3, named=True)
    life.live(steps)
    return [life.config, *life.events, events.chained(events.closed(), after=life.events[-1])]


def _outcome(lines: list[bytes]) -> tuple[str, Any]:
    """Return what a replay of lines of JSON comes to: refused, warned of, or silent with what the bandit remembers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            given, *log = [json.loads(line) for line in lines]
        except ValueError:
            return "unreadable", None
        try:
            bandit = oc.replay(given, log)
        except (ValueError, TypeError) as error:
            return "refused" if "\n" not in str(error) else "refused on several lines", str(error)
    return ("warned", str(caught[0].message)) if caught else ("silent", memory_of(bandit))


def _lines_of(log: list[Any]) -> list[bytes]:
    return [json.dumps(entry).encode() for entry in log]


def _flips(lines: list[bytes], stride: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the lines with one bit flipped, for every `stride`-th byte, another bit each time."""
    at = 0
    for i, line in enumerate(lines):
        for j in range(len(line)):
            at += 1
            if at % stride == 0:
                damaged = bytearray(line)
                damaged[j] ^= 1 << (at // stride % 8)
                yield i, [*lines[:i], bytes(damaged), *lines[i + 1 :]]


@pytest.mark.parametrize(("name", "stride"), [("ridge", 3), ("kernel", 7), ("history", 11)])
def test_no_flipped_bit_is_replayed_in_silence_into_another_state(name: str, stride: int) -> None:
    lines = _lines_of(_life(name))
    kind, expected = _outcome(lines)
    assert kind == "silent"
    tried = 0
    for i, damaged in _flips(lines, stride):
        kind, content = _outcome(damaged)
        tried += kind != "unreadable"
        assert kind != "silent" or content == expected, (i, damaged[i])
    assert tried > 100  # many stay valid JSON


def test_an_event_that_is_lost_repeated_or_moved_is_named() -> None:
    lines = _lines_of(_life())
    n = len(lines)
    for i in range(1, n):
        for j in range(1, n):
            moved = [*lines[:i], *lines[i + 1 :]]
            moved.insert(j, lines[i])
            if moved != lines:
                assert _outcome(moved)[0] == "refused", (i, j)
            twice = [*lines[:j], lines[i], *lines[j:]]
            assert _outcome(twice)[0] == "refused", (i, j)
            swapped = list(lines)
            swapped[i], swapped[j] = swapped[j], swapped[i]
            assert i == j or _outcome(swapped)[0] == "refused", (i, j)
    for i in range(1, n - 1):
        kind, text = _outcome([*lines[:i], *lines[i + 1 :]])
        before = f"event {i - 1}" if i > 1 else "the configuration"
        expected = f"event {i} must come after {before}, got number {i + 1}; events were lost, repeated or moved"
        assert (kind, text) == ("refused", f"replay: {expected}")


def test_events_of_another_log_are_refused() -> None:
    one, other = _life(), _life("learnt")
    assert "event 1 " in _outcome(_lines_of([one[0], *other[1:]]))[1]
    text = _outcome(_lines_of([*one[:3], *other[3:]]))[1]
    assert "event 3 " in text
    assert "must have the checksum" in text


def test_a_log_whose_end_is_cut_off_is_noticed() -> None:
    lines = _lines_of(_life())
    for i in range(2, len(lines)):
        kind, text = _outcome(lines[:i])
        assert (kind, f"end={i - 1}" in text) == ("warned", True)
        given, *log = map(json.loads, lines[:i])
        assert oc.replay(given, log, end=i - 1).actions == oc.replay(given, log, end="open").actions
        with refused(ValueError, "replay", f"the last event must be number {i}, got {i - 1}"):
            oc.replay(given, log, end=i)
    for i, line in enumerate(lines):
        for j in range(0, len(line), 9):
            assert _outcome([*lines[:i], line[:j]])[0] != "silent"
    with refused(ValueError, "replay", "must be number 3, got 0"):
        oc.replay(json.loads(lines[0]), [], end=3)


@pytest.mark.parametrize("end", ["shut", -1, 1.5, True, None])
def test_an_end_that_means_nothing_is_refused(end: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"^replay: end must be"):
        oc.replay(_life()[0], [], end=end)


def test_nothing_follows_the_end_of_a_log() -> None:
    log = _life()
    with refused(ValueError, "events", "after must not be the end of the log"):
        events.chained(events.forgotten("x"), after=log[-1])
    number, checksum = log[-1]["number"] + 1, log[-1]["checksum"]
    with refused(ValueError, "replay", "(close) must be the last one"):
        oc.replay(log[0], [*log[1:], {"event": "forget", "id": "x", "number": number, "checksum": checksum}])
    bandit = oc.replay(log[0], log[1:])
    with unchanged(bandit):
        events.apply(bandit, events.closed())


@pytest.mark.parametrize("after", [None, {}, {"event": "forget", "id": "x"}, 3], ids=repr)
def test_an_event_follows_one_that_is_chained(after: Any) -> None:
    with refused(ValueError, "events", "after must be a configuration or an event that chained returned"):
        events.chained(events.closed(), after=after)


def test_events_with_and_without_numbers_do_not_mix() -> None:
    log = _life()
    bare = [{name: value for name, value in event.items() if name not in CHAIN_FIELDS} for event in log]
    with refused(ValueError, "replay", "event 3 must have the number and checksum"):
        oc.replay(log[0], [*log[1:3], *bare[3:]])
    with pytest.warns(UserWarning, match="no checksums"), refused(ValueError, "replay", "event 3 must have no number"):
        oc.replay(log[0], [*bare[1:3], *log[3:]])


def test_an_event_that_is_chained_again_follows_its_new_place() -> None:
    log = _life()
    assert events.chained(log[2], after=log[1]) == log[2]
    assert events.chained(log[2], after=log[0])["number"] == 1


@pytest.mark.parametrize("checksum", ["zz", "", None, "-1", "0123456g", 7], ids=repr)
def test_an_event_with_a_damaged_checksum_is_not_followed(checksum: Any) -> None:
    last = _life()[-2] | {"checksum": checksum}
    with refused(ValueError, "events", "checksum must be eight hexadecimal digits"):
        events.chained(events.closed(), after=last)
