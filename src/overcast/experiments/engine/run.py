"""Run an experiment in parts on any executor, and store finished parts, so that an interrupted run resumes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import fields
from itertools import chain
from pathlib import Path

import numpy as np

import overcast
from overcast import _jobs
from overcast.experiments.engine.experiment import Experiment, Part
from overcast.experiments.engine.outcome import Outcome
from overcast.simulation.record import Step, arrays
from overcast.simulation.runner import run_batch
from overcast.simulation.runs import theorem_of

#: arrays in the file of every finished part
NEEDED = (*(field.name for field in fields(Step)), "seconds")


def run(experiment: Experiment, folder: Path, executor: Executor | None, done: _jobs.Done) -> Outcome:
    """Run an experiment, except for finished parts in `folder/parts`.

    `done` is called for each part. On an interrupt or a failure, running parts are finished and stored.
    """
    start = time.perf_counter()
    results = _jobs.resume(part_files(experiment, folder), compute, NEEDED, executor, done)
    return Outcome.of(experiment, results, time.perf_counter() - start)


def compute(part: Part) -> _jobs.Arrays:
    """Run a part; return its arrays, the theorem's bound if the policy has one, and the seconds."""
    start = time.perf_counter()
    runs = run_batch(part.batch())
    bound = {} if theorem_of(runs.policy) is None else {"bound": runs.bound}
    return {**arrays(runs), **bound, "seconds": np.asarray(time.perf_counter() - start)}


def part_files(experiment: Experiment, folder: Path) -> dict[Path, Part]:
    """Return the parts of an experiment by their files."""
    kept = parts_folder(folder, experiment.settings())
    return {kept / f"{part.key}.npz": part for part in experiment.parts()}


def parts_folder(folder: Path, settings: Iterable[bytes]) -> Path:
    """Create and return the folder for finished parts of these settings, this code and this NumPy."""
    code = (path.read_bytes() for path in sorted(Path(overcast.__file__).parent.rglob("*.py")))
    digest = hashlib.sha256(np.__version__.encode())
    for value in chain(code, settings):
        digest.update(value)
    kept = folder / "parts" / digest.hexdigest()[:12]
    kept.mkdir(parents=True, exist_ok=True)
    return kept
