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

# Seconds for the executor's own threads to end once its workers were killed; rarely they wait for them for ever.
PATIENCE = 5.0
# Seconds for them to take note of what was cancelled.
HEED = 0.2


@contextmanager
def process_executor(workers: int) -> Iterator[Executor | None]:
    """Yield an executor of worker processes, or None, which is to run here, for a single worker."""
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
        # What was under way is done by now, or given up.
        patience = PATIENCE
        # The executor's thread trips over cancelled work when it finds the workers dead, and then leaves behind a
        # thread that writes to a pipe nobody reads: the process would wait for it at its end. So it is told of the
        # cancelled work first, and the other one is not waited for.
        executor._call_queue.cancel_join_thread()  # type: ignore[attr-defined]
        executor.shutdown(wait=False, cancel_futures=True)
        time.sleep(HEED)
        for worker in multiprocessing.active_children():
            worker.kill()
        raise
    finally:
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # another one would leave workers waiting for ever
        try:
            _shut(executor, patience)
        finally:
            signal.signal(signal.SIGINT, handler)


def _shut(executor: Executor, patience: float | None) -> None:
    """Shut an executor down; where its threads wait in vain for workers that were killed, the process ends soon."""
    closing = threading.Thread(target=executor.shutdown, kwargs={"cancel_futures": True}, daemon=True)
    closing.start()
    closing.join(patience)
    if closing.is_alive():
        end = threading.Timer(1.0, os._exit, (130,))
        end.daemon = True
        end.start()


def _end_with_parent() -> None:
    """Let a worker end when the process that gives it work is gone, killed perhaps."""
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
