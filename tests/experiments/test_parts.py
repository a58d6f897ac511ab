"""Interrupted and failed runs keep what is done, and go on from there."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overcast.environments import Synthetic
from overcast.experiments import parts as parts_module
from overcast.experiments.experiment import Experiment
from overcast.experiments.parts import Result, Store, compute, run_parts
from overcast.features import Quadratic
from overcast.models import LinearModel
from overcast.simulation.runner import Block


def counted(
    monkeypatch: pytest.MonkeyPatch, fail_at: int | None = None, error: type[BaseException] = RuntimeError
) -> list[Block]:
    """Count the blocks computed from here on; the one numbered `fail_at` raises."""
    ran: list[Block] = []

    def compute_counted(block: Block) -> Result:
        if len(ran) == fail_at:
            raise error("boom")
        ran.append(block)
        return compute(block)

    monkeypatch.setattr(parts_module, "compute", compute_counted)
    return ran


def test_an_interrupted_run_goes_on_and_gives_the_same_numbers(
    small: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    todo = list(small.parts())
    whole = run_parts(todo, Store(tmp_path / "whole", small), None, lambda: None)
    counted(monkeypatch, fail_at=5, error=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        run_parts(todo, Store(tmp_path / "cut", small), None, lambda: None)
    ran = counted(monkeypatch)
    calls: list[None] = []
    resumed = run_parts(todo, Store(tmp_path / "cut", small), None, lambda: calls.append(None))
    assert len(ran) == len(todo) - 5
    assert len(calls) == len(todo)
    assert resumed.keys() == whole.keys()
    for key, result in resumed.items():
        np.testing.assert_array_equal(result.regret, whole[key].regret)
        np.testing.assert_array_equal(result.expected_regret, whole[key].expected_regret)


@pytest.mark.parametrize("executor", [None, "threads"])
def test_a_failed_part_fails_the_run_and_keeps_the_others(
    small: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: str | None
) -> None:
    todo = list(small.parts())
    counted(monkeypatch, fail_at=3)
    store = Store(tmp_path, small)
    with pytest.raises(RuntimeError, match="boom"), ThreadPoolExecutor(1) as threads:
        run_parts(todo, store, threads if executor else None, lambda: None)
    kept = [part for part in todo if store.load(part) is not None]
    assert todo[:3] == kept[:3]
    assert todo[3] not in kept


def test_parts_under_way_at_an_interrupt_are_finished_and_kept(small: Experiment, tmp_path: Path) -> None:
    """The executor runs two parts; the interrupt comes as the first is reported, and the rest is cancelled."""

    class TwoAtOnce(Executor):
        def __init__(self) -> None:
            self.submitted: list[Future[Any]] = []

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            if len(self.submitted) < 2:
                future.set_running_or_notify_cancel()
                future.set_result(fn(*args, **kwargs))
            self.submitted.append(future)
            return future

    def interrupt() -> None:
        raise KeyboardInterrupt

    todo = list(small.parts())
    store, executor = Store(tmp_path, small), TwoAtOnce()
    with pytest.raises(KeyboardInterrupt):
        run_parts(todo, store, executor, interrupt)
    assert [store.load(part) is not None for part in todo] == [True, True, *[False] * (len(todo) - 2)]
    assert all(future.cancelled() for future in executor.submitted[2:])


def test_other_settings_never_take_over_old_parts(small: Experiment, tmp_path: Path) -> None:
    part = next(iter(small.parts()))
    Store(tmp_path, small).save(part, Result(np.zeros((1, 1)), np.zeros((1, 1)), 0.0))
    assert Store(tmp_path, small).load(part) is not None
    others = (
        replace(small, seed=1),
        replace(small, steps=13),
        replace(small, env=Synthetic(k=99)),
        replace(small, model=LinearModel(Quadratic(), ridge=2.0)),
    )
    for other in others:
        assert Store(tmp_path, other).load(part) is None


def test_what_the_numbers_do_not_depend_on_keeps_the_parts(small: Experiment, tmp_path: Path) -> None:
    part = next(iter(small.parts()))
    Store(tmp_path, small).save(part, Result(np.zeros((1, 1)), np.zeros((1, 1)), 0.0))
    moved = replace(small, data="elsewhere", title="Another", notes=("A note.",), found={"generated": True})
    assert Store(tmp_path, moved).load(part) is not None


def test_a_damaged_part_counts_as_unfinished(small: Experiment, tmp_path: Path) -> None:
    store, part = Store(tmp_path, small), next(iter(small.parts()))
    store.save(part, Result(np.zeros((2, 2)), np.zeros((2, 2)), 0.0))
    (file,) = (tmp_path / "parts").rglob("*.npz")
    file.write_bytes(file.read_bytes()[:50])
    assert store.load(part) is None
