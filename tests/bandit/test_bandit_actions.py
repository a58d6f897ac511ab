"""Actions that come and go."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import overcast as oc
from life_support import CONFIGS
from memory_support import differences, unchanged
from overcast import models
from overcast._check import Array
from overcast._units import Units
from overcast.features import Bilinear, Disjoint, Fourier, Function, Linear, Nystrom, Polynomial, Quadratic
from overcast.features.separable import Separable
from overcast.kernels import RBF, Product
from support import refused

RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(6, 2))
NAMED = dict(zip("abcdef", VECTORS, strict=True))
KERNEL = Product(RBF(0.8), RBF(1.5))


def _few(n: int) -> dict[str, Any]:
    return dict(list(NAMED.items())[:n])


def _cubic(x: Array, c: Array) -> Array:
    return np.asarray(np.stack([(x[:, None] * c[None]).sum(-1), (x[:, None] ** 3 * c[None]).sum(-1)], axis=-1))


#: models whose estimates follow from the rounds alone, whichever actions there are
SHARED: dict[str, Any] = {
    "quadratic": oc.LinearModel(Quadratic(), ridge=0.7),
    "bilinear": oc.LinearModel(Bilinear(), ridge=0.7),
    "polynomial": oc.LinearModel(Polynomial(2), ridge=0.7),
    "function": oc.LinearModel(Function(_cubic, 2), ridge=0.7),
    "fourier": oc.LinearModel(Fourier(KERNEL, 20), ridge=0.7),
    "nystrom": oc.LinearModel(Nystrom(KERNEL, VECTORS, VECTORS[::-1]), ridge=0.7),
    "kernel": oc.KernelModel(KERNEL, ridge=0.7),
    "kernel, scales": oc.KernelModel(KERNEL),
    "profile": models.FixedProfile(Bilinear()),
    "mean": models.MeanContext(oc.LinearModel(Quadratic(), ridge=0.7)),
}


def _history(bandit: oc.Bandit, n: int, k: int, seed: int = 1) -> None:
    rng = np.random.default_rng(seed)
    for t in range(n):
        belief = oc.Ensemble(rng.normal(size=(3, 2)))
        bandit.observe(t % k, belief, float(rng.normal()), rng.normal(size=2) if t % 3 == 0 else None)


def _alike(one: oc.Bandit, two: oc.Bandit, atol: float = 1e-9) -> None:
    for point in ([0.3, -0.5], [1.2, 0.4]):
        for got, expected in zip(one.estimate(point), two.estimate(point), strict=True):
            np.testing.assert_allclose(got, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("model", SHARED.values(), ids=SHARED.keys())
def test_what_was_learnt_stays_as_if_all_had_been_there_from_the_start(model: Any) -> None:
    grown, whole = oc.Bandit(_few(3), model, oc.UCB(1.0)), oc.Bandit(NAMED, model, oc.UCB(1.0))
    for bandit in (grown, whole):
        _history(bandit, 20, 3)
    grown.add_actions({name: NAMED[name] for name in "de"})
    grown.add_actions({"f": NAMED["f"]})
    assert grown.actions == whole.actions
    _alike(grown, whole)
    for bandit in (grown, whole):
        _history(bandit, 20, 6, seed=2)
    _alike(grown, whole)
    beliefs = [
        oc.Gaussian(mean, [0.3, 0.2]) if isinstance(model, oc.KernelModel) else oc.PointMass(mean) for mean in VECTORS
    ]
    for belief in beliefs:
        assert grown.decide(belief).action == whole.decide(belief).action


@pytest.mark.parametrize("features", [Quadratic(), Bilinear(), Linear(), Polynomial(2), Polynomial(3)], ids=repr)
def test_standard_features_stay_those_of_the_first_actions(features: Any) -> None:
    """Theta over the map's own features is the same before and after, and says what the new actions are worth."""
    bandit = oc.Bandit(_few(5), oc.LinearModel(features), oc.UCB())
    _history(bandit, 40, 5)
    before, known = bandit.learnt.theta, bandit.estimate([0.3, -0.5])
    bandit.add_actions({"f": NAMED["f"]})
    assert bandit.learnt.theta == before
    assert before is not None
    after = bandit.estimate([0.3, -0.5])
    np.testing.assert_allclose(after.mean[:5], known.mean, rtol=1e-12)
    np.testing.assert_allclose(after.width[:5], known.width, rtol=1e-12)
    psi = features([NAMED["f"]], [[0.3, -0.5]])[0, 0]
    assert after.mean[5] == pytest.approx(float(psi @ np.array(list(before.values()))), rel=1e-8, abs=1e-8)


@pytest.mark.filterwarnings("ignore:Bandit. action 'x = 0' has no features under Bilinear")
@pytest.mark.parametrize(
    "model", [oc.LinearModel(Polynomial(2)), oc.KernelModel(), oc.LinearModel(Bilinear())], ids=repr
)
def test_a_bandit_that_starts_with_one_action_learns_about_others(model: Any) -> None:
    """One action determines neither a slope nor a curve nor a length scale in actions."""
    rng = np.random.default_rng(3)
    bandit = oc.Bandit({"first": [0.5]}, model, oc.UCB())
    for _ in range(5):
        context = rng.normal(size=1)
        bandit.learn(bandit.decide(context), float(0.5 * context[0]))
    bandit.add_actions({f"x = {x:g}": [x] for x in (-1.0, 0.2, 1.0, 2.0)})
    for _ in range(150):
        context = rng.normal(size=1)
        decision = bandit.decide(context)
        x = bandit.actions.vectors[decision.index, 0]
        bandit.learn(decision, float(x * context[0] + 0.05 * rng.normal()))
    assert bandit.decide([1.5]).action == "x = 2"
    assert bandit.decide([-1.5]).action == "x = -1"


def test_disjoint_opens_a_fresh_block() -> None:
    for ridge in (0.7, None):
        grown = oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge), oc.UCB(1.0))
        whole = oc.Bandit(["a", "b", "c"], oc.LinearModel(Disjoint(3), ridge), oc.UCB(1.0))
        for bandit in (grown, whole):
            _history(bandit, 30, 2)
        grown.add_actions(["c"])
        assert grown.model == whole.model
        assert grown.actions == whole.actions
        fresh = grown.estimate([2.0, 1.0])
        assert fresh.width[2] > 1.2 * fresh.width[:2].max()
        if ridge:
            _alike(grown, whole)
            assert fresh.mean[2] == 0.0
            assert fresh.width[2] == pytest.approx(np.sqrt(5.0 / 0.7))
        for bandit in (grown, whole):
            _history(bandit, 30, 3, seed=4)
        _alike(grown, whole, 1e-9 if ridge else 0.1)  # scales are learnt at other times


@pytest.mark.parametrize(
    "options",
    [{"ridge": 1.0}, {"ridge": 1.0, "noise": 0.3}, {"ridge": 1.0, "weights": "variance"}, {}, {"weights": "equal"}],
    ids=repr,
)
def test_a_block_can_be_opened_before_the_first_reward(options: dict[str, Any]) -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), **options), oc.UCB())
    decision = bandit.decide([1.0, 2.0])
    bandit.add_actions(["c"])
    known = bandit.estimate([1.0, 2.0])
    np.testing.assert_allclose(known.width, known.width[0])
    bandit.learn(decision, 1.0)
    bandit.add_actions(["d"])
    after = bandit.estimate([1.0, 2.0])
    assert after.width[0] < after.width[1]
    np.testing.assert_allclose(after.width[1:], after.width[1])


def test_a_longer_unit_vector_opens_a_block_too() -> None:
    one, two = (oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0)) for _ in range(2))
    one.add_actions(["c"])
    two.add_actions({"c": [0.0, 0.0, 1.0]})
    assert one.actions == two.actions
    assert one.model == two.model == oc.LinearModel(Disjoint(3), ridge=1.0)


def test_new_vectors_under_a_known_name() -> None:
    model = oc.LinearModel(Bilinear(), ridge=1.0)
    bandit, plain = oc.Bandit(_few(2), model, oc.UCB(1.0)), oc.Bandit(_few(2), model, oc.UCB(1.0))
    for each in (bandit, plain):
        _history(each, 10, 2)
    before = bandit.learnt.theta
    bandit.add_actions({"a": NAMED["c"]})
    assert bandit.learnt.theta == before
    assert bandit.actions.names == ("a", "b")
    np.testing.assert_array_equal(bandit.actions.vectors[0], NAMED["c"])
    plain.add_actions({"c": NAMED["c"]})
    assert bandit.estimate([1.0, 2.0]).mean[0] == plain.estimate([1.0, 2.0]).mean[2]


@pytest.mark.parametrize("context", [None, [0.7, 0.2]], ids=["hidden", "revealed"])
@pytest.mark.parametrize(
    "name", ["ridge", "learnt", "many features", "epsilon", "kernel", "kernel, ridge", "kernel, scales", "noisy"]
)
def test_an_open_decision_counts_with_the_vector_that_it_was_made_with(name: str, context: Any, tmp_path: Path) -> None:
    made = CONFIGS[name]
    changed, kept = (oc.Bandit(made.actions, made.model, made.policy, **made.options) for _ in range(2))
    for bandit in (changed, kept):
        bandit.learn(bandit.decide([1.0, 0.5], available=["b"]), 0.5)
    waiting = [bandit.decide([0.4, 1.0], available=["a"]) for bandit in (changed, kept)]
    changed.add_actions({"a": [3.0, -1.0]})
    changed.add_actions({"a": [2.0, -3.0]})
    changed.save(tmp_path / "bandit")
    changed = oc.Bandit.load(tmp_path / "bandit")
    for bandit, decision in zip((changed, kept), waiting, strict=True):
        bandit.learn(decision, 2.0, context)
    kept.add_actions({"a": [2.0, -3.0]})
    _alike(changed, kept)


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "exp4"])
def test_a_retired_action_is_never_taken_and_its_open_decisions_count(name: str, tmp_path: Path) -> None:
    made = CONFIGS[name]
    bandit = oc.Bandit(made.actions, made.model, made.policy, **made.options)
    first = 0 if bandit.actions.names is None else "a"
    waiting = bandit.decide([1.0, 2.0], available=[first])
    bandit.retire(first)
    assert bandit.learnt.open == 1
    for t in range(12):
        decision = bandit.decide([float(t % 3), 1.0])
        assert decision.index != 0
        assert decision.available == ([1, 2] if first == 0 else ["b", "c"])
        assert all(option.index != 0 for option in decision.top(5))
        bandit.learn(decision, 1.0)
    before = bandit.learnt.rounds
    bandit.learn(waiting, -5.0)
    assert bandit.learnt.rounds == before + 1
    assert len(bandit.estimate([1.0, 2.0]).mean) == 3
    bandit.save(tmp_path / "bandit")
    again = oc.Bandit.load(tmp_path / "bandit")
    assert differences(again, bandit) == []
    assert again.decide([1.0, 1.0]).index != 0


def test_a_retired_action_comes_back() -> None:
    bandit = oc.Bandit(_few(2), oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0))
    bandit.retire(["a"])
    assert bandit.actions.active.tolist() == [False, True]
    bandit.add_actions({"a": NAMED["a"]})
    assert bandit.actions.active.all()
    assert bandit.actions.names == ("a", "b")
    named = oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0))
    named.retire("b")
    named.add_actions(["b"])
    assert named.actions == oc.Bandit(["a", "b"], named.model, named.policy).actions


def test_an_action_gets_another_name() -> None:
    bandit = oc.Bandit(_few(3), oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0))
    waiting = bandit.decide([1.0, 2.0], available=["a"])
    before = bandit.estimate([1.0, 2.0]).mean
    bandit.rename("a", "first")
    assert bandit.actions.names == ("first", "b", "c")
    np.testing.assert_array_equal(bandit.estimate([1.0, 2.0]).mean, before)
    bandit.learn(waiting, 1.0)
    assert bandit.decide([1.0, 2.0], available=["first"]).action == "first"
    with unchanged(bandit), refused(ValueError, "Bandit", "distinct names", "'b'"):
        bandit.rename("c", "b")
    with unchanged(bandit), refused(ValueError, "Bandit", "one of the actions' names"):
        bandit.rename("a", "z")
    plain = oc.Bandit(VECTORS[:3], oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0))
    with unchanged(plain), refused(TypeError, "Bandit", "must have names"):
        plain.rename(0, "a")


def test_unnamed_actions_are_added_at_the_end_and_retire_by_index() -> None:
    bandit = oc.Bandit(VECTORS[:3], oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0))
    bandit.add_actions(VECTORS[3:5])
    bandit.retire([0, 4])
    assert bandit.actions.active.tolist() == [False, True, True, True, False]
    np.testing.assert_array_equal(bandit.actions.vectors, VECTORS[:5])
    assert repr(bandit.actions) == "Actions(5 unnamed, 2 dimensions; 2 retired)"
    assert bandit.decide([1.0, 2.0], available=[True] * 5).index in (1, 2, 3)


def test_tables_of_actions() -> None:
    bandit = oc.Bandit(_few(2), oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0))
    bandit.add_actions(pd.DataFrame(VECTORS[2:4], index=["c", "d"]))
    assert bandit.actions == oc.Bandit(_few(4), bandit.model, bandit.policy).actions


@pytest.mark.parametrize(
    ("actions", "kind", "words"),
    [
        ({"x": [1.0]}, ValueError, ["vectors of 2 entries, got 1"]),
        ({"x": [1.0, np.nan]}, ValueError, ["finite"]),
        ({}, ValueError, ["empty"]),
        (np.ones((1, 2)), TypeError, ["mapping from names to vectors"]),
        (None, TypeError, ["mapping"]),
        (pd.DataFrame(VECTORS[:2], index=["x", "x"]), ValueError, ["distinct names"]),
    ],
)
def test_actions_that_cannot_be_added(actions: Any, kind: type[Exception], words: list[str]) -> None:
    bandit = oc.Bandit(_few(2), oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0))
    bandit.learn(bandit.decide([1.0, 2.0]), 1.0)
    with unchanged(bandit), refused(kind, "Bandit", "actions", *words):
        bandit.add_actions(actions)


def test_longer_vectors_are_for_disjoint_alone() -> None:
    bandit = oc.Bandit(_few(2), oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0))
    for new in ({"x": [1.0, 2.0, 3.0]}, ["x"]):
        with unchanged(bandit), refused(ValueError, "Bilinear", "length that they had", "Disjoint"):
            bandit.add_actions(new)
    kernel = oc.Bandit(_few(2), oc.KernelModel(), oc.UCB(1.0))
    with unchanged(kernel), refused(ValueError, "KernelModel", "length that they had"):
        kernel.add_actions(["x"])


@pytest.mark.parametrize("items", [["x"], [9], [None], [1.5]])
def test_what_cannot_be_retired(items: Any) -> None:
    bandit = oc.Bandit(_few(3), oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0))
    with unchanged(bandit), refused(ValueError, "Bandit", "actions must hold one of the actions' names"):
        bandit.retire(items)
    with unchanged(bandit), refused(ValueError, "Bandit", "leave at least one"):
        bandit.retire(["a", "b", "c"])
    bandit.retire(["a"])
    with unchanged(bandit), refused(ValueError, "Bandit", "available", "not retired", "'a'"):
        bandit.decide([1.0, 2.0], available=["a", "b"])
    with unchanged(bandit), refused(ValueError, "Bandit", "at least one"):
        bandit.decide([1.0, 2.0], available=[True, False, False])


def test_exp4_says_that_it_cannot() -> None:
    made = CONFIGS["exp4"]
    bandit = oc.Bandit(made.actions, made.model, made.policy)
    bandit.learn(bandit.decide([1.0, 2.0]), 1.0)
    calls: list[Callable[[], None]] = [lambda: bandit.add_actions({"x": [1.0, 2.0]}), lambda: bandit.retire("a")]
    for call in calls:
        with unchanged(bandit), refused(TypeError, "Exp4", "actions cannot come and go with this model"):
            call()


def test_profiles_of_rounds_are_those_of_the_vectors_that_were_taken() -> None:
    """A name with another vector is another action: its rounds so far stay with the vector that they took."""
    moved, whole = (
        oc.Bandit(actions, models.FixedProfile(Bilinear()), oc.UCB(1.0))
        for actions in (_few(2), _few(2) | {"c": [3.0, 4.0]})
    )
    rng = np.random.default_rng(3)
    for t in range(9):
        belief, reward = oc.Gaussian(rng.normal(size=2), 0.3), float(rng.normal())
        if t == 4:
            moved.add_actions({"a": [3.0, 4.0]})
        for bandit, name in ((moved, "a"), (whole, "a" if t < 4 else "c")):
            bandit.observe("b" if t % 3 else name, belief, reward)
    for point in ([0.3, -0.5], [1.2, 0.4]):
        got, expected = moved.estimate(point), whole.estimate(point)
        np.testing.assert_allclose(got.mean, expected.mean[[2, 1]], rtol=0, atol=1e-9)
        np.testing.assert_allclose(got.width, expected.width[[2, 1]], rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["function", "kernel"])
def test_only_new_actions_are_evaluated(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def fn(x: Array, c: Array) -> Array:
        seen.append(len(x))
        return _cubic(x, c)

    evaluate = RBF._evaluate

    def counted(self: RBF, left: Array, right: Array) -> Array:
        seen.append(len(left) * len(right))
        return evaluate(self, left, right)

    monkeypatch.setattr(RBF, "_evaluate", counted)
    rng = np.random.default_rng(5)
    many = {str(i): vector for i, vector in enumerate(rng.normal(size=(500, 2)))}
    model: Any = oc.LinearModel(Function(fn, 2), ridge=1.0) if kind == "function" else oc.KernelModel(KERNEL, ridge=1.0)
    bandit = oc.Bandit(many, model, oc.UCB(1.0))
    for _ in range(3):
        bandit.learn(bandit.decide([1.0, 2.0]), 1.0)
    seen.clear()
    bandit.add_actions({"new": [1.0, 2.0]})
    assert sum(seen) <= 3  # one action, with each of the at most three that were taken


@pytest.mark.parametrize("features", [Quadratic(), Bilinear(), Polynomial(2)], ids=repr)
def test_standard_terms_do_not_follow_from_new_actions(features: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for ridge in (1.0, None):
        bandit = oc.Bandit(NAMED, oc.LinearModel(features, ridge), oc.UCB(1.0))
        bandit.learn(bandit.decide([1.0, 2.0]), 1.0)
        seen: list[int] = []
        terms = type(features).action_terms if ridge else type(features).standard_action_terms

        def counted(self: Any, actions: Array, *more: Array, terms: Any = terms, seen: list[int] = seen) -> Array:
            seen.append(len(actions))
            return np.asarray(terms(self, actions, *more))

        monkeypatch.setattr(type(features), terms.__name__, counted)
        for follows_from_all in ("standard_actions", "action_basis"):
            monkeypatch.delattr(Separable, follows_from_all)
            monkeypatch.delattr(type(features), follows_from_all, raising=False)
        bandit.add_actions({"new": [1.0, 2.0]})
        monkeypatch.undo()
        assert seen == [len(NAMED) + 1]  # all points are prepared anew, once


@pytest.mark.parametrize("given", [{}, {"ridge": 1.0}], ids=str)
def test_ten_thousand_names_are_never_written_out(given: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of unit vectors would take 800 MB."""
    written: list[tuple[int, int]] = []
    array = Units.__array__

    def counted(self: Units, *options: Any, **more: Any) -> Any:
        written.append(self.shape)
        return array(self, *options, **more)

    monkeypatch.setattr(Units, "__array__", counted)
    k = 10_000
    names = [f"item {i}" for i in range(k)]
    tracemalloc.start()
    try:
        bandit = oc.Bandit(names, oc.LinearModel(Disjoint(k), **given), oc.UCB(1.0))
        decision = bandit.decide(oc.Gaussian([1.0, 0.5], 0.1))
        bandit.learn(decision, 2.0)
        bandit.save(tmp_path / "bandit")
        loaded = oc.Bandit.load(tmp_path / "bandit")
        for each in (bandit, loaded):
            each.add_actions(["new"])
            each.retire("item 3")
            each.observe("new", [1.0, 1.0], 1.0)
        other = oc.Bandit(names, oc.LinearModel(Disjoint(k), **given), oc.UCB(1.0))
        other.observe("item 9", [0.5, 1.0], 3.0)
        bandit.merge(other)
        loaded.merge(other)
        again = oc.replay(oc.events.config(names, oc.LinearModel(Disjoint(k), **given), oc.UCB(1.0)), [])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150e6
    assert written == []
    assert (tmp_path / "bandit").stat().st_size < 5e6
    assert differences(loaded, bandit) == []
    assert again.actions.candidates.shape == (k, k)
    assert bandit.decide([1.0, 0.2]).action == loaded.decide([1.0, 0.2]).action
