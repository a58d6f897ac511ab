"""Executors for the parts of an experiment: this process, worker processes, or Dask.

loky manages the processes. Unlike `concurrent.futures`, it can end them immediately. So could Dask's local cluster, but
that needs many more packages, and opens ports without authentication, through which any user of the machine may run
code.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from overcast._jobs import Workers


@contextmanager
def process_executor(workers: int) -> Iterator[Workers | None]:
    """Yield worker processes, or None for a single worker, which runs in this process.

    An interrupt reaches the caller alone, and workers continue. An error or interrupt that leaves the context ends them
    immediately.
    """
    if workers == 1:
        with threadpool_limits(1):  # small products gain nothing from threads, and lose much on a busy machine
            yield None
        return
    from loky import ProcessPoolExecutor  # type: ignore[import-untyped]
    from loky.process_executor import TerminatedWorkerError  # type: ignore[import-untyped]

    # The workers share the cores, so each gets one thread; the libraries read this when they start.
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    # Unlike loky's context, this one tells a worker when its parent is gone.
    executor = ProcessPoolExecutor(workers, context=multiprocessing.get_context("spawn"), initializer=_begin_worker)
    with _uninterrupted():
        executor.submit(int)  # starts all workers, which ignore interrupts from the outset
    failed = True
    try:
        yield Workers(executor, lambda: workers)
        failed = False
    except TerminatedWorkerError as error:
        raise RuntimeError(
            "a worker process was killed, or ran out of memory; run the same command again to go on from what is "
            "finished, with fewer --workers if memory is short"
        ) from error
    finally:
        with _uninterrupted():  # a second interrupt would leave workers behind
            executor.shutdown(kill_workers=failed)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore interrupts, also in processes started meanwhile."""
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _begin_worker() -> None:
    """Make this worker ignore interrupts, and end as soon as its parent is gone, even if killed.

    A terminal sends Ctrl-C to the whole group of processes; the parent handles it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def dask_executor(address: str) -> Iterator[Workers]:
    """Yield the workers of a running Dask cluster, including those that join later."""
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("--dask needs Dask; install it with pip install 'overcast[dask]'") from None
    with Client(address) as client:  # type: ignore[no-untyped-call]
        yield Workers(client.get_executor(), lambda: max(1, sum(client.nthreads().values())))
