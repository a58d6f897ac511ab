"""Processes and a Dask cluster give the numbers that one process gives."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from distributed import LocalCluster

from overcast.experiments.engine.executors import dask_executor, process_executor
from overcast.experiments.engine.experiment import Experiment
from overcast.experiments.engine.run import run


def test_one_worker_runs_here() -> None:
    with process_executor(1) as executor:
        assert executor is None


@pytest.mark.parametrize("where", ["processes", "dask"])
def test_numbers_do_not_depend_on_where_they_are_computed(small: Experiment, tmp_path: Path, where: str) -> None:
    experiment = replace(small, betas=dict.fromkeys(small.betas, (2.0,)))
    here = run(experiment, tmp_path / "here", None, lambda: None)
    if where == "processes":
        with process_executor(2) as executor:
            there = run(experiment, tmp_path / where, executor, lambda: None)
    else:
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,  # type: ignore[no-untyped-call]
            dask_executor(cluster.scheduler_address) as executor,
        ):
            there = run(experiment, tmp_path / where, executor, lambda: None)
    for line, same in zip(there.grid, here.grid, strict=True):
        assert (line.curve, line.beta) == (same.curve, same.beta)
        np.testing.assert_array_equal(line.regret, same.regret)


# Work too large for a pipe is still being written to it when the workers are killed.
INTERRUPTED = """
import time
from overcast.experiments.engine.executors import process_executor

if __name__ == "__main__":
    try:
        with process_executor(2) as executor:
            futures = [executor.submit(len, bytes(30_000_000)) for _ in range(12)]
            time.sleep(0.5)
            for future in futures:
                future.cancel()
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        print("stopped")
"""


def test_a_process_ends_after_an_interrupt_though_work_was_cancelled_and_on_its_way(tmp_path: Path) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=True)
    assert (ended.stdout, ended.stderr) == ("stopped\n", "")
