"""What an experiment found: the tuned curves, the grid behind them, and the files they are written to."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy

import overcast
from overcast._check import Array
from overcast.experiments.experiment import Curve, Experiment
from overcast.experiments.parts import Result
from overcast.policies import UCB, Policy
from overcast.simulation.runs import mean_and_error, two_standard_errors


@dataclass(frozen=True, eq=False)
class Line:
    """All trials of one curve at one beta, None for that of its own policy; arrays are (trials, steps).

    distance : (trials, n) of theta to the estimate after the rounds that the curve watches
    """

    curve: Curve
    beta: float | None
    regret: Array
    expected_regret: Array
    bound: Array | None = None
    distance: Array | None = None

    @property
    def policy(self) -> Policy:
        return self.curve.policy or UCB(self.beta)

    @property
    def beta_label(self) -> str:
        return "theory" if self.beta is None else f"{self.beta:g}"

    def summary(self) -> dict[str, Any]:
        beta = self.policy.beta if isinstance(self.policy, UCB) else None
        return {
            "setting": self.curve.setting,
            "samples": self.curve.samples,
            **({"name": self.curve.name} if self.curve.name else {}),
            **({"revealed": self.curve.revealed} if self.curve.revealed < 1.0 else {}),
            "beta": beta if beta is None or isinstance(beta, float) else repr(beta),
            "regret": mean_and_error(self.regret[:, -1]),
            "expected_regret": mean_and_error(self.expected_regret[:, -1]),
            **({} if self.bound is None else {"bound": mean_and_error(self.bound[:, -1])}),
        }


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results of an experiment.

    grid : every beta tried, curve by curve
    wall_seconds : how long this run took; less than the computing where workers shared it or parts were done before
    """

    experiment: Experiment
    grid: tuple[Line, ...]
    computing_seconds: float
    wall_seconds: float

    @classmethod
    def of(cls, experiment: Experiment, results: Mapping[str, Result], wall_seconds: float) -> Outcome:
        """Put the parts of each curve and beta together, in the order of the trials."""
        grouped: dict[tuple[Curve, float | None], list[Result]] = {}
        for part in experiment.parts():
            grouped.setdefault((part.curve, part.beta), []).append(results[part.key])
        lines = tuple(
            Line(
                curve,
                beta,
                np.concatenate([result.regret for result in parts]),
                np.concatenate([result.expected_regret for result in parts]),
                _joined([result.bound for result in parts]),
                _joined([result.distance for result in parts]),
            )
            for (curve, beta), parts in grouped.items()
        )
        return cls(experiment, lines, sum(result.seconds for result in results.values()), wall_seconds)

    @property
    def lines(self) -> list[Line]:
        """The curves of the figure, each at the beta that tuning picked."""
        return [pick([line for line in self.grid if line.curve == curve]) for curve in self.experiment.curves]

    @property
    def tuned(self) -> bool:
        """Whether more than one beta was tried."""
        return len(self.grid) > len(self.experiment.curves)

    def variant(self, line: Line) -> dict[str, Any]:
        model = line.curve.model or self.experiment.model
        return {**line.summary(), "policy": repr(line.policy), "model": repr(model), "trials": len(line.regret)}

    def summary(self, lines: Sequence[Line] | None = None) -> dict[str, Any]:
        """Return the summary with these lines as its variants; None for those of the figure."""
        e = self.experiment
        return {
            "experiment": e.name,
            "steps": e.steps,
            "trials": e.trials,
            "seed": e.seed,
            "seconds": round(self.wall_seconds, 3),
            "computing_seconds": round(self.computing_seconds, 3),
            "data": e.data,
            **e.found,
            "versions": versions(),
            "variants": [self.variant(line) for line in (self.lines if lines is None else lines)],
            **({"grid": [self.variant(line) for line in self.grid]} if self.tuned and lines is None else {}),
        }

    def write_curves(self, path: Path) -> None:
        """Write the regret of every trial and step of the drawn curves as Parquet, one row each."""
        pq.write_table(pa.concat_tables([curve_table(line) for line in self.lines]), path, compression="zstd")


def pick(lines: Sequence[Line]) -> Line:
    """Return the line with the largest beta among those that cannot be told apart from the least regret.

    The authors chose beta by the regret after the last step. Over 100 trials neighbours on their grid often differ
    by less than chance explains, so a beta counts as tied with the best when their paired difference is within two
    standard errors, and of tied ones the largest is taken: the widest confidence set that costs nothing.
    """
    if len(lines) == 1:
        return lines[0]
    best = min(lines, key=lambda line: float(line.regret[:, -1].mean()))

    def tied(line: Line) -> bool:
        difference = line.regret[:, -1] - best.regret[:, -1]
        return line is best or bool(difference.mean() <= two_standard_errors(difference))

    return max(filter(tied, lines), key=lambda line: line.beta or 0.0)


def with_error(value: Mapping[str, float | None], digits: int = 1) -> str:
    """Return a mean and its two standard errors as text."""
    mean, error = value["mean"], value["two_se"]
    return f"{mean:z,.{digits}f}" if error is None else f"{mean:z,.{digits}f} ± {error:,.{digits}f}"


def _joined(parts: Sequence[Array | None]) -> Array | None:
    found = [part for part in parts if part is not None]
    return np.concatenate(found) if found else None


def curve_table(line: Line, stride: int = 1) -> pa.Table:
    """Return the regret of every trial, every so many steps up to the last, one row each."""
    trials, steps = line.regret.shape
    kept = np.arange(steps, 0, -stride, dtype=np.int32)[::-1]
    n, at = trials * len(kept), kept - 1
    columns: dict[str, Any] = {
        "setting": pa.array([line.curve.setting] * n),
        "samples": pa.array([line.curve.samples] * n, type=pa.int32()),
        "name": pa.array([line.curve.name] * n),
        "beta": pa.array([line.beta] * n, type=pa.float64()),
        "trial": np.repeat(np.arange(trials, dtype=np.int32), len(kept)),
        "step": np.tile(kept, trials),
        "regret": line.regret[:, at].ravel(),
        "expected_regret": line.expected_regret[:, at].ravel(),
        "bound": pa.array([None] * n, type=pa.float64()) if line.bound is None else line.bound[:, at].ravel(),
    }
    return pa.table(columns)


def versions() -> dict[str, str]:
    """Return the versions that the numbers may depend on."""
    return {
        "overcast": overcast.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
