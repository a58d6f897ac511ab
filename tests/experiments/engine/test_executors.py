"""Processes and a Dask cluster give the numbers that one process gives."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from distributed import LocalCluster

from overcast._jobs import Arrays, resume
from overcast.experiments.engine.executors import dask_executor, process_executor
from overcast.experiments.engine.experiment import Experiment
from overcast.experiments.engine.run import run


def test_one_worker_runs_here() -> None:
    with process_executor(1) as workers:
        assert workers is None


@pytest.mark.parametrize("where", ["processes", "dask"])
def test_numbers_do_not_depend_on_where_they_are_computed(small: Experiment, tmp_path: Path, where: str) -> None:
    experiment = replace(small, betas=dict.fromkeys(small.betas, (2.0,)))
    here = run(experiment, tmp_path / "here", None, lambda: None)
    if where == "processes":
        with process_executor(2) as workers:
            there = run(experiment, tmp_path / where, workers, lambda: None)
    else:
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,  # type: ignore[no-untyped-call]
            dask_executor(cluster.scheduler_address) as workers,
        ):
            there = run(experiment, tmp_path / where, workers, lambda: None)
    for line, same in zip(there.grid, here.grid, strict=True):
        assert (line.curve, line.beta) == (same.curve, same.beta)
        np.testing.assert_array_equal(line.regret, same.regret)


def test_parts_under_way_on_dask_are_finished_and_kept_at_an_interrupt(tmp_path: Path) -> None:
    """Two of six jobs are under way; the interrupt comes as the first is reported, while the second goes on."""

    def work(seconds: float) -> Arrays:
        time.sleep(seconds)
        return {"seconds": np.array(seconds)}

    def interrupt() -> None:
        raise KeyboardInterrupt

    jobs = {tmp_path / f"{i}.npz": 0.3 * i for i in range(6)}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,  # type: ignore[no-untyped-call]
        dask_executor(cluster.scheduler_address) as workers,
    ):
        assert workers.number() == 2
        with pytest.raises(KeyboardInterrupt):
            resume(jobs, work, ("seconds",), workers, interrupt)
    assert [path.exists() for path in jobs] == [True, True, *[False] * 4]


# Both workers are busy, so that work too large for a pipe is still being written to it when they are killed.
INTERRUPTED = """
import time
from overcast._jobs import Arrays, resume
from overcast.experiments.engine.executors import process_executor

if __name__ == "__main__":
    try:
        with process_executor(2) as workers:
            for _ in range(2):
                workers.submit(time.sleep, 600)
            for _ in range(12):
                workers.submit(len, bytes(30_000_000))
            time.sleep(0.5)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        print("stopped")
"""


def test_a_process_ends_after_an_interrupt_though_work_is_on_its_way(tmp_path: Path) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=True)
    assert (ended.stdout, ended.stderr) == ("stopped\n", "")


def test_a_worker_that_dies_is_told_in_one_line() -> None:
    def killed() -> None:
        with process_executor(2) as workers:
            assert workers is not None
            workers.submit(signal.raise_signal, signal.SIGKILL).result()

    with pytest.raises(RuntimeError, match=r"^a worker process was killed, or ran out of memory; run .* short$"):
        killed()


def test_workers_ignore_interrupts_which_a_terminal_sends_to_the_whole_group() -> None:
    with process_executor(2) as workers:
        assert workers is not None
        assert workers.submit(signal.raise_signal, signal.SIGINT).result(timeout=60) is None
