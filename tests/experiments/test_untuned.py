"""The default beside every beta: ratios, mixed feedback, coverage, and what the command makes of them."""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.stats

import overcast as oc
from experiment_support import FILES, Command, read_summary
from overcast._check import Array
from overcast.environments import Synthetic
from overcast.experiments import parts as parts_module
from overcast.experiments.comparison import GRID, compare
from overcast.experiments.experiment import Curve, Experiment
from overcast.experiments.outcome import Line, Outcome
from overcast.experiments.reproduce import run
from overcast.experiments.synthetic import synthetic
from overcast.experiments.tuning import DEFAULT, Tuning
from overcast.experiments.untuned import ROUNDS, SHARES, Untuned
from overcast.simulation.runner import Setting

TRIALS, STEPS = 27, 40
BOTH: tuple[Setting, Setting] = ("hidden", "observed")


@pytest.fixture(scope="module")
def small() -> Experiment:
    """Two blocks of the default, and one of the rounds that are watched."""
    return replace(Untuned().experiment(replace(synthetic(), env=Synthetic(k=20))), trials=TRIALS, steps=STEPS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("untuned")


@pytest.fixture(scope="module")
def outcome(small: Experiment, folder: Path) -> Outcome:
    return compare(Untuned(), [small], folder, None, lambda: None)[0]


@pytest.mark.parametrize("setting", BOTH)
def test_every_line_equals_a_plain_simulation(small: Experiment, outcome: Outcome, setting: Setting) -> None:
    tuning, features = Tuning(outcome), oc.features.Quadratic()
    default = oc.simulate(small.env, oc.LinearModel(features), oc.UCB(), None, STEPS, TRIALS, setting)
    np.testing.assert_array_equal(tuning.default(setting).regret, default.regret)
    assert [line.beta for line in tuning.grid(setting)] == list(GRID)
    for line in tuning.grid(setting):
        assert line.beta is not None
        paper = oc.LinearModel(features, ridge=1.0)
        runs = oc.simulate(small.env, paper, oc.UCB(line.beta), None, STEPS, TRIALS, setting)
        np.testing.assert_array_equal(line.expected_regret, runs.expected_regret)


def test_mixed_feedback_equals_a_plain_simulation_from_none_to_all(small: Experiment, outcome: Outcome) -> None:
    lines = Tuning(outcome).mixed()
    model = oc.LinearModel(oc.features.Quadratic())
    for line, share in zip(lines, (0.0, *SHARES, 1.0), strict=True):
        runs = oc.simulate(small.env, model, oc.UCB(), None, STEPS, TRIALS, "observed", revealed=share)
        np.testing.assert_array_equal(line.regret, runs.regret)


@pytest.mark.parametrize("setting", BOTH)
def test_coverage_equals_bandits_driven_by_hand(small: Experiment, outcome: Outcome, setting: Setting) -> None:
    """The distance under P is that of the weighted least squares with the weights of the last renewal."""
    theta, rounds = np.repeat([1.0, 1.0, -2.0], 5), [n for n in ROUNDS if n <= STEPS]
    line = Tuning(outcome).default(setting)
    assert line.distance is not None
    assert line.distance.shape == (TRIALS, len(rounds))
    for i in (0, TRIALS - 1):
        trial = small.env.start(np.random.default_rng(np.random.SeedSequence(0, spawn_key=(i, 0))))
        bandit = oc.Bandit(trial.actions, oc.LinearModel(oc.features.Quadratic()), oc.UCB())
        choices: list[int] = []
        for t in range(1, STEPS + 1):
            now = trial.step(np.array(choices, dtype=np.intp))
            decision = bandit.decide(now.belief)
            choices.append(decision.index)
            context = now.context if setting == "observed" else None
            bandit.learn(decision, now.reward(decision.index), context=context)
            if t in rounds:
                learner = bandit._learner
                assert isinstance(learner, oc.models.learners.LinearLearner)
                error = learner.theta - theta
                square = error @ np.linalg.solve(learner.fit.inverse, error)
                assert line.distance[i, rounds.index(t)] ** 2 == pytest.approx(square, rel=1e-5)
    for count in Tuning(outcome).coverage():
        if count.setting == setting:
            limit = scipy.stats.chi2(15).ppf(count.level)
            inside = line.distance[:, rounds.index(count.round)] ** 2 <= limit
            assert count.share == pytest.approx(inside.mean())
            assert count.low <= count.share <= count.high


def make(finals: dict[str, list[float]]) -> Tuning:
    """A default and two betas, hidden, with these final regrets."""

    def line(beta: float | None, values: Array) -> Line:
        curve = Curve("hidden", None, DEFAULT if beta is None else "", policy=oc.UCB() if beta is None else None)
        return Line(curve, beta, values[:, None], np.abs(values)[:, None])

    betas = {"default": None, "one": 1.0, "two": 2.0}
    lines = tuple(line(betas[name], np.array(values)) for name, values in finals.items())
    return Tuning(Outcome(synthetic(), lines, 0.0, 0.0))


def test_a_ratio_is_of_means_beside_the_best_beta_with_the_error_of_paired_trials() -> None:
    ratio = make({"default": [8.0, 10.0, 13.0], "one": [30.0] * 3, "two": [9.0, 11.0, 10.0]}).ratio("hidden", "regret")
    assert ratio.best.beta == 2.0
    assert ratio.value == pytest.approx(31 / 30)
    rest = np.array([8.0, 10.0, 13.0]) - 31 / 30 * np.array([9.0, 11.0, 10.0])
    assert ratio.two_se == pytest.approx(2 * rest.std(ddof=1) / np.sqrt(3) / 10)
    np.testing.assert_allclose(ratio.below(1.1), 1.1 * np.array([9.0, 11.0, 10.0]) - np.array([8.0, 10.0, 13.0]))


@pytest.mark.parametrize("best", [[-3.0, -4.0, -5.0], [4.0, -3.0, 1.0]], ids=["below zero", "about zero"])
def test_a_ratio_to_a_regret_that_is_not_above_zero_has_no_meaning(best: list[float]) -> None:
    tuning = make({"default": [8.0, 10.0, 13.0], "one": best, "two": [9.0, 11.0, 10.0]})
    ratio = tuning.ratio("hidden", "regret")
    assert (ratio.value, ratio.two_se, ratio.text) == (None, None, "–")
    assert ratio.summary()["ratio"] is None


def test_one_trial_has_a_ratio_without_an_error() -> None:
    ratio = make({"default": [8.0], "one": [4.0]}).ratio("hidden", "regret")
    assert (ratio.value, ratio.two_se, ratio.text) == (2.0, None, "2.00")


def test_the_summary_has_every_beta_and_what_was_found(outcome: Outcome, folder: Path) -> None:
    summary = read_summary(folder)
    assert summary["experiment"] == "untuned"
    (problem,) = summary["experiments"]
    assert (problem["experiment"], problem["trials"], problem["steps"]) == ("synthetic", TRIALS, STEPS)
    variants = problem["variants"]
    assert len(variants) == 2 * len(GRID) + 2 + len(SHARES)
    default = next(v for v in variants if v.get("name") == DEFAULT and v["setting"] == "hidden")
    assert (default["beta"], default["policy"]) == (None, "UCB(beta=None)")
    assert default["model"] == "LinearModel(features=Quadratic())"
    assert default["regret"]["mean"] == pytest.approx(Tuning(outcome).default("hidden").regret[:, -1].mean())
    assert [v["revealed"] for v in variants if "revealed" in v] == list(SHARES)
    assert [(r["setting"], r["measure"]) for r in problem["ratios"] if r["judged"]] == [
        ("hidden", "regret"),
        ("observed", "regret"),
    ]
    assert len(problem["coverage"]) == 2 * 2
    assert [claim["shown"] in ("yes", "in part", "open", "no") for claim in summary["claims"]] == [True] * 3


def test_the_files_of_a_comparison(outcome: Outcome, folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == FILES
    curves = pq.read_table(folder / "curves.parquet").to_pandas()
    last = curves[(curves.step == STEPS) & (curves.name == DEFAULT) & (curves.setting == "hidden")]
    np.testing.assert_array_equal(last.regret.to_numpy(), Tuning(outcome).default("hidden").regret[:, -1])
    assert set(curves.experiment) == {"synthetic"}
    page = (folder / "report.html").read_text().replace("\u00a0", " ")
    for table in Untuned().tables([outcome]):
        assert html.escape(table.title, quote=True) in page.replace("&#39;", "&#x27;")
        for row in table.rows:
            assert "".join(f"<td>{cell}</td>" for cell in row) in page


def test_a_second_run_computes_nothing_and_finds_the_same(
    small: Experiment, outcome: Outcome, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(block: object) -> None:
        raise AssertionError("a part is computed again")

    monkeypatch.setattr(parts_module, "compute", refuse)
    again = run(small, folder, None, lambda: None)
    assert Untuned().tables([again]) == Untuned().tables([outcome])


def test_the_figure_has_a_panel_for_each_thing(outcome: Outcome) -> None:
    titles = [ax.get_title() for ax in Untuned().draw([outcome]).axes]
    assert len(titles) == 4
    assert "mixed feedback" in titles[2]
    assert "coverage" in titles[3]


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
    judged = [[ratio["measure"] for ratio in p["ratios"] if ratio["judged"]] for p in summary["experiments"]]
    assert judged == [["regret"] * 2, ["regret"] * 2, ["expected_regret"] * 2]
    assert len(summary["claims"]) == 5
    assert "paper, β = 3" in text
    assert "The forecasts are not calibrated here" in text
    assert not (tmp_path / "synthetic").exists()


def test_one_trial_is_drawn_and_not_judged(small: Experiment, tmp_path: Path) -> None:
    single = run(replace(small, trials=1, steps=3), tmp_path, None, lambda: None)
    assert Untuned().verdicts([single]) == []
    assert "±" not in "".join(cell for table in Untuned().tables([single]) for row in table.rows for cell in row)
    assert len(Untuned().draw([single]).axes) == 3  # no round is watched so early
