"""Rounds that somebody else decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import overcast as oc
from life_support import CONFIGS
from memory_support import differences, distance, unchanged
from overcast.features import Bilinear, Disjoint, Fourier, Quadratic
from overcast.kernels import RBF, Product
from overcast.models.linear.learner import LinearLearner
from support import refused

K = 4
VECTORS = np.random.default_rng(0).normal(size=(K, 2))
NAMES = list("abcd")
GIVEN: dict[str, tuple[Any, Any]] = {
    "shared": (VECTORS, oc.LinearModel(Quadratic(), ridge=0.7)),
    "blocks": (NAMES, oc.LinearModel(Disjoint(4), ridge=0.7)),
    "waves": (VECTORS, oc.LinearModel(Fourier(Product(RBF(1.0), RBF(1.0)), 20), ridge=0.7)),
}
LEARNT: dict[str, tuple[Any, Any]] = {
    "shared": (VECTORS, oc.LinearModel(Quadratic())),
    "blocks": (NAMES, oc.LinearModel(Disjoint(4))),
    "equal": (VECTORS, oc.LinearModel(Quadratic(), weights="equal")),
    "noise": (VECTORS, oc.LinearModel(Bilinear(), ridge=0.7, noise=0.2)),
    "kernel": (VECTORS, oc.KernelModel()),
}


def _history(n: int, seed: int = 1) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(n, 2))
    return rng.integers(K, size=n), contexts, rng.normal(size=n), contexts + 0.1


def _bandit(actions: Any, model: Any, **options: Any) -> oc.Bandit:
    return oc.Bandit(actions, model, oc.UCB(1.0), **options)


def _beliefs(contexts: Any) -> list[oc.Belief]:
    makers: list[Callable[[Any], oc.Belief]] = [
        lambda c: oc.Gaussian(c, [0.2, 0.3]),
        lambda c: oc.Ensemble(np.stack([c - 0.2, c, c + 0.4])),
        oc.PointMass,
        lambda c: oc.Gaussian(c, [[0.3, 0.1], [0.1, 0.2]]),
    ]
    return [makers[i % 4](c) for i, c in enumerate(contexts)]


@pytest.mark.parametrize("revealed", ["hidden", "shown", "mixed"])
@pytest.mark.parametrize("known", ["points", "beliefs"])
@pytest.mark.parametrize(("actions", "model"), GIVEN.values(), ids=GIVEN.keys())
def test_with_a_given_ridge_many_at_once_equal_one_after_the_other(
    actions: Any, model: Any, known: str, revealed: str
) -> None:
    if known == "beliefs" and isinstance(model.features, Fourier):
        pytest.skip("a covariance of waves has no closed form")
    index, contexts, rewards, seen = _history(700)
    beliefs: Any = contexts if known == "points" else _beliefs(contexts)
    shown: Any = {"hidden": None, "shown": seen, "mixed": [c if i % 3 else None for i, c in enumerate(seen)]}[revealed]
    together, alone = _bandit(actions, model), _bandit(actions, model)
    together.observe(index, beliefs, rewards, shown)
    for i in range(len(rewards)):
        alone.observe(int(index[i]), beliefs[i], rewards[i], None if shown is None else shown[i])
    for point in ([0.3, -0.4], [1.0, 2.0]):
        one, two = together.estimate(point), alone.estimate(point)
        np.testing.assert_allclose(one.mean, two.mean, rtol=0, atol=1e-8)
        np.testing.assert_allclose(one.width, two.width, rtol=0, atol=1e-8)
    assert together.learnt.rounds == alone.learnt.rounds == 700


@pytest.mark.parametrize(("actions", "model"), LEARNT.values(), ids=LEARNT.keys())
def test_with_learnt_scales_rounds_are_taken_in_order(actions: Any, model: Any) -> None:
    n = 40 if isinstance(model, oc.KernelModel) else 150
    index, contexts, rewards, _ = _history(n)
    beliefs = _beliefs(contexts)
    together, alone = _bandit(actions, model), _bandit(actions, model)
    together.observe(index, beliefs, rewards)
    for i in range(n):
        alone.observe(int(index[i]), beliefs[i], rewards[i])
    assert distance(together, alone) <= 1e-8


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "exp4"])
def test_to_observe_is_to_learn_what_was_decided(name: str) -> None:
    """A bandit that is told the decisions and rewards of another knows the same; its history has its own decisions."""
    actions, model, policy, options = CONFIGS[name]
    if options.get("samples"):
        pytest.skip("the two draw their own samples")
    bandit, told = (oc.Bandit(actions, model, policy, **options) for _ in range(2))
    rng = np.random.default_rng(2)
    for t in range(25):
        belief = oc.Gaussian(rng.normal(size=2), [0.3, 0.2])
        context = rng.normal(size=2) if t % 2 else None
        decision, reward = bandit.decide(belief), float(rng.normal())
        bandit.learn(decision, reward, context)
        told.observe(decision.index if bandit.actions.names is None else decision.action, belief, reward, context)
    changed = {"observed", "round", "rewarded"}
    assert {name for name in differences(bandit, told) if name.split(".")[0] != "history"} <= changed


def test_names_indices_lists_and_tables() -> None:
    model = oc.LinearModel(Bilinear(), ridge=1.0)
    named = dict(zip(NAMES, VECTORS, strict=True))
    bandits = [_bandit(named, model) for _ in range(4)]
    points = np.array([[1.0, 2.0], [0.5, 0.5]])
    bandits[0].observe(["b", "c"], points, [1.0, 2.0])
    bandits[1].observe([1, 2], points.tolist(), np.array([1.0, 2.0]))
    bandits[2].observe(pd.Series(["b", "c"]), pd.DataFrame(points), pd.Series([1.0, 2.0]))
    bandits[3].observe("b", points[0], 1.0)
    bandits[3].observe("c", points[1], 2.0)
    for other in bandits[1:3]:
        assert distance(bandits[0], other) <= 1e-12
    for other in bandits[1:]:
        np.testing.assert_allclose(other.estimate([1.0, 1.0]).mean, bandits[0].estimate([1.0, 1.0]).mean, atol=1e-10)


def test_sampled_rounds_have_draws_of_their_own() -> None:
    """Not those of decisions, and not the same twice."""
    model = oc.LinearModel(Bilinear(), ridge=1.0)
    one, two = (oc.Bandit(VECTORS, model, oc.UCB(1.0), samples=2, seed=1) for _ in range(2))
    belief = oc.Gaussian([1.0, 2.0], 1.0)
    one.observe(0, belief, 1.0)
    one.observe(0, belief, 1.0)
    two.observe([0, 0], [belief, belief], [1.0, 1.0])
    assert distance(one, two) <= 1e-12
    seen = one.state.learner.fit.rows  # type: ignore[union-attr]
    assert (seen[0] != seen[1]).all()
    decided = oc.Bandit(VECTORS, model, oc.UCB(1.0), samples=2, seed=1)
    decided.learn(decided.decide(belief, available=[0]), 1.0)
    assert (decided.state.learner.fit.rows[0] != seen[0]).all()  # type: ignore[union-attr]


def test_what_was_asked_before_changes_no_draw() -> None:
    bandits = [oc.Bandit(VECTORS, oc.LinearModel(Bilinear()), oc.Thompson(), samples=3, seed=4) for _ in range(2)]
    rng = np.random.default_rng(3)
    for t in range(15):
        belief = oc.Gaussian(rng.normal(size=2), 0.5)
        for _ in range(t % 4):
            bandits[0].estimate(oc.Gaussian(rng.normal(size=2), 0.5))
        decisions = [bandit.decide(belief) for bandit in bandits]
        assert decisions[0].index == decisions[1].index
        assert decisions[0].seed == decisions[1].seed
        for bandit, decision in zip(bandits, decisions, strict=True):
            bandit.learn(decision, float(t % 3))
    assert [name for name in differences(*bandits) if name != "open"] == []


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (("x", [1.0, 2.0], 1.0), ValueError, ["action must hold", "'x'"]),
        ((9, [1.0, 2.0], 1.0), ValueError, ["index below 4"]),
        ((0, [1.0, 2.0], np.nan), ValueError, ["reward"]),
        ((0, [1.0, 2.0], 1e200), ValueError, ["reward must be of size 1e+150"]),
        ((0, [1.0], 1.0), ValueError, ["dimension 2, got 1"]),
        ((0, [1.0, 2.0], 1.0, [1.0]), ValueError, ["context"]),
        ((0, [1.0, 2.0], 1.0, oc.PointMass([1.0])), ValueError, ["dimension 2, got 1"]),
        (([0], [[1.0, 2.0]], [1.0, 2.0]), ValueError, ["action must be one for each of the 2 rewards, got 1"]),
        ((0, [[1.0, 2.0]], [1.0]), ValueError, ["action must be one for each of the 1 rewards, got int 0"]),
        (([0, 1], [[1.0, 2.0]], [1.0, 2.0]), ValueError, ["belief must be one for each of the 2"]),
        (([0, 1], oc.PointMass([1.0, 2.0]), [1.0, 2.0]), ValueError, ["belief must be one for each"]),
        (([0, 1], np.ones((2, 2)), [1.0, 2.0], np.ones((1, 2))), ValueError, ["context must be one for each"]),
        (([0, 1], np.ones((2, 2)), [1.0, 2.0], np.ones((2, 3))), ValueError, ["context"]),
        (([0, 1], [[1.0, 2.0], [1.0]], [1.0, 2.0]), ValueError, ["dimension 2, got 1 at index 1"]),
        (([0, 1], [[1.0, np.nan], [1.0, 2.0]], [1.0, 2.0]), ValueError, ["belief must be finite"]),
        (([0, 7], np.ones((2, 2)), [1.0, 2.0]), ValueError, ["index below 4"]),
        (([], [], []), ValueError, ["at least one reward"]),
    ],
)
def test_what_is_refused_changes_nothing(arguments: Any, kind: type[Exception], words: list[str]) -> None:
    bandit = _bandit(VECTORS, oc.LinearModel(Bilinear(), ridge=1.0))
    bandit.learn(bandit.decide([1.0, 2.0]), 1.0)
    with unchanged(bandit), refused(kind, "Bandit", *words):
        bandit.observe(*arguments)


@pytest.mark.parametrize("model", [oc.LinearModel(Quadratic()), oc.LinearModel(Quadratic(), ridge=1.0)], ids=repr)
def test_many_of_which_one_fails_change_nothing(model: Any) -> None:
    bandit = _bandit(VECTORS, model)
    for start in ("fresh", "taught"):
        points = np.ones((20, 2))
        points[13] = 1e250
        with np.errstate(all="ignore"), unchanged(bandit), refused(ValueError, "LinearModel", "scale the contexts"):
            bandit.observe(np.zeros(20, dtype=int), points, np.arange(20.0))
        if start == "fresh":
            bandit.learn(bandit.decide([1.0, 2.0]), 1.0)


def test_exp4_cannot_learn_what_others_decided() -> None:
    made = CONFIGS["exp4"]
    bandit = oc.Bandit(made.actions, made.model, made.policy)
    with unchanged(bandit), refused(TypeError, "Exp4", "rounds that somebody else decided"):
        bandit.observe("a", [1.0, 2.0], 1.0)


def test_corrections_are_learnt_from_history() -> None:
    model = oc.LinearModel(Bilinear(), ridge=1.0)
    bandit, fixed = oc.Bandit(VECTORS, model, oc.UCB(1.0), recalibrate=True), oc.Recalibrated()
    index, contexts, rewards, _ = _history(60)
    beliefs = [oc.Gaussian(c, [0.1, 0.2]) for c in contexts]
    bandit.observe(index, beliefs, rewards, contexts + 2.0)
    for belief, context in zip(beliefs, contexts + 2.0, strict=True):
        fixed.learn(belief, context)
    assert repr(bandit.recalibrated) == repr(fixed)
    with unchanged(bandit), refused(ValueError, "Recalibrated", "1e+150"):
        bandit.observe(index[:3], beliefs[:3], rewards[:3], np.array([[1.0, 1.0], [1.0, -1.7e308], [1.0, 1.0]]))


def test_ten_thousand_at_once_are_learnt_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    index, contexts, rewards, _ = _history(10_000)
    bandit = _bandit(VECTORS, oc.LinearModel(Quadratic(), ridge=1.0))
    calls: Counter[str] = Counter()
    for name in ("view", "evidence", "learn", "learn_all"):
        _count(monkeypatch, name, calls)
    bandit.observe(index, contexts, rewards)
    assert calls["learn"] == 0
    assert 0 < calls["view"] == calls["evidence"] == calls["learn_all"] <= 100
    bandit.observe(int(index[0]), contexts[0], rewards[0])
    assert calls["learn"] == 1


def _count(monkeypatch: pytest.MonkeyPatch, name: str, calls: Counter[str]) -> None:
    """Count the calls of a method of linear learners."""
    method = getattr(LinearLearner, name)

    def counting(*args: Any, **options: Any) -> Any:
        calls[name] += 1
        return method(*args, **options)

    monkeypatch.setattr(LinearLearner, name, counting)
