"""What the paper says about figure 1, and whether a run shows it.

Everything is judged from the regret after the last step. All curves meet the same trials, so differences are taken
trial by trial, and one counts as real when it exceeds two standard errors: chance alone makes that happen in about one
comparison out of forty. A difference within two standard errors leaves its claim open. Being competitive is judged by
the band of the curve to compete with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from overcast._check import Array
from overcast.experiments.experiment import CURVES
from overcast.experiments.outcome import Outcome, with_error
from overcast.simulation.runner import Setting
from overcast.simulation.runs import mean_and_error, two_standard_errors

#: the panels whose exact curve falls below zero, according to the caption
BELOW_ZERO = ("1a", "1b")

Shown = Literal["yes", "in part", "open", "no"]

SAMPLES = (10, 100, None)
BOTH: tuple[Setting, Setting] = ("observed", "hidden")


@dataclass(frozen=True)
class Verdict:
    """A claim of the paper, whether a run shows it, and the numbers that say so."""

    claim: str
    shown: Shown
    evidence: str

    @classmethod
    def of(cls, claim: str, comparisons: Sequence[Array], evidence: str) -> Verdict:
        """Judge a claim by values that are positive where it is right."""
        signs = [sign(values) for values in comparisons]
        if any(sign > 0 for sign in signs):
            return cls(claim, "yes" if min(signs) > 0 else "in part", evidence)
        return cls(claim, "no" if min(signs) < 0 else "open", evidence)


def verdicts(outcome: Outcome) -> list[Verdict]:
    """Judge the paper's claims about the figure that the outcome reproduces; none for parts or one trial."""
    figure = outcome.experiment.figure
    if not figure or outcome.experiment.trials < 2:
        return []
    final = {(line.curve.setting, line.curve.samples): line.regret[:, -1] for line in outcome.lines}
    if not all((curve.setting, curve.samples) in final for curve in CURVES):
        return []
    exact = final["exact", None]
    ahead = [regret - exact for (setting, _), regret in final.items() if setting != "exact"]
    unseen = [final["hidden", n] - final["observed", n] for n in SAMPLES]
    few = [final[setting, 10] - final[setting, None] for setting in BOTH]
    many = [(final[setting, 100], final[setting, None]) for setting in BOTH]
    below = figure in BELOW_ZERO
    return [
        Verdict.of(
            "Seeing the context before the decision (exact) beats every variant that sees its distribution only.",
            ahead,
            f"The best of the others has more by {text(min(ahead, key=_mean))}.",
        ),
        Verdict.of(
            "Seeing the context after the decision (observed) beats never seeing it (hidden).",
            unseen,
            f"Hidden has more by {_listed(map(text, unseen), ('L = 10', 'L = 100', 'expectation'))}.",
        ),
        Verdict.of(
            "The number of samples matters: regret with L = 10 is higher than with the expectation.",
            few,
            f"Higher by {_listed(map(text, few), BOTH)}.",
        ),
        Verdict(
            "L = 100 is already competitive: within two standard errors of the expectation, or better.",
            ("no", "in part", "yes")[
                sum(sampled.mean() <= full.mean() + two_standard_errors(full) for sampled, full in many)
            ],
            _listed((f"{text(sampled)} beside {text(full)}" for sampled, full in many), BOTH) + ".",
        ),
        Verdict.of(
            "Exact falls below zero in panels (a) and (b)" + ("." if below else ", and (c) is not named with them."),
            [-exact if below else exact],
            f"It ends at {text(exact)}.",
        ),
    ]


def _mean(values: Array) -> float:
    return float(values.mean())


def sign(values: Array) -> int:
    """Return the sign of a mean, zero where it is within two standard errors."""
    mean, error = float(values.mean()), float(two_standard_errors(values))
    return 0 if abs(mean) <= error else 1 if mean > 0 else -1


def text(values: Array) -> str:
    """Return mean and error as text, with a digit more than the tables have where the error is small."""
    summary = mean_and_error(values)
    error = summary["two_se"]
    return with_error(summary, 1 if error is None or error >= 1.0 else 2)


def _listed(values: Iterable[str], names: Iterable[str]) -> str:
    return ", ".join(f"{value} ({name})" for value, name in zip(values, names, strict=True))
