"""Rankings: ties, pairs of trials, and methods with fewer trials."""

from __future__ import annotations

import numpy as np

import overcast as oc
from experiment_support import line_of
from overcast.experiments.comparisons.policies import DEFAULT, PAPER, Policies, ranking
from overcast.experiments.engine.experiment import Curve
from overcast.experiments.engine.outcome import Line, Outcome
from overcast.experiments.figures.problems import synthetic


def make(name: str, finals: list[float], beta: float | None = None) -> Line:
    values = np.array(finals)[:, None]
    return line_of(Curve("hidden", None, name, policy=oc.UCB() if beta is None else None), beta, values)


def ranked(*lines: Line) -> list[tuple[str, bool]]:
    return [(place.label, place.tied) for place in ranking(Outcome(synthetic(), lines, 0.0, 0.0), "hidden")]


def test_differences_are_paired_and_the_best_beta_competes() -> None:
    """Luck of 0 to 90 is common to all; the second has 1 more in every trial, the third 0 to 2 more or less."""
    luck = [0.0, 50.0, 90.0, 20.0]
    assert ranked(
        make("second", [value + 1.0 + 0.01 * i for i, value in enumerate(luck)]),
        make(PAPER, [value + 40.0 for value in luck], 1.0),
        make(PAPER, luck, 2.0),
        make("third", [2.0, 48.0, 92.0, 19.0]),
    ) == [(f"{PAPER}, β = 2", True), ("third", True), ("second", False)]


def test_fewer_trials_are_compared_with_the_same_trials_of_the_best() -> None:
    """Lucky trials may put it first, and yet it has more than the best in each of them."""
    best, slow = make("best", [10.0, 11.0, 100.0, 120.0]), make("slow", [40.0, 42.0])
    first, second = ranking(Outcome(synthetic(), (best, slow), 0.0, 0.0), "hidden")
    assert (first.line, second.line, second.more) == (slow, best, None)
    assert first.more is not None
    assert first.more.tolist() == [30.0, 31.0]
    assert not first.tied


def test_methods_that_choose_alike_tie_and_the_default_comes_first() -> None:
    alike = [1.0, 2.0, 3.0]
    assert ranked(make("other", alike), make(DEFAULT, [value + 1e-12 for value in alike])) == [
        (DEFAULT, True),
        ("other", True),
    ]


def test_the_figure_names_the_methods_in_their_order(policies_outcome: Outcome) -> None:
    axes = Policies().draw([policies_outcome]).axes
    assert [ax.get_title() for ax in axes] == ["Synthetic example, hidden", "Synthetic example, observed"]
    shown = [label.get_text() for label in axes[0].get_yticklabels()]
    assert shown == [place.label for place in ranking(policies_outcome, "hidden")]
