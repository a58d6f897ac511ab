"""Print the results of an experiment as tables and sentences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from overcast.cli.common import painted, print_rows

if TYPE_CHECKING:
    from overcast.experiments.comparisons.comparison import ComparisonResult
    from overcast.experiments.comparisons.forecasts import ForecastsResult
    from overcast.experiments.engine.outcome import Verdict
    from overcast.experiments.figures.reproduce import Reproduction

MEANS = "After the last step, mean over trials ± two standard errors."

#: ANSI codes: green, yellow, red
COLOURS = {"yes": 32, "in part": 33, "open": 33, "no": 31}


def print_reproduction(reproduction: Reproduction) -> None:
    from overcast.experiments.figures.drawing import final_regrets, notes

    e = reproduction.outcome.experiment
    print(f"{e.title}: {e.trials} trials of {e.steps} steps, data {e.data}\n")
    print_rows([("learner sees", "beta", "regret", "expected regret"), *final_regrets(reproduction.outcome)])
    print(f"\n{MEANS}", *notes(reproduction.outcome), sep="\n")
    which = "this run on generated data" if e.facts.get("generated") else "this run"
    _print_verdicts(
        f"What the paper says about figure {e.figure}, and whether {which} shows it:", reproduction.verdicts
    )


def print_comparison(result: ComparisonResult) -> None:
    for table in result.tables:
        print(f"{table.title}\n")
        print_rows([table.header, *table.rows])
        print(f"\n{table.note}\n")
    sentences = dict.fromkeys(note for outcome in result.outcomes for note in outcome.experiment.notes)
    print(MEANS, *sentences, sep="\n")
    _print_verdicts("What is claimed, and whether this run shows it:", result.verdicts)


def print_forecasts(result: ForecastsResult) -> None:
    trials, _, steps = result.regret.shape
    print(f"Frost protection by forecasts: {trials} trials of {steps} steps, data {result.judged.record.source}\n")
    print_rows([("forecasts", "80 % covers", "regret", "regret, rewards known"), *result.rows()])
    note = "Coverage over the second half; regret after the last step, mean over trials ± two standard errors."
    print(f"\n{note}", *result.notes(), sep="\n")


def print_end(seconds: float, folder: Path, first: str = "report.html", second: str = "figure.png") -> None:
    """Print the seconds that the user waited, and the files to open."""
    print(f"\n{seconds:.1f} s. Open {folder / first} or {folder / second}")


def _print_verdicts(heading: str, verdicts: list[Verdict]) -> None:
    """Print verdicts below a heading, if there are any."""
    if verdicts:
        print(f"\n{heading}")
    for verdict in verdicts:
        shown = painted(f"{verdict.shown:>8}", COLOURS[verdict.shown])
        print(f"{shown}  {verdict.claim}\n{'':10}{verdict.evidence}")
