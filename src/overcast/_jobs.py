"""Run jobs here or on an executor, and keep what is done: an interrupted run loses nothing that was under way."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, as_completed
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def run(
    jobs: Sequence[Job],
    work: Callable[[Job], Result],
    keep: Callable[[Job, Result], object],
    executor: Executor | None,
) -> Generator[tuple[Job, Result]]:
    """Yield every job with its result, as they are done, after `keep` has put the result away.

    On an interrupt or a failure, jobs under way on the executor are finished and kept, and the rest is cancelled; close
    the generator to have it done at once. Without an executor the jobs run here, one after the other.
    """
    if executor is None:
        for job in jobs:
            result = work(job)
            keep(job, result)
            yield job, result
        return
    waiting = {executor.submit(work, job): job for job in jobs}
    try:
        for future in as_completed(list(waiting)):
            result = future.result()
            job = waiting.pop(future)
            keep(job, result)
            yield job, result
    except KeyboardInterrupt:
        print("overcast: finishing what is under way; interrupt again to give it up", file=sys.stderr, flush=True)
        raise
    finally:
        # All are cancelled before any is waited for: a free worker would take up the next one meanwhile.
        under_way = [future for future in waiting if not future.cancel()]
        for future in under_way:
            if future.exception() is None:
                keep(waiting[future], future.result())
