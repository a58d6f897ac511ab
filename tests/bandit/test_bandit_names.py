"""Dimensions of the context have names: a bandit puts them in order, in decisions, rewards, files and records."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import overcast as oc
from life_support import closed_log
from support import refused

MODELS = [
    oc.LinearModel(oc.features.Disjoint(2), ridge=1.0),
    oc.LinearModel(oc.features.Bilinear()),
    oc.KernelModel(oc.kernels.Product(oc.kernels.RBF(1.0), oc.kernels.RBF(2.0)), ridge=1.0),
]
GIVEN = pytest.mark.parametrize("model", MODELS, ids=["disjoint", "bilinear", "kernel"])


def made(model: Any = MODELS[0], **options: Any) -> oc.Bandit:
    return oc.Bandit(["a", "b"], model, oc.UCB(1.0), **options)


def forecast(warm: float, wet: float) -> oc.Belief:
    return oc.Gaussian([warm, wet], [[4.0, 0.2], [0.2, 0.1]]).named(["warm", "wet"])


@GIVEN
@pytest.mark.parametrize("options", [{}, {"recalibrate": True}, {"samples": 5}])
def test_another_order_makes_no_difference(model: Any, options: dict[str, Any]) -> None:
    """Dimensions in any order give the same estimates, up to rounding, as one order throughout."""
    one, other, rng = made(model, **options), made(model, **options), np.random.default_rng(0)
    for t in range(12):
        warm, wet = float(rng.normal()), float(rng.normal())
        belief = forecast(warm, wet)
        first = one.decide(belief)
        second = other.decide(belief.select(["wet", "warm"]) if t % 2 else belief)
        assert first.action == second.action
        assert second.belief.names == ("warm", "wet")
        known = {"warm": warm + 0.1, "wet": wet - 0.1}
        one.learn(first, warm * first.index, context=[*known.values()] if t % 3 else None)
        backwards = pd.Series(known)[["wet", "warm"]] if t % 2 else dict(reversed(known.items()))
        other.learn(second, warm * second.index, context=backwards if t % 3 else None)
    for a, b in zip(one.estimate(forecast(0.3, 0.4)), other.estimate(forecast(0.3, 0.4)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_names_come_from_the_first_that_has_some() -> None:
    bandit = made()
    bandit.decide([1.0, 2.0])
    assert bandit.context is None
    bandit.estimate(forecast(1.0, 2.0))
    assert bandit.context is None
    bandit.decide(forecast(1.0, 2.0))
    assert bandit.context == ("warm", "wet")
    learning, observing = made(), made()
    learning.learn(learning.decide([1.0, 2.0]), 1.0, context={"warm": 1.0, "wet": 2.0})
    observing.observe("a", [1.0, 2.0], 1.0, context={"warm": 1.0, "wet": 2.0})
    assert learning.context == observing.context == ("warm", "wet")


def test_what_lacks_a_dimension_is_refused_and_others_are_left_out() -> None:
    bandit = made(context=["warm", "wet"])
    with refused(ValueError, "Bandit", "belief must have the dimensions warm, wet", "without 'wet'"):
        bandit.decide({"warm": 21.0, "windy": 3.0})
    with refused(ValueError, "Bandit", "belief must have dimension 2, got 3"):
        bandit.decide([1.0, 2.0, 3.0])
    decision = bandit.decide({"windy": 3.0, "wet": 0.4, "warm": 21.0})
    assert decision.belief.mean().tolist() == [21.0, 0.4]
    with refused(ValueError, "Bandit", "context must have the dimensions warm, wet", "without 'wet'"):
        bandit.learn(decision, 1.0, context={"warm": 21.0})
    with refused(ValueError, "Bandit", "context must have dimension 2, got 1"):
        bandit.learn(decision, 1.0, context=oc.PointMass([1.0]))
    bandit.learn(decision, 1.0, context=[20.0, 0.3])
    with refused(ValueError, "Bandit", "context must differ from each other, got 'warm' twice"):
        made(context=["warm", "warm"])


@GIVEN
def test_rounds_of_others_are_put_in_order(model: Any) -> None:
    rng = np.random.default_rng(1)
    points, seen, rewards = rng.normal(size=(8, 2)), rng.normal(size=(8, 2)), rng.normal(size=8)
    actions = ["a", "b"] * 4
    plain, table, one = made(model), made(model), made(model, context=["warm", "wet"])
    plain.observe(actions, points, rewards, context=seen)
    frame, back = (
        pd.DataFrame(points, columns=["warm", "wet"]),
        pd.DataFrame(seen, columns=["warm", "wet"])[["wet", "warm"]],
    )
    table.observe(actions, frame, rewards, context=back)
    for i in range(8):
        one.observe(actions[i], frame.iloc[i][["wet", "warm"]], float(rewards[i]), context=back.iloc[i])
    assert table.context == ("warm", "wet")
    for bandit in (table, one):
        for a, b in zip(plain.estimate([0.3, 0.4]), bandit.estimate([0.3, 0.4]), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    with refused(ValueError, "Bandit", "belief must have the dimensions warm, wet", "without 'warm'"):
        table.observe(actions, frame[["wet"]], rewards)
    dicts = [None, *(row.to_dict() for _, row in back.iloc[1:].iterrows())]
    table.observe(actions, [forecast(*point).select(["wet", "warm"]) for point in points], rewards, context=dicts)
    assert table.learnt.rounds == 16


def test_files_and_copies_keep_the_names(tmp_path: Path) -> None:
    bandit = made()
    bandit.learn(bandit.decide(forecast(1.0, 2.0)), 1.0)
    bandit.save(tmp_path / "bandit.npz")
    again = oc.Bandit.load(tmp_path / "bandit.npz")
    assert again.context == copy.deepcopy(bandit).context == ("warm", "wet")
    assert again.decide({"wet": 2.0, "warm": 1.0}).belief.mean().tolist() == [1.0, 2.0]
    made(context=["warm", "wet"]).save(tmp_path / "fresh.npz")
    assert oc.Bandit.load(tmp_path / "fresh.npz").context == ("warm", "wet")


def test_merging_asks_for_the_same_names() -> None:
    one, other, plain, back = made(), made(), made(), made()
    for bandit, belief in ((one, forecast(1.0, 2.0)), (other, forecast(3.0, 4.0)), (plain, oc.PointMass([1.0, 2.0]))):
        bandit.learn(bandit.decide(belief), 1.0)
    back.learn(back.decide(forecast(1.0, 2.0).select(["wet", "warm"])), 1.0)
    one.merge(other)
    plain.merge(one)
    assert plain.context == ("warm", "wet")
    with refused(ValueError, "Bandit", "merge needs contexts with the same names in the same order", "wet"):
        one.merge(back)


@GIVEN
def test_a_life_with_names_is_replayed_to_the_last_bit(model: Any) -> None:
    rng = np.random.default_rng(2)
    given = oc.events.config(["a", "b"], model, oc.UCB(1.0), context=["warm", "wet"])
    bandit, happened = made(model, context=["warm", "wet"]), []
    for t in range(8):
        point = rng.normal(size=2)
        belief = forecast(*point)
        decision = bandit.decide(belief.select(["wet", "warm"]) if t % 2 else belief)
        happened.append(oc.events.decided(decision))
        known = pd.Series({"wet": point[1], "warm": point[0]}) if t % 3 else None
        bandit.learn(decision, float(point[0]), context=known)
        happened.append(oc.events.learnt(decision, float(point[0]), context=known))
    frame = pd.DataFrame(rng.normal(size=(5, 2)), columns=["wet", "warm"])
    for many in (
        (["a"] * 5, frame, np.arange(5.0), frame),
        ("b", {"wet": 1.0, "warm": 2.0}, 1.0, {"wet": 1.0, "warm": 2.0}),
    ):
        bandit.observe(*many)
        happened.append(oc.events.observed(*many))
    again = oc.replay(given, json.loads(json.dumps(closed_log(given, *happened)[1:])))
    assert again.context == ("warm", "wet")
    for a, b in zip(bandit.estimate([0.3, 0.4]), again.estimate([0.3, 0.4]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_corrected_decision_of_another_order_is_adopted_as_it_was_made() -> None:
    """A bandit that knows the dimensions in another order puts belief and correction in its own."""
    rng, wet_first, warm_first = np.random.default_rng(3), made(recalibrate=True), made(recalibrate=True)
    for t in range(20):
        belief = forecast(float(rng.normal()), float(rng.normal())).select(["wet", "warm"])
        wet_first.learn(wet_first.decide(belief), 1.0, context=belief.mean() + np.array([3.0, 0.1 * t - 1.0]))
    decision = wet_first.decide(forecast(0.5, 0.2).select(["wet", "warm"]))
    assert decision.move is not None
    warm_first.decide(forecast(0.5, 0.2))
    warm_first.adopt(decision)
    warm_first.learn(decision, 2.0)
    same = made()
    same.observe(decision.index, decision.belief.moved(*decision.move).select(["warm", "wet"]), 2.0)
    plain = [0.3, 0.4]
    np.testing.assert_allclose(warm_first.estimate(plain).mean, same.estimate(plain).mean)


@pytest.mark.parametrize(
    "context",
    [
        pd.DataFrame({"wet": [0.5], "warm": [20.0]}),
        pd.Series({"wet": 0.5, "warm": 20.0}),
        xr.Dataset({"wet": 0.5, "warm": 20.0}),
        {"wet": 0.5, "warm": 20.0},
        {"wet": oc.PointMass(0.5), "warm": 20},
        oc.PointMass([0.5, 20.0]).named(["wet", "warm"]),
        (20.0, 0.5),
        np.array([20.0, 0.5]),
    ],
    ids=lambda context: type(context).__name__,
)
def test_a_context_may_come_as_anything_that_a_belief_may(context: Any) -> None:
    bandit, same = made(context=["warm", "wet"]), made()
    bandit.learn(bandit.decide(forecast(19.0, 0.4)), 2.0, context=context)
    same.learn(same.decide(forecast(19.0, 0.4)), 2.0, context=[20.0, 0.5])
    for a, b in zip(bandit.estimate([1.0, 2.0]), same.estimate([1.0, 2.0]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_names_of_a_first_decision_are_replayed() -> None:
    given = oc.events.config(["a", "b"], MODELS[0], oc.UCB(1.0))
    decision = made().decide(forecast(1.0, 2.0))
    again = oc.replay(given, json.loads(json.dumps(closed_log(given, oc.events.decided(decision))[1:])))
    assert again.context == ("warm", "wet")
