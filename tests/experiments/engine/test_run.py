"""Interrupted and failed runs keep what is done, and go on from there."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiment_support import keep_first_part
from overcast import _storage
from overcast._jobs import Arrays
from overcast.environments import Synthetic
from overcast.experiments.engine import run as run_module
from overcast.experiments.engine.experiment import Experiment, Part
from overcast.experiments.engine.run import NEEDED, compute, part_files, run
from overcast.features import Quadratic
from overcast.models import LinearModel
from overcast.simulation.record import arrays


def counted(
    monkeypatch: pytest.MonkeyPatch, fail_at: int | None = None, error: type[BaseException] = RuntimeError
) -> list[Part]:
    """Count the parts computed from here on; the one numbered `fail_at` raises."""
    ran: list[Part] = []

    def compute_counted(part: Part) -> Arrays:
        if len(ran) == fail_at:
            raise error("boom")
        ran.append(part)
        return compute(part)

    monkeypatch.setattr(run_module, "compute", compute_counted)
    return ran


def test_an_interrupted_run_goes_on_and_gives_the_same_numbers(
    small: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(small, tmp_path / "whole", None, lambda: None)
    counted(monkeypatch, fail_at=5, error=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        run(small, tmp_path / "cut", None, lambda: None)
    ran = counted(monkeypatch)
    calls: list[None] = []
    resumed = run(small, tmp_path / "cut", None, lambda: calls.append(None))
    todo = list(small.parts())
    assert len(ran) == len(todo) - 5
    assert len(calls) == len(todo)
    for line, same in zip(resumed.grid, whole.grid, strict=True):
        assert (line.curve, line.beta) == (same.curve, same.beta)
        assert arrays(line).keys() == arrays(same).keys()
        for name, values in arrays(line).items():
            np.testing.assert_array_equal(values, getattr(same, name))


@pytest.mark.parametrize("executor", [None, "threads"])
def test_a_failed_part_fails_the_run_and_keeps_the_others(
    small: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: str | None
) -> None:
    counted(monkeypatch, fail_at=3)
    with pytest.raises(RuntimeError, match="boom"), ThreadPoolExecutor(1) as threads:
        run(small, tmp_path, threads if executor else None, lambda: None)
    kept = [path.exists() for path in part_files(small, tmp_path)]
    assert kept[:4] == [True, True, True, False]


def test_other_settings_never_take_over_old_parts(small: Experiment, tmp_path: Path) -> None:
    found = keep_first_part(small, tmp_path)
    assert found(small)
    others = (
        replace(small, seed=1),
        replace(small, steps=13),
        replace(small, env=Synthetic(k=99)),
        replace(small, model=LinearModel(Quadratic(), ridge=2.0)),
    )
    for other in others:
        assert not found(other)


def test_what_the_numbers_do_not_depend_on_keeps_the_parts(small: Experiment, tmp_path: Path) -> None:
    found = keep_first_part(small, tmp_path)
    assert found(replace(small, data="elsewhere", title="Another", notes=("A note.",), facts={"generated": True}))


@pytest.mark.parametrize("damage", [lambda whole: whole[:50], lambda whole: b""], ids=["cut short", "empty"])
def test_a_damaged_part_counts_as_unfinished(
    small: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[bytes], bytes]
) -> None:
    brief = replace(small, trials=2, steps=2)
    run(brief, tmp_path, None, lambda: None)
    file = next(iter(part_files(brief, tmp_path)))
    assert _storage.read_arrays(file, NEEDED) is not None
    file.write_bytes(damage(file.read_bytes()))
    ran = counted(monkeypatch)
    run(brief, tmp_path, None, lambda: None)
    assert [part.key for part in ran] == [next(brief.parts()).key]
