"""All policies and baselines: rankings, ties, fewer trials of slow models, and the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import overcast as oc
from experiment_support import FILES, Command, read_summary
from overcast.experiments.comparisons.policies import DEFAULT, EXPERTS, PAPER, Policies, ranking
from overcast.experiments.engine import run as run_module
from overcast.experiments.engine.experiment import Experiment
from overcast.experiments.engine.outcome import Outcome
from overcast.experiments.engine.run import run
from overcast.experiments.figures.problems import synthetic
from overcast.models import Exp4, FixedProfile, MeanContext, Model, NoisyContext
from overcast.policies import Policy, Proportional

TRIALS, STEPS = 8, 15
FEATURES = oc.features.Quadratic()
METHODS: dict[str, tuple[Model, Policy, int | None]] = {
    DEFAULT: (oc.LinearModel(FEATURES), oc.UCB(), None),
    "Thompson": (oc.LinearModel(FEATURES), oc.Thompson(), None),
    "PerturbedHistory": (oc.LinearModel(FEATURES), oc.PerturbedHistory(), None),
    "Greedy": (oc.LinearModel(FEATURES), oc.Greedy(), None),
    "EpsilonGreedy": (oc.LinearModel(FEATURES), oc.EpsilonGreedy(), None),
    "MostlyGreedy": (oc.LinearModel(FEATURES), oc.MostlyGreedy(), None),
    "IDS": (oc.LinearModel(FEATURES), oc.IDS(), None),
    "mean plugged in": (MeanContext(oc.LinearModel(FEATURES)), oc.UCB(), None),
    "one sampled context": (oc.LinearModel(FEATURES), oc.UCB(), 1),
    "FixedProfile": (FixedProfile(FEATURES), oc.UCB(10.0), None),
    "NoisyContext": (NoisyContext(FEATURES), oc.UCB(10.0), 1),
    "EXP4": (Exp4(FEATURES, EXPERTS), Proportional(), None),
}
SLOW = ("FixedProfile", "NoisyContext", "EXP4")


def test_both_settings_have_every_method(policies_outcome: Outcome) -> None:
    assert {place.line.curve.name for place in ranking(policies_outcome, "hidden")} == {*METHODS, PAPER}
    assert {place.line.curve.name for place in ranking(policies_outcome, "observed")} == {*METHODS, PAPER}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_equals_a_plain_simulation(name: str, policies: Experiment, policies_outcome: Outcome) -> None:
    model, policy, samples = METHODS[name]
    trials = TRIALS // 4 if name in SLOW else TRIALS
    (line,) = (line for line in policies_outcome.grid if (line.curve.setting, line.curve.name) == ("hidden", name))
    runs = oc.simulate(policies.env, model, policy, samples, STEPS, trials)
    np.testing.assert_array_equal(line.regret, runs.regret)
    assert (line.policy, line.curve.model) == (policy, model)


def test_slow_models_observed_take_the_beta_of_the_appendix() -> None:
    curves = {(c.setting, c.name): c for c in Policies().experiment(synthetic()).curves}
    assert curves["observed", "FixedProfile"].policy == curves["observed", "NoisyContext"].policy == oc.UCB(2.0)


def test_the_files_say_who_played_and_how_far_behind(policies_outcome: Outcome, policies_folder: Path) -> None:
    assert {path.name for path in policies_folder.iterdir()} == FILES
    (problem,) = read_summary(policies_folder)["experiments"]
    variants = problem["variants"]
    assert len(variants) == 2 * 13
    for variant in variants:
        assert variant["policy"].split("(")[0] in ("UCB", "Proportional") or variant["name"] in variant["policy"]
        assert variant["model"]
    betas = {variant["name"]: variant["beta"] for variant in variants if variant["setting"] == "hidden"}
    assert (betas["FixedProfile"], betas["Thompson"], betas[DEFAULT]) == (10.0, None, None)
    places = problem["rankings"]["hidden"]
    assert [place["regret"]["mean"] for place in places] == sorted(place["regret"]["mean"] for place in places)
    assert places[0]["more_than_best"] is None
    assert {place["name"]: place["trials"] for place in places}["EXP4"] == TRIALS // 4
    page = (policies_folder / "report.html").read_text()
    assert "EXP4 has no use for a revealed context" in page
    assert f"With {TRIALS // 4} trials only" in page


def test_a_second_run_computes_nothing(
    policies: Experiment, policies_outcome: Outcome, policies_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(part: object) -> None:
        raise AssertionError("a part is computed again")

    monkeypatch.setattr(run_module, "compute", refuse)
    again = run(policies, policies_folder, None, lambda: None)
    assert Policies().tables([again]) == Policies().tables([policies_outcome])


@pytest.mark.usefixtures("less_data")
def test_the_command_on_all_three_problems(command: Command, tmp_path: Path) -> None:
    code, text, error = command(
        "reproduce", "policies", "--trials", "2", "--steps", "3", "--workers", "1", "--betas", "1", "--out", tmp_path
    )
    assert (code, error) == (0, "")
    summary = read_summary(tmp_path / "policies")
    assert [problem["experiment"] for problem in summary["experiments"]] == ["synthetic", "movielens", "crops"]
    assert text.count("more than the best") == 6
    assert all(len(problem["rankings"]["hidden"]) == 13 for problem in summary["experiments"])
    for problem in summary["experiments"]:
        for places in problem["rankings"].values():
            means = [place["regret"]["mean"] for place in places]
            assert means == sorted(means)
    assert summary["experiments"][-1]["belief"] == "centred"
    assert "not drawn from the beliefs" not in text
