from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast.confidence import Expected, Observed, Sampled
from overcast.environments import Adversarial, CoinFlip, CropTrials, Synthetic
from overcast.environments.crop_trials import BeliefKind
from overcast.policies import Policy
from overcast.simulation.record import two_standard_errors


@pytest.fixture(scope="module")
def runs() -> oc.Runs:
    env = Adversarial(k=4, dim=2)
    return oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), oc.UCB(Expected(0.1, 0.1)), steps=12, trials=9)


def test_summary_equals_numpy(runs: oc.Runs) -> None:
    summary = runs.summary()
    for name, curve in (("regret", runs.regret), ("expected_regret", runs.expected_regret)):
        last = [float(row[-1]) for row in curve]
        mean = math.fsum(last) / 9
        error = math.sqrt(math.fsum((value - mean) ** 2 for value in last) / 8 / 9)
        assert summary[name]["mean"] == pytest.approx(mean, rel=1e-12)
        assert summary[name]["two_se"] == pytest.approx(2 * error, rel=1e-12)
    assert (summary["setting"], summary["samples"]) == ("hidden", None)
    assert summary["beta"] == "Expected(delta=0.1, noise=0.1, norm=1.0, reward_range=None)"
    assert json.loads(json.dumps(summary)) == summary


def test_summary_of_a_number_and_of_one_trial() -> None:
    env = CoinFlip()
    one = oc.simulate(
        env, oc.LinearModel(env.features, ridge=1.0), oc.UCB(2), samples="t", steps=5, trials=1, setting="observed"
    )
    summary = one.summary()
    assert summary["beta"] == 2.0
    assert summary["samples"] == "t"
    assert summary["regret"] == {"mean": one.regret[0, -1], "two_se": None}
    assert json.loads(json.dumps(summary)) == summary


@pytest.mark.parametrize("policy", [oc.UCB(), oc.Greedy()])
def test_summary_has_no_beta_where_the_policy_has_none(policy: Policy) -> None:
    env = CoinFlip()
    summary = oc.simulate(env, oc.LinearModel(env.features), policy, steps=3, trials=2).summary()
    assert summary["beta"] is None
    assert json.loads(json.dumps(summary)) == summary


@pytest.fixture
def pyplot() -> Iterator[Any]:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def test_plot_draws_a_line_and_a_band(runs: oc.Runs, pyplot: Any) -> None:
    ax = runs.plot()
    assert isinstance(ax, pyplot.Axes)
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 13))
    np.testing.assert_allclose(np.asarray(line.get_ydata(), dtype=float), runs.regret.mean(axis=0))
    assert line.get_label() == "hidden"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("steps", "cumulative regret")
    (band,) = ax.collections
    (path,) = band.get_paths()
    low = runs.regret.mean(axis=0) - two_standard_errors(runs.regret)
    high = runs.regret.mean(axis=0) + two_standard_errors(runs.regret)
    corners = np.asarray(path.vertices)
    assert corners[:, 1].min() == pytest.approx(low.min())
    assert corners[:, 1].max() == pytest.approx(high.max())


def test_plot_into_given_axes_with_options(runs: oc.Runs, pyplot: Any) -> None:
    _, ax = pyplot.subplots()
    assert runs.plot(ax, label="mine", color="black") is ax
    assert runs.plot(ax, linestyle="--") is ax
    first, second = ax.get_lines()
    assert (first.get_label(), first.get_color()) == ("mine", "black")
    assert (second.get_label(), second.get_linestyle()) == ("hidden", "--")
    assert len(ax.collections) == 2


def test_runs_say_what_they_are() -> None:
    runs = oc.simulate(
        CoinFlip(), oc.LinearModel(CoinFlip().features, ridge=1.0), oc.UCB(1.0), samples=2, steps=4, trials=3
    )
    assert repr(runs) == "Runs(3 trials, 4 steps, hidden, samples=2, UCB(beta=1.0))"


def simulated(policy: oc.UCB, ridge: float = 1.0, **options: Any) -> oc.Runs:
    env = Adversarial(k=3, dim=2)
    return oc.simulate(env, oc.LinearModel(env.features, ridge), policy, steps=4, trials=2, **options)


@pytest.mark.parametrize(
    ("confidence", "options"),
    [
        (Expected(), {"setting": "hidden"}),
        (Sampled(), {"setting": "hidden", "samples": "t"}),
        (Observed(), {"setting": "observed"}),
    ],
)
def test_bound_where_the_assumptions_hold(confidence: Any, options: dict[str, Any]) -> None:
    for ridge in (1.0, 2.5):
        bound = simulated(oc.UCB(confidence), ridge, **options).bound
        assert bound.shape == (2, 4)
        assert (np.diff(bound, axis=1) > 0).all()


@pytest.mark.parametrize(
    ("confidence", "options", "message"),
    [
        (Expected(), {"setting": "observed"}, "bound of Expected needs setting 'hidden', got 'observed'"),
        (Expected(), {"setting": "exact"}, "bound of Expected needs setting 'hidden', got 'exact'"),
        (Expected(), {"samples": 5}, "bound of Expected needs samples=None, got 5"),
        (Sampled(), {"samples": None}, "bound of Sampled needs samples='t', got None"),
        (Sampled(), {"samples": 10}, "bound of Sampled needs samples='t', got 10"),
        (Observed(), {"setting": "hidden"}, "bound of Observed needs setting 'observed', got 'hidden'"),
        (Observed(), {"setting": "observed", "samples": 3}, "bound of Observed needs samples=None, got 3"),
        (Expected(), {"delay": 2}, "bound needs every reward before the next decision, got a delay of 2"),
        (Expected(), {"ridge": 0.5}, "bound needs ridge >= 1, got 0.5"),
    ],
)
def test_bound_names_the_assumption_that_fails(confidence: Any, options: dict[str, Any], message: str) -> None:
    runs = simulated(oc.UCB(confidence), **options)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        _ = runs.bound
    assert str(caught.value) == f"Runs: {message}"


@pytest.mark.parametrize("policy", [oc.UCB(1.0), oc.UCB(lambda t: 1.0 + t)])
def test_bound_needs_the_papers_beta(policy: oc.UCB) -> None:
    with pytest.raises(ValueError, match=r"^Runs: bound needs a policy with the paper's beta_t \(oc.confidence\), got"):
        _ = simulated(policy).bound


def test_bound_needs_the_norm_of_theta() -> None:
    """CoinFlip's parameter is (0, 1, 1, 0)."""
    env = CoinFlip()
    model = oc.LinearModel(env.features, ridge=1.0)
    runs = oc.simulate(env, model, oc.UCB(Expected()), steps=4, trials=2)
    with pytest.raises(ValueError, match=r"^Runs: bound needs norm >= 1\.41, theta's own, got 1\.0$"):
        _ = runs.bound
    runs = oc.simulate(env, model, oc.UCB(Expected(norm=1.5)), steps=4, trials=2)
    assert (runs.bound > runs.regret).all()


def test_bound_needs_features_in_the_unit_ball() -> None:
    env = Synthetic(k=3, dim=2)
    runs = oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), oc.UCB(Expected()), steps=4, trials=2)
    assert runs.feature_norm is not None
    assert runs.feature_norm.max() > 1.0
    with pytest.raises(ValueError, match=r"^Runs: bound needs features of norm <= 1, got \d") as caught:
        _ = runs.bound
    assert "\n" not in str(caught.value)


def test_bound_needs_the_noise_and_the_range_that_are_there() -> None:
    env = Adversarial(noise=0.5)
    model = oc.LinearModel(env.features, ridge=1.0)
    runs = oc.simulate(env, model, oc.UCB(Expected(noise=0.1)), steps=4, trials=2)
    with pytest.raises(ValueError, match=r"^Runs: bound needs noise >= 0\.5, the environment's own, got 0\.1$"):
        _ = runs.bound
    runs = oc.simulate(env, model, oc.UCB(Expected(noise=0.5, reward_range=0.01)), steps=4, trials=2)
    with pytest.raises(ValueError, match=r"^Runs: bound needs reward_range >= \d\.\d+, as seen, got 0\.01$"):
        _ = runs.bound


def test_bound_needs_a_reward_that_is_linear_in_the_features() -> None:
    runs = oc.simulate(
        Adversarial(), oc.LinearModel(oc.features.Linear(), ridge=1.0), oc.UCB(Expected()), steps=4, trials=2
    )
    assert runs.covered is None
    with pytest.raises(ValueError, match=r"^Runs: bound needs rewards in the span of the model's features or kernel"):
        _ = runs.bound


@pytest.mark.parametrize(("belief", "holds"), [("forecast", False), ("centred", True)])
def test_a_bound_needs_contexts_that_are_drawn_from_the_beliefs(belief: BeliefKind, holds: bool) -> None:
    rng = np.random.default_rng(0)
    small = 0.1 * rng.standard_normal((6, 2)), 0.1 * rng.standard_normal((5, 2))
    env = CropTrials(small[0], small[1], np.eye(2), [0] * 5, [-0.1, 0.1], belief)
    policy = oc.UCB(Expected(noise=0.1, norm=2.0))
    runs = oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), policy, steps=5, trials=2)
    assert runs.calibrated == holds
    if holds:
        assert runs.bound.shape == (2, 5)
    else:
        with pytest.raises(ValueError, match=r"^Runs: bound needs contexts drawn from the beliefs"):
            _ = runs.bound
