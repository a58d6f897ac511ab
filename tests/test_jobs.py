"""Jobs that are kept, computed again, interrupted and under way."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Lock
from typing import Any

import numpy as np
import pytest

from overcast._jobs import Arrays, Workers, resume


def square(n: int) -> Arrays:
    return {"square": np.array(n * n)}


def jobs_in(folder: Path, n: int) -> dict[Path, int]:
    return {folder / f"{i}.npz": i for i in range(n)}


@pytest.mark.parametrize("threads", [0, 2])
def test_results_come_in_the_order_of_the_jobs_and_what_is_kept_is_not_computed_again(
    tmp_path: Path, threads: int
) -> None:
    computed: list[int] = []
    calls: list[None] = []

    def work(n: int) -> Arrays:
        computed.append(n)
        return square(n)

    jobs = jobs_in(tmp_path, 5)
    resume({path: job for path, job in jobs.items() if job in (1, 3)}, work, ("square",), None, lambda: None)
    with ThreadPoolExecutor(2) as pool:
        found = resume(
            jobs, work, ("square",), Workers(pool, lambda: 2) if threads else None, lambda: calls.append(None)
        )
    assert [int(result["square"]) for result in found] == [0, 1, 4, 9, 16]
    assert sorted(computed) == [0, 1, 2, 3, 4]
    assert len(calls) == 5


def test_a_file_without_the_arrays_that_are_needed_is_made_anew(tmp_path: Path) -> None:
    jobs = jobs_in(tmp_path, 1)
    resume(jobs, lambda n: {"other": np.array(n)}, ("other",), None, lambda: None)
    (found,) = resume(jobs, square, ("square",), None, lambda: None)
    assert found.keys() == {"square"}


@pytest.mark.parametrize("threads", [0, 2])
def test_a_pipe_that_breaks_in_a_job_is_not_the_one_that_the_caller_writes_to(tmp_path: Path, threads: int) -> None:
    def work(n: int) -> Arrays:
        raise BrokenPipeError("gone")

    with ThreadPoolExecutor(2) as pool, pytest.raises(RuntimeError, match=r"^a worker lost a connection: gone; run"):
        resume(jobs_in(tmp_path, 3), work, (), Workers(pool, lambda: 2) if threads else None, lambda: None)


class Ended(Executor):
    """Ends every call as soon as it is submitted, and counts the calls."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_jobs_under_way_at_an_interrupt_are_finished_and_kept_and_no_others_are_begun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two jobs are under way; the interrupt comes as the first is reported."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    jobs, executor = jobs_in(tmp_path, 6), Ended()
    with pytest.raises(KeyboardInterrupt):
        resume(jobs, square, ("square",), Workers(executor, lambda: 2), interrupt)
    assert [path.exists() for path in jobs] == [True, True, *[False] * 4]
    assert executor.calls == 2
    assert "finishing what is under way" in capsys.readouterr().err


def test_workers_that_join_later_get_jobs_and_nobody_gets_more_than_one(tmp_path: Path) -> None:
    """One worker is there at first, then three; the executor itself would take all jobs at once."""
    three, lock, under_way = Barrier(3), Lock(), list[int]()
    most = 0

    def work(n: int) -> Arrays:
        nonlocal most
        with lock:
            under_way.append(n)
            most = max(most, len(under_way))
        if n > 0:
            three.wait(timeout=30)
        with lock:
            under_way.remove(n)
        return square(n)

    there = iter([1])
    with ThreadPoolExecutor(7) as pool:
        found = resume(jobs_in(tmp_path, 7), work, ("square",), Workers(pool, lambda: next(there, 3)), lambda: None)
    assert [int(result["square"]) for result in found] == [n * n for n in range(7)]
    assert most == 3
