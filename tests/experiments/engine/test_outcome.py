"""Summary, curves and the choice of beta."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import overcast as oc
from experiment_support import line_of
from overcast.experiments.engine.experiment import CURVES, Curve, Experiment
from overcast.experiments.engine.outcome import Line, Outcome, Verdict, pick, ratio_of, sign, text


def test_lines_equal_a_plain_simulation(small: Experiment, outcome: Outcome) -> None:
    for line in (outcome.grid[0], outcome.grid[-1]):
        assert line.beta is not None
        runs = oc.simulate(
            small.env,
            small.model,
            oc.UCB(line.beta),
            samples=line.curve.samples,
            steps=small.steps,
            trials=small.trials,
            setting=line.curve.setting,
        )
        np.testing.assert_array_equal(line.regret, runs.regret)
        np.testing.assert_array_equal(line.expected_regret, runs.expected_regret)


def test_summary_file_has_the_agreed_fields(small: Experiment, outcome: Outcome, folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["experiment"], summary["steps"], summary["trials"], summary["seed"]) == (
        "synthetic",
        12,
        small.trials,
        0,
    )
    assert summary["data"] == "generated from the seed"
    assert summary["seconds"] >= 0
    assert summary["computing_seconds"] > 0
    assert set(summary["versions"]) == {"overcast", "python", "numpy", "scipy"}
    assert [(v["setting"], v["samples"]) for v in summary["variants"]] == [(c.setting, c.samples) for c in CURVES]
    assert len(summary["grid"]) == 2 * len(CURVES)
    for variant, line in zip(summary["variants"], outcome.lines, strict=True):
        final = line.regret[:, -1]
        assert variant["beta"] == line.beta
        assert variant["regret"]["mean"] == pytest.approx(final.mean())
        assert variant["regret"]["two_se"] == pytest.approx(2 * final.std(ddof=1) / np.sqrt(len(final)))
        assert variant["expected_regret"]["mean"] == pytest.approx(line.expected_regret[:, -1].mean())
        assert variant["clairvoyant_regret"]["mean"] == pytest.approx(line.clairvoyant_regret[:, -1].mean())
        assert variant["clairvoyant_regret"]["mean"] >= max(0.0, variant["regret"]["mean"])


def test_curves_file_holds_every_trial_and_step(small: Experiment, outcome: Outcome, folder: Path) -> None:
    table = pq.read_table(folder / "curves.parquet").to_pandas()
    assert len(table) == len(CURVES) * small.trials * small.steps
    line = outcome.lines[-1]
    rows = table[(table.setting == line.curve.setting) & table.samples.isna()].sort_values(["trial", "step"])
    np.testing.assert_array_equal(rows.regret.to_numpy().reshape(line.regret.shape), line.regret)
    np.testing.assert_array_equal(rows.expected_regret.to_numpy().reshape(line.regret.shape), line.expected_regret)
    assert rows.beta.unique().tolist() == [line.beta]


def make_line(beta: float, finals: list[float]) -> Line:
    regret = np.array(finals)[:, None]
    return line_of(Curve("hidden", None), beta, regret)


def test_tuning_takes_the_least_regret_where_it_is_clear() -> None:
    lines = [make_line(1.0, [10.0, 11.0, 12.0]), make_line(2.0, [20.0, 21.0, 22.0]), make_line(5.0, [30.0, 31.0, 32.0])]
    assert pick(lines).beta == 1.0


def test_tuning_takes_the_largest_beta_of_those_that_tie() -> None:
    """Beta 2 differs from 1 by -3 to 3.5 a trial, 0.25 on average: a tie. Beta 5 is worse by 5 in every trial."""
    least = [10.0, 20.0, 30.0, 40.0]
    tied = [7.0, 20.5, 33.5, 40.0]
    worse = [15.0, 25.0, 35.0, 45.0]
    assert pick([make_line(1.0, least), make_line(5.0, worse), make_line(2.0, tied)]).beta == 2.0


def test_tuning_with_a_single_trial_takes_the_least() -> None:
    assert pick([make_line(1.0, [3.0]), make_line(2.0, [2.0]), make_line(5.0, [4.0])]).beta == 2.0


# Mean 2, 0.5 and -2; two standard errors of each mean are 2 / sqrt(3), about 1.15.
ABOVE, ABOUT_ZERO, BELOW = (mean + np.array([-1.0, 1.0, -1.0, 1.0]) for mean in (2.0, 0.5, -2.0))


def test_a_sign_needs_two_standard_errors() -> None:
    assert [sign(values) for values in (ABOVE, ABOUT_ZERO, BELOW)] == [1, 0, -1]


@pytest.mark.parametrize(
    ("comparisons", "shown"),
    [
        ([ABOVE, ABOVE], "yes"),
        ([ABOVE, ABOUT_ZERO], "in part"),
        ([ABOVE, BELOW], "in part"),
        ([ABOUT_ZERO, ABOUT_ZERO], "open"),
        ([ABOUT_ZERO, BELOW], "no"),
    ],
)
def test_a_claim_is_shown_if_all_comparisons_are_above_zero(comparisons: list[np.ndarray], shown: str) -> None:
    assert Verdict.of("It is so.", comparisons, "Numbers.") == Verdict("It is so.", shown, "Numbers.")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("signs", "shown"),
    [([1, 1], "yes"), ([1, 0], "in part"), ([1, -1], "in part"), ([0, 0], "open"), ([0, -1], "no"), ([-1, -1], "no")],
)
def test_a_claim_may_be_judged_by_signs_alone(signs: list[int], shown: str) -> None:
    assert Verdict.of_signs("It is so.", signs, "Numbers.").shown == shown


def test_a_ratio_is_of_means_and_its_error_that_of_paired_trials() -> None:
    """5 / 10, and the error of 3 - 4.5, 5 - 5.5, 7 - 5 about their mean, in units of the mean of the second."""
    value, error = ratio_of(np.array([3.0, 5.0, 7.0]), np.array([9.0, 11.0, 10.0]))
    assert value == 0.5
    assert error == pytest.approx(2 * np.std([-1.5, -0.5, 2.0], ddof=1) / np.sqrt(3) / 10)


def test_small_errors_have_two_digits() -> None:
    assert text(ABOVE) == "2.0 ± 1.2"
    assert text(0.1 * ABOVE) == "0.20 ± 0.12"
    assert text(ABOVE[:1]) == "1.0"
