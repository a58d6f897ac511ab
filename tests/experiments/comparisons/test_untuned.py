"""The default beside every beta: ratios, mixed feedback, coverage, and what the command makes of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiment_support import Command, read_summary
from overcast.experiments.comparisons.comparison import GRID
from overcast.experiments.comparisons.tuning import DEFAULT, Tuning
from overcast.experiments.comparisons.untuned import SHARES, Untuned
from overcast.experiments.engine import run as run_module
from overcast.experiments.engine.experiment import Experiment
from overcast.experiments.engine.outcome import Outcome
from overcast.experiments.engine.run import run

TRIALS, STEPS = 27, 40


def test_the_summary_has_every_beta_and_what_was_found(untuned_outcome: Outcome, untuned_folder: Path) -> None:
    summary = read_summary(untuned_folder)
    assert summary["experiment"] == "untuned"
    (problem,) = summary["experiments"]
    assert (problem["experiment"], problem["trials"], problem["steps"]) == ("synthetic", TRIALS, STEPS)
    variants = problem["variants"]
    assert len(variants) == 2 * len(GRID) + 2 + len(SHARES)
    default = next(v for v in variants if v.get("name") == DEFAULT and v["setting"] == "hidden")
    assert (default["beta"], default["policy"]) == (None, "UCB()")
    assert default["model"] == "LinearModel(features=Quadratic())"
    assert default["regret"]["mean"] == pytest.approx(Tuning(untuned_outcome).default("hidden").regret[:, -1].mean())
    assert [v["revealed"] for v in variants if "revealed" in v] == list(SHARES)
    assert [(r["setting"], r["measure"]) for r in problem["ratios"]] == [
        ("hidden", "regret"),
        ("hidden", "expected_regret"),
        ("observed", "regret"),
        ("observed", "expected_regret"),
    ]
    assert len(problem["coverage"]) == 2 * 2
    assert [claim["shown"] in ("yes", "in part", "open", "no") for claim in summary["claims"]] == [True] * 3


def test_a_second_run_computes_nothing_and_finds_the_same(
    untuned: Experiment, untuned_outcome: Outcome, untuned_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(part: object) -> None:
        raise AssertionError("a part is computed again")

    monkeypatch.setattr(run_module, "compute", refuse)
    again = run(untuned, untuned_folder, None, lambda: None)
    assert Untuned().tables([again]) == Untuned().tables([untuned_outcome])


@pytest.mark.usefixtures("less_data")
def test_the_command_on_all_three_problems(command: Command, tmp_path: Path) -> None:
    arguments = ["--trials", "2", "--steps", "5", "--workers", "1", "--betas", "1,3", "--seed", "4", "--out", tmp_path]
    code, text, error = command("reproduce", "untuned", *arguments)
    assert (code, error) == (0, "")
    summary = read_summary(tmp_path / "untuned")
    assert [problem["experiment"] for problem in summary["experiments"]] == ["synthetic", "movielens", "crops"]
    for problem in summary["experiments"]:
        assert (problem["seed"], problem["trials"], problem["steps"]) == (4, 2, 5)
        assert {variant["beta"] for variant in problem["variants"]} == {None, 1.0, 3.0}
    assert summary["experiments"][-1]["belief"] == "centred"
    claims = [claim["claim"] for claim in summary["claims"]]
    assert len(claims) == 5
    assert claims[-1].endswith("the default has at most 1.2 times the regret of the best β.")
    assert "paper, β = 3" in text
    assert "not drawn from the beliefs" not in text
    assert not (tmp_path / "synthetic").exists()


def test_one_trial_is_drawn_and_not_judged(untuned: Experiment, tmp_path: Path) -> None:
    single = run(replace(untuned, trials=1, steps=3), tmp_path, None, lambda: None)
    assert Untuned().verdicts([single]) == []
    assert "±" not in "".join(cell for table in Untuned().tables([single]) for row in table.rows for cell in row)
    assert len(Untuned().draw([single]).axes) == 3  # no round is watched so early
