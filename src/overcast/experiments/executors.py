"""Where the parts of an experiment run."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager


@contextmanager
def process_executor(workers: int) -> Iterator[Executor | None]:
    """Yield an executor of worker processes, or None, which is to run here, for a single worker."""
    if workers == 1:
        yield None
        return
    # The workers share the cores among themselves, so each gets one thread; the libraries read this when they start.
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    executor = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    # A terminal sends Ctrl-C to the whole group. Workers started while it is ignored go on ignoring it: they finish
    # their part, and the parent decides what stops.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for _ in range(workers):
            executor.submit(int)
    finally:
        signal.signal(signal.SIGINT, handler)
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Yield the workers of a running Dask cluster as an executor."""
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("--dask needs Dask; install it with pip install 'overcast[dask]'") from None
    with Client(address) as client:  # type: ignore[no-untyped-call]
        yield client.get_executor()
