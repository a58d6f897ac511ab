"""Run jobs here or on an executor and keep every result in a file, so that an interrupted run resumes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from overcast import _storage

Job = TypeVar("Job")
Arrays = dict[str, np.ndarray[Any, Any]]
#: what to call after each job
Done = Callable[[], object]


def resume(
    jobs: dict[Path, Job],
    work: Callable[[Job], Arrays],
    needed: Sequence[str],
    executor: Executor | None,
    done: Done,
) -> list[Arrays]:
    """Return the result of every job, in the order of the jobs.

    A job whose file holds the arrays named in `needed` is not computed again. The others are computed on the executor,
    or here one after the other if it is None, and written to their files. `done` is called after each job.

    On an interrupt or a failure, jobs under way on the executor are finished and kept, and the rest are cancelled.
    """
    found: dict[Path, Arrays] = {}

    def keep(path: Path, arrays: Arrays) -> None:
        _storage.write_arrays(path, arrays)
        found[path] = arrays

    for path in jobs:
        kept = _storage.read_arrays(path, needed)
        if kept is not None:
            found[path] = kept
            done()
    missing = {path: job for path, job in jobs.items() if path not in found}
    if executor is None:
        for path, job in missing.items():
            keep(path, work(job))
            done()
    else:
        waiting = {executor.submit(work, job): path for path, job in missing.items()}
        try:
            for future in as_completed(list(waiting)):
                keep(waiting.pop(future), future.result())
                done()
        except KeyboardInterrupt:
            print("overcast: finishing what is under way; interrupt again to give it up", file=sys.stderr, flush=True)
            raise
        finally:
            # All are cancelled before any is waited for: a free worker would take up the next one meanwhile.
            under_way = [future for future in waiting if not future.cancel()]
            for future in under_way:
                if future.exception() is None:
                    keep(waiting[future], future.result())
    return [found[path] for path in jobs]
