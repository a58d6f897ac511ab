"""The outcome of an experiment: its curves at the tuned beta, the grid of betas, and verdicts on claims."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy

import overcast
from overcast._check import Array
from overcast._files import replacing
from overcast._jobs import Arrays
from overcast.experiments.engine.experiment import Curve, Experiment
from overcast.policies import UCB, Policy
from overcast.simulation.record import Record, join, mean_and_error, two_standard_errors

Measure = Literal["regret", "expected_regret", "clairvoyant_regret"]
Shown = Literal["yes", "in part", "open", "no"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Line(Record):
    """All trials of one curve at one beta: the arrays of a `Record`.

    beta : None for a curve with its own policy
    bound : (trials, steps) the theorem's bound; None unless the policy has the paper's beta_t
    """

    curve: Curve
    beta: float | None
    bound: Array | None = None

    @property
    def policy(self) -> Policy:
        return self.curve.policy or UCB(self.beta)

    @property
    def beta_label(self) -> str:
        return "theory" if self.beta is None else f"{self.beta:g}"

    def final(self, measure: Measure = "regret") -> Array:
        """Return the final regret of each trial."""
        values: Array = getattr(self, measure)
        return values[:, -1]

    def finals(self) -> tuple[str, str]:
        """Return final regret and final expected regret as text."""
        return with_error(mean_and_error(self.final())), with_error(mean_and_error(self.final("expected_regret")))

    def summary(self) -> dict[str, Any]:
        beta = self.policy.beta if isinstance(self.policy, UCB) else None
        return {
            "setting": self.curve.setting,
            "samples": self.curve.samples,
            **({"name": self.curve.name} if self.curve.name else {}),
            **({"revealed": self.curve.revealed} if self.curve.revealed < 1.0 else {}),
            "beta": beta if beta is None or isinstance(beta, float) else repr(beta),
            "regret": mean_and_error(self.final()),
            "expected_regret": mean_and_error(self.final("expected_regret")),
            "clairvoyant_regret": mean_and_error(self.final("clairvoyant_regret")),
            **({} if self.bound is None else {"bound": mean_and_error(self.bound[:, -1])}),
        }


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results of an experiment.

    grid : one line per curve and beta
    computing_seconds : the total time of all parts
    wall_seconds : the duration of this run, shorter with workers and finished parts
    """

    experiment: Experiment
    grid: tuple[Line, ...]
    computing_seconds: float
    wall_seconds: float

    @classmethod
    def of(cls, experiment: Experiment, results: Iterable[Arrays], wall_seconds: float) -> Outcome:
        """Join the results of the experiment's parts, in order, to one line per curve and beta."""
        grouped: dict[tuple[Curve, float | None], list[Arrays]] = {}
        seconds = 0.0
        for part, result in zip(experiment.parts(), results, strict=True):
            kept = {name: values for name, values in result.items() if name != "seconds"}
            grouped.setdefault((part.curve, part.beta), []).append(kept)
            seconds += float(result["seconds"])
        lines = (Line(curve=curve, beta=beta, **join(parts)) for (curve, beta), parts in grouped.items())
        return cls(experiment, tuple(lines), seconds, wall_seconds)

    @cached_property
    def lines(self) -> list[Line]:
        """The curves of the figure, each at the tuned beta."""
        return [pick([line for line in self.grid if line.curve == curve]) for curve in self.experiment.curves]

    @property
    def tuned(self) -> bool:
        """Whether more than one beta was tried."""
        return len(self.grid) > len(self.experiment.curves)

    def variant(self, line: Line) -> dict[str, Any]:
        model = line.curve.model or self.experiment.model
        return {**line.summary(), "policy": repr(line.policy), "model": repr(model), "trials": len(line.regret)}

    def summary(self, lines: Sequence[Line] | None = None) -> dict[str, Any]:
        """Return the summary with these lines as variants, None for those of the figure."""
        e = self.experiment
        return {
            "experiment": e.name,
            **{name: getattr(e, name) for name in ("steps", "trials", "seed")},
            "seconds": round(self.wall_seconds, 3),
            "computing_seconds": round(self.computing_seconds, 3),
            "data": e.data,
            **e.facts,
            "versions": versions(),
            "variants": [self.variant(line) for line in (self.lines if lines is None else lines)],
            **({"grid": [self.variant(line) for line in self.grid]} if self.tuned and lines is None else {}),
        }


def pick(lines: Sequence[Line]) -> Line:
    """Pick the line with the largest beta among those that tie with the least regret.

    The authors chose beta by the final regret. Over 100 trials, neighbours on their grid often do not differ
    significantly. So a beta ties with the best if their paired difference is within two standard errors, and the
    largest tied beta wins: the widest confidence set at no cost.
    """
    best = min(lines, key=lambda line: float(line.final().mean()))

    def tied(line: Line) -> bool:
        difference = line.final() - best.final()
        return line is best or bool(difference.mean() <= two_standard_errors(difference))

    return max(filter(tied, lines), key=lambda line: line.beta or 0.0)


def with_error(value: Mapping[str, float | None], digits: int = 1) -> str:
    """Return a mean and its two standard errors as text."""
    mean, error = value["mean"], value["two_se"]
    return f"{mean:z,.{digits}f}" if error is None else f"{mean:z,.{digits}f} ± {error:,.{digits}f}"


@dataclass(frozen=True)
class Verdict:
    """A claim, whether a run shows it, and the evidence."""

    claim: str
    shown: Shown
    evidence: str

    @classmethod
    def of(cls, claim: str, comparisons: Sequence[Array], evidence: str) -> Verdict:
        """Judge a claim by values whose mean is positive if it holds."""
        return cls.of_signs(claim, [sign(values) for values in comparisons], evidence)

    @classmethod
    def of_signs(cls, claim: str, signs: Sequence[int], evidence: str) -> Verdict:
        """Judge a claim by signs: 1 where the run shows it, -1 where it shows the opposite, 0 where it is open."""
        if any(sign > 0 for sign in signs):
            return cls(claim, "yes" if min(signs) > 0 else "in part", evidence)
        return cls(claim, "no" if min(signs) < 0 else "open", evidence)


def sign(values: Array) -> int:
    """Return the sign of a mean, zero within two standard errors."""
    mean, error = float(values.mean()), float(two_standard_errors(values))
    return 0 if abs(mean) <= error else 1 if mean > 0 else -1


def ratio_of(a: Array, b: Array) -> tuple[float, float]:
    """Return mean(a) / mean(b) over the same trials, and its two standard errors by the delta method."""
    value = float(a.mean() / b.mean())
    return value, float(two_standard_errors(a - value * b) / b.mean())


def text(values: Array) -> str:
    """Return mean and error as text, with one digit more than in tables if the error is below 1."""
    summary = mean_and_error(values)
    error = summary["two_se"]
    return with_error(summary, 1 if error is None or error >= 1.0 else 2)


def curve_table(line: Line, stride: int = 1, **named: str) -> pa.Table:
    """Return a table with a row per trial and every `stride`-th step back from the last; `named` columns come first."""
    trials, steps = line.regret.shape
    kept = np.arange(steps, 0, -stride, dtype=np.int32)[::-1]
    n, at = trials * len(kept), kept - 1
    columns: dict[str, Any] = {
        **{name: pa.array([value] * n) for name, value in named.items()},
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


def write_curves(tables: Sequence[pa.Table], folder: Path) -> None:
    """Write tables of curves to curves.parquet."""
    with replacing(folder / "curves.parquet") as file:
        pq.write_table(pa.concat_tables(tables), file, compression="zstd")


def versions() -> dict[str, str]:
    """Return the versions on which results may depend."""
    libraries = {"numpy": np.__version__, "scipy": scipy.__version__}
    return {"overcast": overcast.__version__, "python": platform.python_version(), **libraries}
