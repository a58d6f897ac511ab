"""What a run shows of the paper's claims, from outcomes made by hand: the means and errors are known."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from experiment_support import line_of
from overcast._check import Array
from overcast.experiments.engine.experiment import CURVES
from overcast.experiments.engine.outcome import Outcome, Verdict
from overcast.experiments.figures.problems import kernel, synthetic
from overcast.experiments.figures.reproduce import verdicts
from overcast.simulation import Setting

Key = tuple[Setting, int | None]

# What the caption of figure 1a leads one to expect, as mean regret after the last step.
PAPER: dict[Key, float] = {
    ("exact", None): -50.0,
    ("observed", 10): 30.0,
    ("observed", 100): 20.5,
    ("observed", None): 20.0,
    ("hidden", 10): 70.0,
    ("hidden", 100): 60.5,
    ("hidden", None): 60.0,
}

# Four trials, and what each adds to the regret of every curve: two standard errors of the mean are 8 * 2 / sqrt(3).
LUCK = np.array([-8.0, 8.0, -8.0, 8.0])
# What it adds to some of them only: two standard errors are 2 / sqrt(3).
OWN = np.array([1.0, 1.0, -1.0, -1.0])

EXACT_FIRST, OBSERVED_FIRST, SAMPLES_MATTER, HUNDRED_WILL_DO, SIGN = range(5)


def trials_of(means: Mapping[Key, float]) -> dict[Key, Array]:
    """Return four trials of each curve, with the luck that all share and some of their own for all but exact."""
    return {key: mean + LUCK + (0.0 if key[0] == "exact" else OWN) for key, mean in means.items()}


def outcome_of(finals: Mapping[Key, Array], figure: str = "1a") -> Outcome:
    """Return an outcome of two steps, of which the first would show the opposite of the second."""
    lines = []
    for curve in CURVES:
        final = finals[curve.setting, curve.samples]
        line = line_of(curve, 1.0, np.stack([-1000.0 * final, final], axis=1), np.zeros((len(final), 2)))
        lines.append(replace(line, clairvoyant_regret=2.0 * line.regret))
    trials = len(finals["exact", None])
    experiment = replace(synthetic(), figure=figure, trials=trials, steps=2)
    return Outcome(experiment, tuple(lines), 0.0, 0.0)


def judged(changed: Mapping[Key, float] | None = None, figure: str = "1a") -> list[Verdict]:
    """Judge the paper's expectation with some means changed."""
    return verdicts(outcome_of(trials_of({**PAPER, **(changed or {})}), figure))


def as_text(values: Array) -> str:
    """Return mean and two standard errors, as they stand in the evidence."""
    numbers = values.tolist()
    error = 2 * statistics.stdev(numbers) / math.sqrt(len(numbers))
    digits = 2 if error < 1 else 1
    return f"{statistics.fmean(numbers):,.{digits}f} ± {error:,.{digits}f}"


def test_a_run_like_the_papers_shows_all_of_its_claims() -> None:
    assert [verdict.shown for verdict in judged()] == ["yes"] * 5


def test_claims_are_judged_after_the_last_step() -> None:
    """The first step of these outcomes shows the opposite of every claim; swapped, it decides."""
    outcome = outcome_of(trials_of(PAPER))
    swapped = tuple(replace(line, regret=line.regret[:, ::-1]) for line in outcome.grid)
    shown = [verdict.shown for verdict in verdicts(replace(outcome, grid=swapped))]
    assert shown == ["no", "no", "no", "yes", "no"]  # L = 100 has the lower regret there, so it is competitive


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        pytest.param({}, "yes", id="all are behind"),
        pytest.param({("observed", None): -50.0}, "in part", id="one ties with exact"),
        pytest.param({("observed", None): -60.0}, "in part", id="one is ahead of exact"),
        pytest.param({("exact", None): 59.0, ("hidden", 100): 60.0}, "in part", id="one of six is behind"),
        pytest.param({("exact", None): 80.0}, "no", id="all are ahead of exact"),
        pytest.param({("exact", None): 70.0}, "no", id="the last ties with exact"),
    ],
)
def test_exact_must_beat_every_other_curve(changed: Mapping[Key, float], shown: str) -> None:
    assert judged(changed)[EXACT_FIRST].shown == shown


def test_the_lead_of_exact_is_that_over_the_best_of_the_others() -> None:
    finals = trials_of({**PAPER, ("hidden", 100): 11.0})
    (evidence,) = {verdict.evidence for verdict in verdicts(outcome_of(finals)) if "best" in verdict.evidence}
    assert as_text(finals["hidden", 100] - finals["exact", None]) == "61.0 ± 1.2"
    assert evidence == "The best of the others has more by 61.0 ± 1.2."


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        pytest.param({}, "yes", id="with all samples"),
        pytest.param({("hidden", 10): 30.0}, "in part", id="not with ten"),
        pytest.param({("hidden", None): 19.0, ("hidden", 100): 19.0}, "in part", id="with ten only"),
        pytest.param({("hidden", None): 20.0, ("hidden", 100): 20.0, ("hidden", 10): 30.0}, "no", id="with none"),
    ],
)
def test_observed_must_beat_hidden_with_the_same_samples(changed: Mapping[Key, float], shown: str) -> None:
    assert judged(changed)[OBSERVED_FIRST].shown == shown


def test_what_hidden_costs_is_listed_by_samples() -> None:
    finals = trials_of(PAPER)
    finals["hidden", 10] = finals["hidden", 10] + 3.0 * OWN
    finals["hidden", 100] = finals["hidden", 100] - 2.0 * LUCK
    costs = [as_text(finals["hidden", n] - finals["observed", n]) for n in (10, 100, None)]
    assert costs == ["40.0 ± 3.5", "40.0 ± 18.5", "40.00 ± 0.00"]
    evidence = verdicts(outcome_of(finals))[OBSERVED_FIRST].evidence
    assert evidence == f"Hidden has more by {costs[0]} (L = 10), {costs[1]} (L = 100), {costs[2]} (expectation)."


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        pytest.param({}, "yes", id="in both settings"),
        pytest.param({("hidden", 10): 60.0}, "in part", id="in observed only"),
        pytest.param({("observed", 10): 19.0}, "in part", id="in hidden only"),
        pytest.param({("observed", 10): 20.0, ("hidden", 10): 50.0}, "no", id="in neither"),
    ],
)
def test_ten_samples_must_cost_more_than_the_expectation(changed: Mapping[Key, float], shown: str) -> None:
    assert judged(changed)[SAMPLES_MATTER].shown == shown


def test_what_ten_samples_cost_is_listed_by_setting() -> None:
    finals = trials_of(PAPER)
    finals["observed", 10] = finals["observed", 10] + 2.0 * OWN
    costs = [as_text(finals[setting, 10] - finals[setting, None]) for setting in ("observed", "hidden")]
    assert costs == ["10.0 ± 2.3", "10.00 ± 0.00"]
    evidence = verdicts(outcome_of(finals))[SAMPLES_MATTER].evidence
    assert evidence == f"Higher by {costs[0]} (observed), {costs[1]} (hidden)."


@pytest.mark.parametrize(
    ("observed", "hidden", "shown"),
    [
        pytest.param(2.0, 2.0, "yes", id="80 % in both"),
        pytest.param(2.04, 2.04, "yes", id="80 % as printed"),
        pytest.param(-30.0, -30.0, "yes", id="better than the expectation"),
        pytest.param(2.1, 0.0, "in part", id="less in observed"),
        pytest.param(0.0, 2.1, "in part", id="less in hidden"),
        pytest.param(2.1, 2.1, "no", id="less in both"),
        pytest.param(12.0, 12.0, "no", id="worse than with ten samples"),
    ],
)
def test_a_hundred_samples_must_go_four_fifths_of_the_way(observed: float, hidden: float, shown: str) -> None:
    """The way from ten samples to the expectation is 10 in both settings; no trial differs from the others in it."""
    verdict = judged({("observed", 100): 20.0 + observed, ("hidden", 100): 60.0 + hidden})[HUNDRED_WILL_DO]
    assert verdict.claim == (
        "L = 100 is already competitive: it goes 80% or more of the way from L = 10 to the expectation."
    )
    assert verdict.shown == shown


@pytest.mark.parametrize(
    ("more", "hidden", "shown"),
    [
        pytest.param(2.5, 60.0, "in part", id="misses by little, competitive in hidden"),
        pytest.param(2.5, 63.0, "no", id="misses by little, and by much in hidden"),
        pytest.param(9.0, 63.0, "no", id="misses by much in both"),
        pytest.param(2.5, None, "open", id="misses by little in both"),
    ],
)
def test_a_share_that_misses_within_error_is_open(more: float, hidden: float | None, shown: str) -> None:
    """Two standard errors of the share are 1 / 10 * 2 / sqrt(3): 75 % is within them, 10 % is not."""
    finals = trials_of(PAPER)
    finals["observed", 100] = finals["observed", None] + more + OWN
    finals["hidden", 100] = (
        finals["hidden", None] + 2.5 + OWN if hidden is None else finals["hidden", None] + hidden - 60
    )
    assert verdicts(outcome_of(finals))[HUNDRED_WILL_DO].shown == shown


@pytest.mark.parametrize("ten", [0.0, -5.0], ids=["ten ties", "ten is better"])
@pytest.mark.parametrize(
    ("hundred", "hidden", "shown"),
    [
        pytest.param(0.0, 60.5, "yes", id="no more than the expectation"),
        pytest.param(-3.0, 60.5, "yes", id="better than the expectation"),
        pytest.param(1.1, 60.5, "yes", id="above it within error"),
        pytest.param(3.0, 60.5, "in part", id="above it, competitive in hidden"),
        pytest.param(0.0, 65.0, "in part", id="no more, half of the way in hidden"),
        pytest.param(3.0, 65.0, "no", id="above it, half of the way in hidden"),
        pytest.param(3.0, None, "open", id="above it in both"),
    ],
)
def test_without_a_way_to_go_a_hundred_samples_are_compared_with_the_expectation(
    ten: float, hundred: float, hidden: float | None, shown: str
) -> None:
    """Ten samples cost no more than the expectation in observed. What a hundred add has an error of 2 / sqrt(3)."""
    means = {**PAPER, ("observed", 10): 20.0 + ten, ("hidden", 100): 63.0 if hidden is None else hidden}
    if hidden is None:
        means["hidden", 10] = 60.0
    finals = trials_of(means)
    finals["observed", 100] = finals["observed", None] + hundred + OWN
    verdict = verdicts(outcome_of(finals))[HUNDRED_WILL_DO]
    assert verdict.shown == shown
    assert "The share is undefined, as L = 10 costs no more within error (observed), " in verdict.evidence


def test_the_share_of_the_way_is_printed_with_its_error() -> None:
    """(ten - hundred) / (ten - expectation) of the means, with the error of paired trials."""
    finals = trials_of(PAPER)
    finals["observed", 10] = finals["observed", 10] + 2.0 * OWN
    finals["observed", 100] = 20.5 + 3.0 * OWN
    way, gone = ((finals["observed", 10] - finals["observed", n]).tolist() for n in (None, 100))
    share = statistics.fmean(gone) / statistics.fmean(way)
    rest = [g - share * w for g, w in zip(gone, way, strict=True)]
    error = 2 * statistics.stdev(rest) / math.sqrt(4) / statistics.fmean(way)
    assert share == pytest.approx(0.95)
    pairs = [[as_text(finals[setting, n]) for n in (100, None)] for setting in ("observed", "hidden")]
    assert pairs == [["20.5 ± 3.5", "20.0 ± 9.3"], ["60.5 ± 9.3", "60.0 ± 9.3"]]
    evidence = verdicts(outcome_of(finals))[HUNDRED_WILL_DO].evidence
    assert evidence == (
        f"The share is 95% ± {error:.0%} (observed), 95% ± 0% (hidden); "
        "regret is 20.5 ± 3.5 beside 20.0 ± 9.3 (observed), 60.5 ± 9.3 beside 60.0 ± 9.3 (hidden)."
    )


# Two standard errors of exact.
EXACT_BAND = 8.0 * 2 / math.sqrt(3.0)


@pytest.mark.parametrize("figure", ["1a", "1b"])
@pytest.mark.parametrize(
    ("mean", "shown"),
    [
        pytest.param(-1.01 * EXACT_BAND, "yes", id="clearly below"),
        pytest.param(-0.99 * EXACT_BAND, "open", id="below within the error"),
        pytest.param(0.99 * EXACT_BAND, "open", id="above within the error"),
        pytest.param(100.0, "no", id="above"),
    ],
)
def test_exact_must_fall_below_zero_in_the_first_two_panels(figure: str, mean: float, shown: str) -> None:
    verdict = judged({("exact", None): mean}, figure)[SIGN]
    assert verdict.claim == "Exact falls below zero in panels (a) and (b)."
    assert verdict.shown == shown
    assert verdict.evidence == f"It ends at {as_text(mean + LUCK)}."


@pytest.mark.parametrize(
    ("mean", "shown"),
    [
        pytest.param(1.01 * EXACT_BAND, "yes", id="clearly above"),
        pytest.param(0.99 * EXACT_BAND, "open", id="above within the error"),
        pytest.param(-100.0, "no", id="below"),
    ],
)
def test_exact_must_stay_above_zero_in_the_crop_panel(mean: float, shown: str) -> None:
    verdict = judged({("exact", None): mean}, "1c")[SIGN]
    assert (
        verdict.claim
        == "Exact stays above zero in panel (c): the caption says of (a) and (b) alone that it falls below."
    )
    assert verdict.shown == shown
    against = f"and at {as_text(2.0 * (mean + LUCK))} against the best variety for the season that came"
    assert verdict.evidence == f"It ends at {as_text(mean + LUCK)}, {against}."


def test_only_the_claim_about_zero_differs_between_panels() -> None:
    claims = [[verdict.claim for verdict in judged(figure=figure)] for figure in ("1a", "1b", "1c")]
    assert claims[0] == claims[1]
    assert claims[0][:SIGN] == claims[2][:SIGN]
    assert claims[0][SIGN] != claims[2][SIGN]


def test_differences_are_taken_trial_by_trial() -> None:
    """Observed leads by 5 in every trial, though each mean is uncertain by 9; paired otherwise, the lead is by 18."""
    finals = trials_of({**PAPER, **{("hidden", n): PAPER["observed", n] + 5.0 for n in (10, 100, None)}})
    paired = verdicts(outcome_of(finals))[OBSERVED_FIRST]
    assert paired.shown == "yes"
    assert "5.00 ± 0.00 (L = 10)" in paired.evidence
    for n in (10, 100, None):
        finals["hidden", n] = finals["hidden", n][::-1]
    shuffled = verdicts(outcome_of(finals))[OBSERVED_FIRST]
    assert shuffled.shown == "open"
    assert "5.0 ± 18.6 (L = 10)" in shuffled.evidence


@pytest.mark.parametrize("figure", ["1a", "1b", "1c"])
def test_a_single_trial_shows_nothing(figure: str) -> None:
    finals = {key: np.array([mean]) for key, mean in PAPER.items()}
    assert verdicts(outcome_of(finals, figure)) == []


def test_curves_that_were_tuned_are_judged_at_the_beta_that_was_picked() -> None:
    outcome = outcome_of(trials_of(PAPER))
    untuned = tuple(replace(line, beta=9.0, regret=line.regret + 500.0) for line in outcome.grid)
    assert verdicts(replace(outcome, grid=(*untuned, *outcome.grid))) == verdicts(outcome)


def test_a_figure_that_is_not_the_papers_has_no_claims() -> None:
    finals = trials_of(PAPER)
    assert verdicts(outcome_of(finals, figure="")) == []
    assert verdicts(replace(outcome_of(finals), experiment=kernel())) == []


def test_summary_and_report_hold_the_verdicts(outcome: Outcome, folder: Path) -> None:
    found = verdicts(outcome)
    assert json.loads((folder / "summary.json").read_text())["claims"] == [asdict(verdict) for verdict in found]
    page = (folder / "report.html").read_text().replace("\u00a0", " ")
    for verdict in found:
        assert f"<td>{verdict.claim}</td>" in page
        assert f">{verdict.shown}</td><td>{verdict.evidence}</td>" in page


def test_a_part_of_the_figure_is_not_judged() -> None:
    outcome = outcome_of(trials_of(PAPER))
    some = replace(outcome.experiment, curves=CURVES[:3])
    assert verdicts(replace(outcome, experiment=some, grid=outcome.grid[:3])) == []
