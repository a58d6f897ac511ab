"""Run the parts of an experiment, on any executor, and keep what is done: an interrupted run resumes."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import overcast
from overcast import _jobs, _storage
from overcast._check import Array
from overcast.confidence import Confidence
from overcast.experiments.experiment import Experiment, Part
from overcast.policies import UCB
from overcast.simulation.runner import Block


@dataclass(frozen=True, eq=False)
class Result:
    """What came of a part's trials, and the seconds it took to compute.

    regret, expected_regret, bound : (trials, steps); the bound is the theorem's, where the policy has one
    distance : (trials, n) of theta to the estimate after the rounds that are watched
    """

    regret: Array
    expected_regret: Array
    seconds: float
    bound: Array | None = None
    distance: Array | None = None


def compute(block: Block) -> Result:
    """Run a block and time it."""
    start = time.perf_counter()
    runs = block.run()
    bound = runs.bound if isinstance(block.policy, UCB) and isinstance(block.policy.beta, Confidence) else None
    return Result(runs.regret, runs.expected_regret, time.perf_counter() - start, bound, runs.distance)


class Store:
    """The finished parts of an experiment, one file each, in a folder that belongs to its exact settings."""

    def __init__(self, folder: Path, experiment: Experiment) -> None:
        settings = json.dumps({"numpy": np.__version__, **experiment.settings()}, sort_keys=True)
        fingerprint = hashlib.sha256(settings.encode() + source_digest()).hexdigest()[:12]
        self._folder = folder / "parts" / fingerprint
        self._folder.mkdir(parents=True, exist_ok=True)

    def load(self, part: Part) -> Result | None:
        """Return a finished part, or None; a file that cannot be read counts as unfinished."""
        kept = _storage.read_arrays(self._path(part), ("regret", "expected_regret", "seconds"))
        if kept is None:
            return None
        regret, expected, seconds = kept["regret"], kept["expected_regret"], float(kept["seconds"])
        return Result(regret, expected, seconds, kept.get("bound"), kept.get("distance"))

    def save(self, part: Part, result: Result) -> None:
        seconds = np.asarray(result.seconds)
        arrays = {"regret": result.regret, "expected_regret": result.expected_regret, "seconds": seconds}
        extra = {"bound": result.bound, "distance": result.distance}
        arrays |= {name: values for name, values in extra.items() if values is not None}
        _storage.write_arrays(self._path(part), arrays)

    def _path(self, part: Part) -> Path:
        return self._folder / f"{part.key}.npz"


def source_digest() -> bytes:
    """Return a digest of this package's code: numbers of other code are never taken over."""
    digest = hashlib.sha256()
    for path in sorted(Path(overcast.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def run_parts(
    parts: Iterable[Part], store: Store, executor: Executor | None, done: Callable[[], object]
) -> dict[str, Result]:
    """Return the results of all parts by their keys, computing those the store does not have.

    `done` is called for each part. On an interrupt or a failure, parts under way on the executor are finished and kept.
    """
    results: dict[str, Result] = {}
    missing: list[Part] = []
    for part in parts:
        kept = store.load(part)
        if kept is None:
            missing.append(part)
        else:
            results[part.key] = kept
            done()
    jobs = _jobs.run(missing, _compute_part, store.save, executor)
    with closing(jobs):
        for part, result in jobs:
            results[part.key] = result
            done()
    return results


def _compute_part(part: Part) -> Result:
    return compute(part.block())
