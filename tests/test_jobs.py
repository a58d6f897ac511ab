"""Jobs that are kept, computed again, interrupted and under way."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overcast._jobs import Arrays, resume


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
        found = resume(jobs, work, ("square",), pool if threads else None, lambda: calls.append(None))
    assert [int(result["square"]) for result in found] == [0, 1, 4, 9, 16]
    assert sorted(computed) == [0, 1, 2, 3, 4]
    assert len(calls) == 5


def test_a_file_without_the_arrays_that_are_needed_is_made_anew(tmp_path: Path) -> None:
    jobs = jobs_in(tmp_path, 1)
    resume(jobs, lambda n: {"other": np.array(n)}, ("other",), None, lambda: None)
    (found,) = resume(jobs, square, ("square",), None, lambda: None)
    assert found.keys() == {"square"}


def test_jobs_under_way_at_an_interrupt_are_finished_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The executor runs two jobs; the interrupt comes as the first is reported, and the rest are cancelled."""

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

    jobs, executor = jobs_in(tmp_path, 6), TwoAtOnce()
    with pytest.raises(KeyboardInterrupt):
        resume(jobs, square, ("square",), executor, interrupt)
    assert [path.exists() for path in jobs] == [True, True, *[False] * 4]
    assert all(future.cancelled() for future in executor.submitted[2:])
    assert "finishing what is under way" in capsys.readouterr().err
