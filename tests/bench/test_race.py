"""Races: turns, medians, agreement, and entries that are too slow."""

from __future__ import annotations

import time

import pytest

from bench_support import SMALL
from overcast.bench import race as module
from overcast.bench.race import Entry, Racer, race
from overcast.bench.tasks import Task

LOG: list[tuple[str, int]] = []


class Chooses(Racer):
    """Chooses the same action always, and says when it was asked."""

    index, pause = 0, 0.0

    def start(self) -> None:
        LOG.clear()

    def step(self, t: int) -> int:
        LOG.append((type(self).__name__, t))
        time.sleep(self.pause)
        return self.index


class First(Chooses): ...


class Half(Chooses):
    def step(self, t: int) -> int:
        return super().step(t) + t % 2


class Slow(Chooses):
    pause = 0.002


def _entries(*makes: type[Racer]) -> list[Entry]:
    return [Entry(make.__name__, None, "fixed", ("blocks",), make) for make in makes]


def test_entries_take_turns_on_the_same_rounds() -> None:
    task = SMALL[0]
    told: list[int] = []
    found = race(task, _entries(First, Half), told.append)
    assert [name for name, _ in LOG[:: module.TURN]] == ["First", "Half"] * (task.steps // module.TURN)
    assert [t for name, t in LOG if name == "First"] == list(range(task.steps))
    assert sum(told) == task.steps
    assert [(r.label, r.agreement, r.rounds) for r in found] == [("First", 1.0, 40), ("Half", 0.5, 40)]


def test_only_entries_for_the_kind_of_task_take_part() -> None:
    assert race(SMALL[1], _entries(First)) == []


def test_a_slow_entry_leaves_when_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUDGET", 0.02)
    quick, slow = race(SMALL[0], _entries(First, Slow))
    assert (quick.rounds, slow.rounds) == (SMALL[0].steps, module.TURN)
    assert slow.seconds >= Slow.pause
    assert slow.agreement == 1.0


def test_the_version_is_that_of_the_package() -> None:
    def entry(package: str | None) -> Entry:
        return Entry("", package, "", (), _made)

    assert entry(None).version == ""
    assert entry("overcast").version == "0.1.0"


def _made(task: Task) -> Racer:
    return Chooses(task)
