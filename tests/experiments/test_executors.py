"""Processes and a Dask cluster give the numbers that one process gives."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from distributed import LocalCluster

from overcast.experiments.executors import dask_executor, process_executor
from overcast.experiments.experiment import Experiment
from overcast.experiments.parts import Store, run_parts


def test_one_worker_runs_here() -> None:
    with process_executor(1) as executor:
        assert executor is None


@pytest.mark.parametrize("where", ["processes", "dask"])
def test_numbers_do_not_depend_on_where_they_are_computed(small: Experiment, tmp_path: Path, where: str) -> None:
    experiment = replace(small, betas=dict.fromkeys(small.betas, (2.0,)))
    here = run_parts(experiment.parts(), Store(tmp_path / "here", experiment), None, lambda: None)
    store = Store(tmp_path / where, experiment)
    if where == "processes":
        with process_executor(2) as executor:
            there = run_parts(experiment.parts(), store, executor, lambda: None)
    else:
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,  # type: ignore[no-untyped-call]
            dask_executor(cluster.scheduler_address) as executor,
        ):
            there = run_parts(experiment.parts(), store, executor, lambda: None)
    assert there.keys() == here.keys()
    for key, result in there.items():
        np.testing.assert_array_equal(result.regret, here[key].regret)


# Work too large for a pipe is still being written to it when the workers are killed.
INTERRUPTED = """
import time
from overcast.experiments.executors import process_executor

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
