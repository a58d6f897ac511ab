"""Default and grid on one problem: ratios, mixed feedback and coverage."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from experiment_support import line_of
from overcast._check import Array
from overcast.experiments.comparisons.comparison import GRID
from overcast.experiments.comparisons.tuning import DEFAULT, Tuning
from overcast.experiments.comparisons.untuned import ROUNDS, SHARES, Untuned
from overcast.experiments.engine.experiment import Curve, Experiment
from overcast.experiments.engine.outcome import Line, Outcome
from overcast.experiments.figures.problems import synthetic
from overcast.simulation import Setting

BOTH: tuple[Setting, Setting] = ("hidden", "observed")

TRIALS, STEPS = 27, 40


@pytest.mark.parametrize("setting", BOTH)
def test_every_line_equals_a_plain_simulation(untuned: Experiment, untuned_outcome: Outcome, setting: Setting) -> None:
    tuning, features = Tuning(untuned_outcome), oc.features.Quadratic()
    default = oc.simulate(untuned.env, oc.LinearModel(features), oc.UCB(), None, STEPS, TRIALS, setting)
    np.testing.assert_array_equal(tuning.default(setting).regret, default.regret)
    assert [line.beta for line in tuning.grid(setting)] == list(GRID)
    for line in tuning.grid(setting):
        assert line.beta is not None
        paper = oc.LinearModel(features, ridge=1.0)
        runs = oc.simulate(untuned.env, paper, oc.UCB(line.beta), None, STEPS, TRIALS, setting)
        np.testing.assert_array_equal(line.expected_regret, runs.expected_regret)


def test_mixed_feedback_equals_a_plain_simulation_from_none_to_all(
    untuned: Experiment, untuned_outcome: Outcome
) -> None:
    lines = Tuning(untuned_outcome).mixed()
    model = oc.LinearModel(oc.features.Quadratic())
    for line, share in zip(lines, (0.0, *SHARES, 1.0), strict=True):
        runs = oc.simulate(untuned.env, model, oc.UCB(), None, STEPS, TRIALS, "observed", revealed=share)
        np.testing.assert_array_equal(line.regret, runs.regret)


@pytest.mark.parametrize("setting", BOTH)
def test_coverage_equals_bandits_driven_by_hand(
    untuned: Experiment, untuned_outcome: Outcome, setting: Setting
) -> None:
    """The distance under P is that of the weighted least squares with the weights of the last renewal."""
    theta, rounds = np.repeat([1.0, 1.0, -2.0], 5), [n for n in ROUNDS if n <= STEPS]
    line = Tuning(untuned_outcome).default(setting)
    assert line.distance is not None
    assert line.distance.shape == (TRIALS, len(rounds))
    for i in (0, TRIALS - 1):
        trial = untuned.env.start(np.random.default_rng(np.random.SeedSequence(0, spawn_key=(i, 0))))
        bandit = oc.Bandit(trial.actions, oc.LinearModel(oc.features.Quadratic()), oc.UCB())
        choices: list[int] = []
        for t in range(1, STEPS + 1):
            now = trial.step(np.array(choices, dtype=np.intp))
            decision = bandit.decide(now.belief)
            choices.append(decision.index)
            context = now.context if setting == "observed" else None
            bandit.learn(decision, now.reward(decision.index), context=context)
            if t in rounds:
                learner = bandit.state.learner
                assert isinstance(learner, oc.models.linear.LinearLearner)
                matrix = learner.design.coefficients(learner.fit.frame)
                assert matrix is not None
                error = np.linalg.solve(matrix.T, learner.theta - theta)  # over standard features
                square = error @ np.linalg.solve(learner.fit.inverse, error)
                assert line.distance[i, rounds.index(t)] ** 2 == pytest.approx(square, rel=1e-5)
    for count in Tuning(untuned_outcome).coverage():
        if count.setting == setting:
            limit = scipy.stats.chi2(15).ppf(count.level)
            inside = line.distance[:, rounds.index(count.round)] ** 2 <= limit
            assert count.share == pytest.approx(inside.mean())
            assert count.low <= count.share <= count.high


def make(finals: dict[str, list[float]]) -> Tuning:
    """A default and two betas, hidden, with these final regrets."""

    def line(beta: float | None, values: Array) -> Line:
        curve = Curve("hidden", None, DEFAULT if beta is None else "", policy=oc.UCB() if beta is None else None)
        return line_of(curve, beta, values[:, None], np.abs(values)[:, None])

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


def test_the_figure_has_a_panel_for_each_thing(untuned_outcome: Outcome) -> None:
    titles = [ax.get_title() for ax in Untuned().draw([untuned_outcome]).axes]
    assert len(titles) == 4
    assert "mixed feedback" in titles[2]
    assert "coverage" in titles[3]
