"""A bandit that corrects forecasts by the contexts that were revealed."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from life_support import closed_log
from overcast._check import Array
from support import refused

ACTIONS = {"low": [1.0, 0.0], "high": [0.0, 1.0]}


def make(recalibrate: Any = True, **options: Any) -> oc.Bandit:
    model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)
    return oc.Bandit(ACTIONS, model, oc.UCB(1.0), recalibrate=recalibrate, **options)


def forecast(m: float) -> oc.Ensemble:
    """Return a forecast of a constant and a temperature."""
    return oc.Ensemble([[1.0, m - 0.2], [1.0, m], [1.0, m + 0.3]])


def weather(days: int, seed: int = 0) -> tuple[Array, Array]:
    """Return means of forecasts (days,) and contexts (days, 2) about four higher."""
    rng = np.random.default_rng(seed)
    means = rng.normal(0.0, 3.0, days)
    return means, np.stack([np.ones(days), rng.normal(means + 4.0, 1.5)], axis=1)


def reward(index: int, context: Array) -> float:
    return float(context[1] if index else -context[1])


def live(bandit: oc.Bandit, days: int = 40, seed: int = 0) -> oc.Bandit:
    for m, context in zip(*weather(days, seed), strict=True):
        decision = bandit.decide(forecast(m))
        bandit.learn(decision, reward(decision.index, context), context=context)
    return bandit


def same(one: oc.Bandit, other: oc.Bandit) -> None:
    for m in (-6.0, -2.0, 3.0):
        mine, theirs = one.estimate(forecast(m)), other.estimate(forecast(m))
        np.testing.assert_array_equal(mine.mean, theirs.mean)
        np.testing.assert_array_equal(mine.width, theirs.width)


def test_it_decides_as_a_plain_bandit_that_is_handed_corrected_forecasts() -> None:
    bandit, plain, fixed = make(), make(False), oc.Recalibrated()
    for m, context in zip(*weather(60), strict=True):
        ours, theirs = bandit.decide(forecast(m)), plain.decide(fixed(forecast(m)))
        assert (ours.index, ours.mean, ours.width) == (theirs.index, theirs.mean, theirs.width)
        bandit.learn(ours, reward(ours.index, context), context=context)
        plain.learn(theirs, reward(theirs.index, context), context=context)
        fixed.learn(forecast(m), context)
    np.testing.assert_array_equal(bandit.estimate(forecast(1.0)).mean, plain.estimate(fixed(forecast(1.0))).mean)
    assert bandit.recalibrated is not None
    assert repr(bandit.recalibrated) == repr(fixed)
    assert repr(fixed) in repr(bandit)
    assert plain.recalibrated is None


def test_forecasts_that_are_too_low_lead_to_the_right_action() -> None:
    """A forecast of -2 means +2 here."""
    assert live(make(), 100).decide(forecast(-2.0)).action == "high"
    assert live(make(False), 100).decide(forecast(-2.0)).action == "low"


def test_hidden_rounds_teach_the_correction_nothing() -> None:
    bandit = make()
    for m in range(10):
        bandit.learn(bandit.decide(forecast(float(m))), 1.0)
    assert bandit.recalibrated is not None
    assert bandit.recalibrated.outcomes == 0


def test_late_rewards_teach_with_the_forecast_of_their_day() -> None:
    means, contexts = weather(30)
    bandit, fixed = make(), oc.Recalibrated()
    decisions = [bandit.decide(forecast(m)) for m in means]
    for i in np.random.default_rng(1).permutation(30):
        bandit.learn(decisions[i].id, 0.0, context=contexts[i])
        fixed.learn(forecast(means[i]), contexts[i])
    assert repr(bandit.recalibrated) == repr(fixed)


def test_failed_calls_change_nothing() -> None:
    bandit = live(make(), 5)
    decision = bandit.decide(forecast(1.0))
    before = repr(bandit)
    for wrong in ([1.0], [1.0, np.nan], oc.PointMass([1.0])):
        with refused(ValueError, "Bandit"):
            bandit.learn(decision, 1.0, context=wrong)
    with refused(ValueError, "Bandit", "reward"):
        bandit.learn(decision, np.inf, context=[1.0, 2.0])
    with refused(ValueError, "Bandit", "dimension"):
        bandit.decide([1.0, 2.0, 3.0])
    assert repr(bandit) == before
    bandit.learn(decision, 1.0, context=[1.0, 2.0])


def test_a_taught_correction_is_taken_over_as_a_copy() -> None:
    fixed = oc.Recalibrated(memory=60)
    for m, context in zip(*weather(60), strict=True):
        fixed.learn(forecast(m), context)
    before = repr(fixed)
    bandit = make(fixed)
    assert repr(bandit.recalibrated) == before
    live(bandit, 5)
    assert repr(fixed) == before
    with refused(TypeError, "Bandit", "recalibrate must be True, False or a Recalibrated", "'yes'"):
        make("yes")


@pytest.mark.parametrize("samples", [None, 5])
def test_saved_and_loaded_it_goes_on_the_same(tmp_path: Path, samples: int | None) -> None:
    bandit = live(make(samples=samples), 25)
    waiting = [bandit.decide(forecast(m)) for m in (0.5, 2.5)]
    bandit.save(tmp_path / "bandit")
    loaded = oc.Bandit.load(tmp_path / "bandit")
    assert repr(loaded) == repr(bandit)
    for ticket in (waiting[1].id, waiting[0].id):
        for one in (bandit, loaded):
            one.learn(ticket, 0.5, context=[1.0, 3.0])
        same(bandit, loaded)
    live(bandit, 10, seed=2)
    live(loaded, 10, seed=2)
    same(bandit, loaded)


def test_it_can_be_saved_before_the_first_decision(tmp_path: Path) -> None:
    make().save(tmp_path / "fresh")
    same(live(oc.Bandit.load(tmp_path / "fresh"), 10), live(make(), 10))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    live(make(), 10).save(tmp_path / "bandit")
    with np.load(tmp_path / "bandit") as file:
        arrays = dict(file)
    other = oc.Recalibrated()
    other.learn(oc.Gaussian([1.0], 1.0), [2.0])
    for wrong in (
        {"rows": np.zeros((3, 3))},
        {"new": np.zeros(1)},
        {"begun": np.ones(2, dtype=np.int64)},
        {"weights": np.zeros((1, 12, 5))},
        {"lengths": np.array([3, 4])},
        {"corrections": np.zeros((2, 2))},
        other.state(),
    ):
        with open(tmp_path / "broken", "wb") as target:
            np.savez(target, **arrays | {f"recalibrate.{name}": value for name, value in wrong.items()})
        with refused(ValueError, "Bandit", "it is damaged"):
            oc.Bandit.load(tmp_path / "broken")


def test_copies_and_pickles_go_on_the_same_and_apart() -> None:
    bandit = live(make(), 20)
    for twin in (copy.copy(bandit), copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))):
        same(bandit, twin)
        before = repr(bandit.recalibrated)
        live(twin, 5, seed=3)
        assert repr(bandit.recalibrated) == before


def test_forgotten_decisions_leave_nothing_behind() -> None:
    bandit = make()
    bandit.forget(bandit.decide(forecast(1.0)))
    bandit.learn(bandit.decide(forecast(1.0)), 1.0)
    assert not bandit.state.pending.open


def test_merged_bandits_have_the_outcomes_of_both() -> None:
    one, other = live(make(), 30, seed=1), live(make(), 20, seed=2)
    one.merge(other)
    assert one.recalibrated is not None
    assert one.recalibrated.outcomes == 50
    assert one.recalibrated.bias[1] == pytest.approx(4.0, abs=1.2)
    fresh = make()
    fresh.merge(one)
    assert repr(fresh.recalibrated) == repr(one.recalibrated)


@pytest.mark.parametrize("theirs", [False, oc.Recalibrated(memory=9)])
def test_bandits_that_correct_otherwise_are_not_merged(theirs: Any) -> None:
    bandit, other = live(make(), 5), live(make(theirs), 5)
    before = repr(bandit)
    with refused(ValueError, "Bandit", "merge needs two bandits that recalibrate alike"):
        bandit.merge(other)
    assert repr(bandit) == before


def test_fitted_hyperparameters_leave_the_correction_alone() -> None:
    kernel = oc.kernels.Product(oc.kernels.RBF(1.0), oc.kernels.RBF(1.0))
    bandit = oc.Bandit([[0.0], [1.0]], oc.KernelModel(kernel, ridge=1.0), oc.UCB(1.0), recalibrate=True)
    for m, context in zip(*weather(15), strict=True):
        decision = bandit.decide(oc.Gaussian([m], 0.1))
        bandit.learn(decision, reward(decision.index, context), context=context[1:])
    waiting = bandit.decide(oc.Gaussian([1.0], 0.1))
    before = repr(bandit.recalibrated)
    bandit.fit_hyperparameters()
    assert repr(bandit.recalibrated) == before
    bandit.learn(waiting, 1.0, context=[2.0])
    assert bandit.recalibrated is not None
    assert bandit.recalibrated.outcomes == 16


@pytest.mark.parametrize(
    "recalibrate", [True, oc.Recalibrated(bounds=[(None, None), (-20.0, None)]), oc.Recalibrated(40)]
)
def test_a_life_is_replayed_to_the_last_bit_while_the_memory_is_learnt(tmp_path: Path, recalibrate: Any) -> None:
    """Past the first twenty outcomes; records hold the points of corrected ensembles."""
    model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)
    given = oc.events.config(ACTIONS, model, oc.UCB(1.0), recalibrate=recalibrate)
    bandit, life = oc.replay(given, []), []
    for m, context in zip(*weather(40), strict=True):
        decision = bandit.decide(forecast(m))
        life.append(oc.events.decided(decision))
        bandit.learn(decision, reward(decision.index, context), context=context)
        life.append(oc.events.learnt(decision, reward(decision.index, context), context))
    assert decision.move is not None
    assert (decision.move.points is None) == (given["recalibrate"] == 40)
    again = oc.replay(json.loads(json.dumps(given)), json.loads(json.dumps(closed_log(given, *life)[1:])))
    same(bandit, again)
    bandit.save(tmp_path / "bandit")
    loaded = oc.Bandit.load(tmp_path / "bandit")
    for other in (again, loaded):
        assert other.recalibrated is not None
        assert bandit.recalibrated is not None
        assert other.recalibrated.config() == bandit.recalibrated.config()
        for name, array in bandit.recalibrated.state().items():
            np.testing.assert_array_equal(other.recalibrated.state()[name], array)


def test_contexts_beyond_the_bounds_are_refused_and_change_nothing() -> None:
    bandit = live(make(oc.Recalibrated(bounds=[(None, None), (-20.0, None)])), 25)
    decision = bandit.decide(forecast(1.0))
    before = repr(bandit)
    with refused(
        ValueError, "Recalibrated", "context must lie within the bounds (-20.0, None), got -30.0 in dimension 1"
    ):
        bandit.learn(decision, 1.0, context=[1.0, -30.0])
    assert repr(bandit) == before
    with refused(ValueError, "Recalibrated", "belief must have dimension 3 like bounds, got 2"):
        make(oc.Recalibrated(bounds=[(0, None)] * 3)).decide(forecast(1.0))
