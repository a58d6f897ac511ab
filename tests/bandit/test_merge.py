"""Bandits that learnt apart, added up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import overcast as oc
from memory_support import differences, unchanged
from overcast import models
from overcast.features import Bilinear, Disjoint, Linear, Polynomial
from support import refused

VECTORS = np.random.default_rng(0).normal(size=(5, 2))
NAMED = dict(zip("abcde", VECTORS, strict=True))
MODELS: dict[str, Any] = {
    "ridge": oc.LinearModel(Bilinear(), ridge=1.0),
    "kernel": oc.KernelModel(oc.kernels.Product(oc.kernels.RBF(1.0), oc.kernels.RBF(1.0)), ridge=1.0),
    "profile": models.FixedProfile(Bilinear()),
    "noisy": models.NoisyContext(Bilinear()),
}


def _taught(actions: Any, model: Any, names: str, seed: int, **options: Any) -> oc.Bandit:
    bandit, rng = oc.Bandit(actions, model, oc.UCB(1.0), **options), np.random.default_rng(seed)
    for t in range(12):
        context = rng.normal(size=2)
        bandit.observe(names[t % len(names)], context, float(rng.normal()), context)
    return bandit


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_actions_are_matched_by_name(model: Any) -> None:
    """In another order, and some that only one of the two has."""
    mine = _taught({name: NAMED[name] for name in "abc"}, model, "abc", 1)
    theirs = _taught({name: NAMED[name] for name in "dcb"}, model, "dcb", 2)
    whole = _taught({name: NAMED[name] for name in "abcd"}, model, "abc", 1)
    rng = np.random.default_rng(2)
    for t in range(12):
        context = rng.normal(size=2)
        whole.observe("dcb"[t % 3], context, float(rng.normal()), context)
    with unchanged(theirs):
        mine.merge(theirs)
    assert mine.actions.names == ("a", "b", "c", "d")
    for point in ([0.5, 1.0], [-1.0, 0.3]):
        for got, expected in zip(mine.estimate(point), whole.estimate(point), strict=True):
            np.testing.assert_allclose(got, expected, atol=1e-9)


@pytest.mark.parametrize("features", [Bilinear(), Linear(), Polynomial(2), Polynomial(3)], ids=repr)
def test_standard_features_do_not_depend_on_the_order_of_actions(features: Any) -> None:
    """They do in their last digits, which no merge may depend on."""
    for seed in range(8):
        vectors = np.random.default_rng(seed).normal(size=(7, 2)) * [1e4, 1e-3]
        actions, model = dict(zip("abcdefg", vectors, strict=True)), oc.LinearModel(features)
        found = []
        for order in (actions, dict(reversed(actions.items()))):
            mine = _taught(actions, model, "abcdefg", 1)
            mine.merge(_taught(order, model, "abcdefg", 2))
            found.append(mine.estimate([0.5, 1.0]))
        np.testing.assert_allclose(found[0].mean, found[1].mean, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found[0].width, found[1].width, rtol=1e-6)


@pytest.mark.parametrize("ridge", [1.0, None])
def test_blocks_are_matched_by_name(ridge: float | None) -> None:
    """Both opened the same blocks, in another order."""
    bandits = []
    for names, seed in ((["c", "d"], 1), (["d", "c"], 2)):
        bandit = oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge), oc.UCB(1.0))
        for name in names:
            bandit.add_actions([name])
        rng = np.random.default_rng(seed)
        for t in range(20):
            bandit.observe("abcd"[t % 4], [1.0], float("abcd".index("abcd"[t % 4]) + 0.01 * rng.normal()))
        bandits.append(bandit)
    bandits[0].merge(bandits[1])
    mean = dict(zip(bandits[0].actions.names or (), bandits[0].estimate([1.0]).mean, strict=True))
    for i, name in enumerate("abcd"):
        assert mean[name] == pytest.approx(i, abs=0.35 if ridge else 0.05), name
    assert bandits[0].learnt.rounds == 40


def test_running_moments_of_features_are_merged() -> None:
    model = oc.LinearModel(Bilinear())
    one, two, whole = _taught(NAMED, model, "abc", 1), _taught(NAMED, model, "abc", 2), _taught(NAMED, model, "abc", 1)
    rng = np.random.default_rng(2)
    for t in range(12):
        context = rng.normal(size=2)
        whole.observe("abc"[t % 3], context, float(rng.normal()), context)
    one.merge(two)
    fits: Any = [bandit.state.learner.fit for bandit in (one, whole)]  # type: ignore[union-attr]
    for fit in fits:
        fit._see_all()
    assert fits[0]._seen_rounds == fits[1]._seen_rounds == 24
    np.testing.assert_allclose(fits[0]._mean, fits[1]._mean, rtol=1e-12)
    np.testing.assert_allclose(fits[0]._variance, fits[1]._variance, rtol=1e-12)


def test_retired_actions_stay_retired() -> None:
    model = oc.LinearModel(Bilinear(), ridge=1.0)
    mine, theirs = _taught(NAMED, model, "ab", 1), _taught(NAMED, model, "ab", 2)
    mine.retire("a")
    theirs.retire("b")
    theirs.add_actions({"f": [1.0, 1.0]})
    theirs.retire("f")
    mine.merge(theirs)
    assert mine.actions.active.tolist() == [False, True, True, True, True, False]


def test_nothing_learnt_adds_the_actions_alone() -> None:
    model = oc.LinearModel(Bilinear(), ridge=1.0)
    mine = _taught(NAMED, model, "ab", 1)
    before = mine.estimate([1.0, 2.0])
    mine.merge(oc.Bandit({"new": [1.0, 2.0]}, model, oc.UCB(1.0)))
    np.testing.assert_array_equal(mine.estimate([1.0, 2.0]).mean[:5], before.mean)
    assert mine.actions.names == (*"abcde", "new")


def test_a_fresh_bandit_takes_over_all() -> None:
    model = oc.LinearModel(Bilinear())
    theirs = _taught(NAMED, model, "abc", 1)
    theirs.add_actions({"f": [3.0, 1.0]})
    fresh = oc.Bandit(NAMED, model, oc.UCB(1.0))
    fresh.merge(theirs)
    assert set(differences(fresh, theirs)) <= {"observed"}


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda model: _taught({"a": [9.0, 9.0]}, model, "a", 1), ["same vectors under the same names"]),
        (lambda model: oc.Bandit(VECTORS, model, oc.UCB(1.0)), ["all have names, or none"]),
        (lambda model: _taught(NAMED, model, "a", 1, recalibrate=True), ["recalibrate alike"]),
        (lambda model: _taught(NAMED, oc.LinearModel(Bilinear(), ridge=2.0), "a", 1), ["same model"]),
    ],
)
def test_what_does_not_go_together(other: Any, words: list[str]) -> None:
    model = oc.LinearModel(Bilinear(), ridge=1.0)
    mine = _taught(NAMED, model, "ab", 1)
    with unchanged(mine), refused(ValueError, "Bandit", "merge", *words):
        mine.merge(other(model))


def test_standard_features_must_agree() -> None:
    model = oc.LinearModel(Bilinear())
    mine = _taught({name: NAMED[name] for name in "ab"}, model, "ab", 1)
    theirs = _taught({name: NAMED[name] for name in "bcd"}, model, "bcd", 2)
    with unchanged(mine), refused(ValueError, "LinearModel", "merge needs bandits that had the same actions"):
        mine.merge(theirs)


def test_exp4_takes_no_actions_of_others() -> None:
    model = models.Exp4(Bilinear(), 4)
    mine = oc.Bandit({name: NAMED[name] for name in "ab"}, model, oc.Proportional())
    mine.learn(mine.decide([1.0, 2.0]), 1.0)
    other = oc.Bandit({name: NAMED[name] for name in "abc"}, model, oc.Proportional())
    with unchanged(mine), refused(TypeError, "Exp4", "actions cannot"):
        mine.merge(other)


def _labelled(actions: dict[str, Any]) -> oc.Bandit:
    return oc.Bandit(actions, oc.LinearModel(oc.features.Disjoint(3), ridge=1.0), oc.Greedy())


@pytest.mark.parametrize("more", [[], ["z"]], ids=["same set", "larger set"])
def test_labels_that_moved_are_matched_by_name(more: list[str]) -> None:
    unit = np.eye(3)
    mine = _labelled({"a": unit[0], "b": unit[1], "c": unit[2]})
    theirs = _labelled({"a": unit[1], "b": unit[0], "c": unit[2]})
    mine.observe("a", [1.0], 2.0)
    theirs.observe("b", [1.0], 8.0)
    if more:
        mine.add_actions(more)
    mine.merge(theirs)
    np.testing.assert_allclose(mine.estimate([1.0]).mean[:3], [1.0, 4.0, 0.0])


@pytest.mark.parametrize("swapped", [False, True])
def test_labels_that_one_bandit_shares_are_refused(swapped: bool) -> None:
    unit = np.eye(3)
    one = _labelled({"a": unit[0], "b": unit[0], "c": unit[2]})
    two = _labelled({"a": unit[0], "b": unit[1], "c": unit[2]})
    for bandit in (one, two):
        bandit.observe("a", [1.0], 8.0)
    mine, theirs = (two, one) if swapped else (one, two)
    with unchanged(mine), unchanged(theirs), refused(ValueError, "Bandit", "merge needs actions that share a unit"):
        mine.merge(theirs)


def test_labels_that_moved_beyond_the_others_are_refused() -> None:
    names = ["a", "b"]
    mine, theirs = (oc.Bandit(names, oc.LinearModel(oc.features.Disjoint(2)), oc.UCB()) for _ in range(2))
    for bandit in (mine, theirs):
        bandit.observe("a", [1.0], 1.0)
    theirs.add_actions({"b": np.eye(3)[2]})
    with unchanged(mine), refused(ValueError, "Bandit", "merge needs actions with unit vectors of 2 entries"):
        mine.merge(theirs)
