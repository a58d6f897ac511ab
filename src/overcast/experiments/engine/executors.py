"""Where the parts of an experiment run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

# Seconds that the executor's own threads get to end after its workers were killed; in rare cases they never end.
PATIENCE = 5.0
# Seconds that those threads get to notice which work was cancelled.
HEED = 0.2


@contextmanager
def process_executor(workers: int) -> Iterator[Executor | None]:
    """Yield an executor of worker processes; None, which means to run here, for a single worker."""
    if workers == 1:
        with threadpool_limits(1):  # small products gain nothing from threads, and lose much on a busy machine
            yield None
        return
    # The workers share the cores among themselves, so each gets one thread; the libraries read this when they start.
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    executor = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _end_with_parent)
    # A terminal sends Ctrl-C to the whole group. Workers started while it is ignored go on ignoring it: they finish
    # their part, and the parent decides what stops.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for _ in range(workers):
            executor.submit(int)
    finally:
        signal.signal(signal.SIGINT, handler)
    patience = None
    try:
        yield executor
    except KeyboardInterrupt:
        # By now, work that was under way is done or given up.
        patience = PATIENCE
        # If the executor's thread finds the workers dead, it fails on cancelled work and leaves behind another thread,
        # which writes to a pipe that nobody reads; at its end the process would wait for that thread. So the first
        # thread learns of the cancelled work before the workers are killed, and nobody waits for the second.
        executor._call_queue.cancel_join_thread()  # type: ignore[attr-defined]
        executor.shutdown(wait=False, cancel_futures=True)
        time.sleep(HEED)
        for worker in multiprocessing.active_children():
            worker.kill()
        raise
    finally:
        # A second interrupt would leave workers waiting for ever.
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            _shut(executor, patience)
        finally:
            signal.signal(signal.SIGINT, handler)


def _shut(executor: Executor, patience: float | None) -> None:
    """Shut an executor down; if its threads wait in vain for killed workers, end the process after a second."""
    closing = threading.Thread(target=executor.shutdown, kwargs={"cancel_futures": True}, daemon=True)
    closing.start()
    closing.join(patience)
    if closing.is_alive():
        end = threading.Timer(1.0, os._exit, (130,))
        end.daemon = True
        end.start()


def _end_with_parent() -> None:
    """End this worker as soon as the process that gives it work is gone, even if that was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Yield the workers of a running Dask cluster as an executor."""
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("--dask needs Dask; install it with pip install 'overcast[dask]'") from None
    with Client(address) as client:  # type: ignore[no-untyped-call]
        yield client.get_executor()
