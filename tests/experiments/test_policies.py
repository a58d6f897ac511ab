"""All policies and baselines: rankings, ties, fewer trials of slow models, and the command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import overcast as oc
from experiment_support import FILES, Command, read_summary
from overcast.environments import Synthetic
from overcast.experiments import parts as parts_module
from overcast.experiments.comparison import compare
from overcast.experiments.experiment import Curve, Experiment
from overcast.experiments.outcome import Line, Outcome
from overcast.experiments.policies import EXPERTS, Policies
from overcast.experiments.ranking import DEFAULT, PAPER, ranking
from overcast.experiments.reproduce import run
from overcast.experiments.synthetic import synthetic
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


@pytest.fixture(scope="module")
def small() -> Experiment:
    return replace(Policies().experiment(replace(synthetic(), env=Synthetic(k=12))), trials=TRIALS, steps=STEPS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("policies")


@pytest.fixture(scope="module")
def outcome(small: Experiment, folder: Path) -> Outcome:
    return compare(Policies(), [small], folder, None, lambda: None)[0]


def test_both_settings_have_every_method(outcome: Outcome) -> None:
    assert {place.line.curve.name for place in ranking(outcome, "hidden")} == {*METHODS, PAPER}
    assert {place.line.curve.name for place in ranking(outcome, "observed")} == {*METHODS, PAPER}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_equals_a_plain_simulation(name: str, small: Experiment, outcome: Outcome) -> None:
    model, policy, samples = METHODS[name]
    trials = TRIALS // 4 if name in SLOW else TRIALS
    (line,) = (line for line in outcome.grid if (line.curve.setting, line.curve.name) == ("hidden", name))
    runs = oc.simulate(small.env, model, policy, samples, STEPS, trials)
    np.testing.assert_array_equal(line.regret, runs.regret)
    assert (line.policy, line.curve.model) == (policy, model)


def test_slow_models_observed_take_the_beta_of_the_appendix() -> None:
    curves = {(c.setting, c.name): c for c in Policies().experiment(synthetic()).curves}
    assert curves["observed", "FixedProfile"].policy == curves["observed", "NoisyContext"].policy == oc.UCB(2.0)


def make(name: str, finals: list[float], beta: float | None = None) -> Line:
    values = np.array(finals)[:, None]
    return Line(Curve("hidden", None, name, policy=oc.UCB() if beta is None else None), beta, values, values)


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


def test_the_files_say_who_played_and_how_far_behind(outcome: Outcome, folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == FILES
    (problem,) = read_summary(folder)["experiments"]
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
    page = (folder / "report.html").read_text()
    assert "EXP4 has no use for a revealed context" in page
    assert f"With {TRIALS // 4} trials only" in page


def test_a_second_run_computes_nothing(
    small: Experiment, outcome: Outcome, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(block: object) -> None:
        raise AssertionError("a part is computed again")

    monkeypatch.setattr(parts_module, "compute", refuse)
    again = run(small, folder, None, lambda: None)
    assert Policies().tables([again]) == Policies().tables([outcome])


def test_the_figure_names_the_methods_in_their_order(outcome: Outcome) -> None:
    axes = Policies().draw([outcome]).axes
    assert [ax.get_title() for ax in axes] == ["Synthetic example, hidden", "Synthetic example, observed"]
    shown = [label.get_text() for label in axes[0].get_yticklabels()]
    assert shown == [place.label for place in ranking(outcome, "hidden")]


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
    ranked_by = ["expected_regret" in problem["rankings"]["hidden"][0] for problem in summary["experiments"]]
    assert ranked_by == [False, False, True]
    assert text.count("Ranked by expected regret") == 2
