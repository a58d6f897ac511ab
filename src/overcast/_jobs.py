"""Run jobs here or on an executor, and store every result in a file, so that an interrupted run resumes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from overcast import _storage

Job = TypeVar("Job")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
Arrays = dict[str, np.ndarray[Any, Any]]
#: called after each job
Done = Callable[[], object]


class Workers(Executor):
    """An executor that knows how many calls it runs at once."""

    def __init__(self, executor: Executor, number: Callable[[], int]) -> None:
        self.number = number
        self._executor = executor

    def submit(
        self, fn: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        return self._executor.submit(fn, *args, **kwargs)


def resume(
    jobs: dict[Path, Job],
    work: Callable[[Job], Arrays],
    needed: Sequence[str],
    executor: Executor | None,
    done: Done,
) -> list[Arrays]:
    """Run the jobs without a stored result; return all results in the order of the jobs.

    A job whose file holds the arrays `needed` is not run again. The others run on the executor, or here if it is None,
    and their results are written to their files. `done` is called after each job.

    The executor gets no more jobs than it can start immediately: its `number` if it is `Workers`, else the number of
    cores. On an interrupt or a failure, these are finished and stored, and no others start.
    """
    results: dict[Path, Arrays] = {}

    def keep(path: Path, arrays: Arrays) -> None:
        _storage.write_arrays(path, arrays)
        results[path] = arrays

    for path in jobs:
        kept = _storage.read_arrays(path, needed)
        if kept is not None:
            results[path] = kept
            done()
    missing = {path: job for path, job in jobs.items() if path not in results}
    if executor is None:
        for path, job in missing.items():
            keep(path, _result(partial(work, job)))
            done()
        return [results[path] for path in jobs]
    workers = executor if isinstance(executor, Workers) else Workers(executor, lambda: os.cpu_count() or 1)
    waiting, under_way = iter(missing.items()), dict[Future[Arrays], Path]()
    try:
        while True:
            for path, job in islice(waiting, max(0, workers.number() - len(under_way))):
                under_way[workers.submit(work, job)] = path
            if not under_way:
                break
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                keep(under_way.pop(future), _result(future.result))
                done()
    except KeyboardInterrupt:
        print("overcast: finishing what is under way; interrupt again to give it up", file=sys.stderr, flush=True)
        raise
    finally:
        for future, path in under_way.items():
            if future.exception() is None:
                keep(path, future.result())
    return [results[path] for path in jobs]


def _result(job: Callable[[], Arrays]) -> Arrays:
    """Run a job; raise RuntimeError for its broken pipe, which would pass for one of the command's own output."""
    try:
        return job()
    except BrokenPipeError as error:
        raise RuntimeError(f"a worker lost a connection: {error}; run the same command again") from error
