"""The bandit against a reference that keeps every round and solves from scratch."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from memory_support import unchanged
from overcast import models
from overcast._check import Array
from overcast._random import Stream
from overcast.beliefs.base import Generators
from overcast.features import Bilinear, Disjoint, FeatureMap, Function, Linear, Polynomial, Quadratic
from overcast.models import Estimate, Model, Progress
from overcast.policies import Outlook, Policy
from support import refused

K, C = 5, 3
ACTIONS = np.random.default_rng(0).normal(size=(K, C))
RIDGE, BETA = 0.6, 1.3


class Reference:
    """Algorithms 1 and 2 as printed: lists of psi and y, one solve a round, ties by the lowest index."""

    def __init__(self, d: int, ridge: float = RIDGE, beta: float = BETA) -> None:
        self.d, self.ridge, self.beta = d, ridge, beta
        self.psi: list[Array] = []
        self.rewards: list[float] = []

    def estimate(self, psi: Array) -> Estimate:
        V = self.ridge * np.eye(self.d)
        b = np.zeros(self.d)
        for p, y in zip(self.psi, self.rewards, strict=True):
            V += np.outer(p, p)
            b += y * p
        theta = np.linalg.solve(V, b)
        means = [float(p @ theta) for p in psi]
        return Estimate(np.array(means), np.array([math.sqrt(p @ np.linalg.solve(V, p)) for p in psi]))

    def decide(self, psi: Array, available: list[int] | None = None) -> tuple[int, Estimate]:
        estimate = self.estimate(psi)
        best, chosen = -math.inf, -1
        for i in range(len(psi)):
            score = estimate.mean[i] + self.beta * estimate.width[i]
            if (available is None or i in available) and score > best:
                best, chosen = score, i
        return chosen, estimate

    def learn(self, psi: Array, reward: float) -> None:
        self.psi.append(psi)
        self.rewards.append(reward)


def _bandit(features: FeatureMap | None = None, actions: Any = ACTIONS, **options: Any) -> oc.Bandit:
    return oc.Bandit(actions, oc.LinearModel(features or Quadratic(), RIDGE), oc.UCB(BETA), **options)


def _expected_quadratic(x: Array, mean: Array, variance: Array) -> Array:
    """E[(x_i^2, c_i^2, x_i c_i)] for independent coordinates."""
    return np.array([*(v * v for v in x), *(variance + mean * mean), *(x * mean)])


def _quadratic(x: Array, c: Array) -> Array:
    return _expected_quadratic(x, c, np.zeros(len(c)))


def _true_reward(x: Array, c: Array) -> float:
    return float(((x - c) ** 2).sum())


def _agree(got: Estimate, expected: Estimate) -> None:
    np.testing.assert_allclose(got.mean, expected.mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(got.width, expected.width, rtol=0, atol=1e-8)


@pytest.mark.parametrize("setting", ["exact", "observed", "hidden", "mixed"])
def test_decisions_and_estimates_are_those_of_a_solve_from_scratch(setting: str) -> None:
    rng = np.random.default_rng(1)
    bandit, reference = _bandit(), Reference(3 * C)
    chosen = set()
    for t in range(80):
        mean, variance = rng.normal(size=C), rng.random(C)
        context = mean + np.sqrt(variance) * rng.normal(size=C)
        if setting == "exact":
            mean, variance = context, np.zeros(C)
        psi = np.array([_expected_quadratic(x, mean, variance) for x in ACTIONS])
        belief = oc.PointMass(context) if setting == "exact" else oc.Gaussian(mean, variance)
        index, estimate = reference.decide(psi)
        _agree(bandit.estimate(belief), estimate)
        decision = bandit.decide(belief)
        assert decision.index == index
        assert decision.mean == pytest.approx(estimate.mean[index], abs=1e-8)
        assert decision.width == pytest.approx(estimate.width[index], abs=1e-8)
        assert decision.score == pytest.approx(estimate.mean[index] + BETA * estimate.width[index], abs=1e-8)
        reward = _true_reward(ACTIONS[index], context) + 0.1 * float(rng.normal())
        if setting == "observed" or (setting == "mixed" and t % 2):
            bandit.learn(decision, reward, context=context)
            reference.learn(_quadratic(ACTIONS[index], context), reward)
        else:
            bandit.learn(decision, reward)
            reference.learn(psi[index], reward)
        chosen.add(index)
    assert len(chosen) > 1


def test_late_out_of_order_and_missing_rewards() -> None:
    """What counts is the set of rounds whose reward has come, whatever the order; by decision or by id."""
    rng = np.random.default_rng(2)
    bandit, reference = _bandit(), Reference(3 * C)
    waiting: list[tuple[oc.Decision, Array, Array]] = []
    for t in range(80):
        mean, variance = rng.normal(size=C), rng.random(C)
        psi = np.array([_expected_quadratic(x, mean, variance) for x in ACTIONS])
        index, estimate = reference.decide(psi)
        decision = bandit.decide(oc.Gaussian(mean, variance))
        assert decision.index == index
        assert decision.score == pytest.approx(estimate.mean[index] + BETA * estimate.width[index], abs=1e-8)
        waiting.append((decision, psi[index], mean))
        while waiting and rng.random() < 0.45:
            decision, p, context = waiting.pop(int(rng.integers(len(waiting))))
            reward = _true_reward(ACTIONS[decision.index], context)
            ticket = decision.id if t % 2 else decision
            if rng.random() < 0.5:
                bandit.learn(ticket, reward, context=context)
                reference.learn(_quadratic(ACTIONS[decision.index], context), reward)
            else:
                bandit.learn(ticket, reward)
                reference.learn(p, reward)
    assert waiting
    assert len(reference.rewards) > 20


def test_with_points_it_is_textbook_linucb() -> None:
    """Disjoint LinUCB: A_a and b_a for each arm, theta_a = A_a^-1 b_a, p_a = theta_a c + alpha sqrt(c A_a^-1 c)."""
    rng = np.random.default_rng(3)
    names = ["north", "east", "south", "west"]
    bandit = oc.Bandit(names, oc.LinearModel(Disjoint(4), ridge=1.0), oc.UCB(0.8))
    A = [np.eye(C) for _ in names]
    b = [np.zeros(C) for _ in names]
    truth = rng.normal(size=(4, C))
    for _ in range(100):
        c = rng.normal(size=C)
        scores = [c @ np.linalg.solve(A[i], b[i]) + 0.8 * np.sqrt(c @ np.linalg.solve(A[i], c)) for i in range(4)]
        best = scores.index(max(scores))
        decision = bandit.decide(c)
        assert decision.action == names[best]
        assert decision.score == pytest.approx(scores[best], abs=1e-8)
        reward = float(truth[best] @ c + 0.1 * rng.normal())
        bandit.learn(decision, reward)
        A[best] += np.outer(c, c)
        b[best] += reward * c


@pytest.mark.parametrize("features", [Quadratic(), Bilinear(), Linear(), Polynomial(2), Polynomial(3)])
def test_exact_beliefs_reduce_to_shared_linucb_with_every_map(features: FeatureMap) -> None:
    rng = np.random.default_rng(4)
    bandit, reference = _bandit(features), Reference(features.size(C, C))
    for _ in range(25):
        c = rng.normal(size=C)
        psi = features(ACTIONS, c[None])[:, 0]
        index, estimate = reference.decide(psi)
        decision = bandit.decide(oc.PointMass(c))
        assert decision.index == index
        assert decision.mean == pytest.approx(estimate.mean[index], abs=1e-8)
        reward = _true_reward(ACTIONS[index], c)
        bandit.learn(decision, reward, context=c if rng.random() < 0.5 else None)
        reference.learn(psi[index], reward)


def _ratio(x: Array, c: Array) -> Array:
    u = x[:, None, :] - c[None, :, :]
    return np.asarray(u / (1 + u**2))


def test_functions_of_an_ensemble() -> None:
    rng = np.random.default_rng(5)
    bandit, reference = _bandit(Function(_ratio, C)), Reference(C)
    for _ in range(25):
        points, weights = rng.normal(size=(4, C)), rng.dirichlet(np.ones(4))
        members = list(zip(points, weights, strict=True))
        psi = np.array([sum(w * (x - c) / (1 + (x - c) ** 2) for c, w in members) for x in ACTIONS])
        index, estimate = reference.decide(psi)
        decision = bandit.decide(oc.Ensemble(points, weights))
        assert decision.index == index
        assert decision.mean == pytest.approx(estimate.mean[index], abs=1e-8)
        reward = float(rng.normal())
        bandit.learn(decision, reward)
        reference.learn(psi[index], reward)


def test_sampled_features_are_the_average_over_the_bandits_own_draws() -> None:
    rng, stream = np.random.default_rng(6), Stream(42)
    bandit, reference = _bandit(samples=7, seed=42), Reference(3 * C)
    for t in range(1, 41):
        belief = oc.Ensemble(rng.normal(size=(12, C)))
        draws = belief.sample(7, stream.at(t))
        psi = np.array([sum(_quadratic(x, c) for c in draws) / 7 for x in ACTIONS])
        index, estimate = reference.decide(psi)
        _agree(bandit.estimate(belief), estimate)
        decision = bandit.decide(belief)
        assert decision.index == index
        reward = float(rng.normal())
        bandit.learn(decision, reward)
        reference.learn(psi[index], reward)


def test_more_samples_come_closer_to_the_expectation() -> None:
    """Root mean square of width - exact width over 200 repetitions, L = 10 against L = 1000: a ratio of 10.

    The ratio has a standard error of 0.7, so it leaves [6, 15] with probability below 1e-8.
    """
    belief = oc.Gaussian([0.5, -1.0, 2.0], [1.0, 0.5, 0.2])
    exact = _bandit().estimate(belief).width

    def error(samples: int) -> float:
        widths = [_bandit(samples=samples, seed=seed).estimate(belief).width for seed in range(200)]
        return float(np.sqrt(np.mean((np.array(widths) - exact) ** 2)))

    assert 6 < error(10) / error(1000) < 15


def test_samples_t_draws_t_contexts_at_round_t() -> None:
    asked: list[int] = []

    def draw(n: int, rng: np.random.Generator) -> Array:
        asked.append(n)
        return rng.normal(size=(n, C))

    bandit = _bandit(samples="t")
    belief = oc.Sampler(draw, C)
    for _ in range(5):
        bandit.estimate(belief)
        bandit.learn(bandit.decide(belief), 1.0)
    assert asked == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_sampler_needs_samples() -> None:
    bandit = _bandit()
    with unchanged(bandit), refused(oc.NoClosedForm, "Quadratic", "samples="):
        bandit.decide(oc.Sampler(lambda n, rng: rng.normal(size=(n, C)), C))


NAMED = dict(zip("abcde", ACTIONS, strict=True))


@pytest.mark.parametrize(
    ("available", "kept"),
    [
        (["d", "b"], [1, 3]),
        (("e",), [4]),
        ({"a", "c"}, [0, 2]),
        ([3, 1], [1, 3]),
        (np.array([0, 4]), [0, 4]),
        ([False, True, False, True, False], [1, 3]),
        (np.array([True, False, False, False, True]), [0, 4]),
        (iter(["c"]), [2]),
        (range(2, 4), [2, 3]),
        (["a", 2], [0, 2]),
    ],
)
def test_available_actions(available: Any, kept: list[int]) -> None:
    rng = np.random.default_rng(7)
    bandit, reference = _bandit(actions=NAMED), Reference(3 * C)
    for _ in range(6):
        c, reward = rng.normal(size=C), float(rng.normal())
        decision = bandit.decide(c)
        bandit.learn(decision, reward)
        reference.learn(_quadratic(ACTIONS[decision.index], c), reward)
    c = rng.normal(size=C)
    index, estimate = reference.decide(np.array([_quadratic(x, c) for x in ACTIONS]), kept)
    scores = estimate.mean + BETA * estimate.width
    decision = bandit.decide(c, available=available)
    assert decision.index == index
    assert decision.action == "abcde"[index]
    order = sorted(kept, key=lambda i: -scores[i])
    options = decision.top(K)
    assert [option.index for option in options] == order
    np.testing.assert_allclose([option.score for option in options], scores[order], rtol=0, atol=1e-8)
    assert [option.index for option in decision.top(1)] == order[:1]


@pytest.mark.parametrize(
    ("available", "kind", "words"),
    [
        (["nobody"], ValueError, ["nobody", "names"]),
        ([5], ValueError, ["5"]),
        ([-1], ValueError, ["-1"]),
        ([1.0], ValueError, ["1.0"]),
        ([None], ValueError, ["None"]),
        ([np.eye(3)], ValueError, ["available"]),
        ([["a"]], ValueError, ["available"]),
        ([("a", [])], ValueError, ["available"]),
        ([], ValueError, ["at least one"]),
        (np.zeros(K, dtype=bool), ValueError, ["at least one"]),
        ([True, False], ValueError, ["5 entries", "2"]),
        (np.ones(K + 1, dtype=bool), ValueError, ["5 entries", "6"]),
        ("a", TypeError, ["'a'"]),
        (3, TypeError, ["3"]),
    ],
)
def test_bad_available(available: Any, kind: type[Exception], words: list[str]) -> None:
    bandit = _bandit(actions=NAMED, samples=3)
    bandit.learn(bandit.decide(np.zeros(C)), 1.0)
    with unchanged(bandit), refused(kind, "Bandit", "available", *words):
        bandit.decide(np.ones(C), available=available)


def test_ties_go_to_the_lowest_index() -> None:
    actions = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    bandit = oc.Bandit(actions, oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0))
    assert bandit.decide([1.0]).index == 0
    assert bandit.decide([1.0], available=[3, 2, 1]).index == 1
    assert [option.index for option in bandit.decide([1.0]).top(4)] == [0, 1, 2, 3]


@pytest.mark.parametrize("samples", [None, 4, "t"])
def test_estimating_does_not_change_later_decisions(samples: Any) -> None:
    first, second = _bandit(samples=samples), _bandit(samples=samples)
    rng = np.random.default_rng(8)
    for _ in range(10):
        belief = oc.Gaussian(rng.normal(size=C), 1.0)
        with unchanged(first):
            estimate = first.estimate(belief)
            first.estimate(np.zeros(C))
        one, two = first.decide(belief), second.decide(belief)
        assert (one.index, one.mean, one.width) == (two.index, two.mean, two.width)
        assert one.mean == estimate.mean[one.index]
        first.learn(one, float(one.index))
        second.learn(two, float(two.index))


def _run(seed: int) -> list[tuple[int, float]]:
    rng = np.random.default_rng(9)
    bandit = _bandit(samples=2, seed=seed)
    out = []
    for _ in range(30):
        decision = bandit.decide(oc.Gaussian(rng.normal(size=C), 1.0))
        bandit.learn(decision, float(rng.normal()))
        out.append((decision.index, decision.score))
    return out


def test_seeds_give_identical_sequences() -> None:
    assert _run(1) == _run(1)
    assert _run(1) != _run(2)


def test_a_ticket_counts_once() -> None:
    bandit = _bandit()
    decision = bandit.decide(np.ones(C))
    bandit.learn(decision, 1.0)
    for ticket in (decision, decision.id):
        with unchanged(bandit), refused(ValueError, "Bandit", decision.id, "already"):
            bandit.learn(ticket, 1.0)
        with unchanged(bandit), refused(ValueError, "Bandit", decision.id):
            bandit.forget(ticket)


@pytest.mark.parametrize("call", [lambda b, d: b.learn(d, 1.0), lambda b, d: b.forget(d)])
def test_tickets_of_others(call: Callable[[oc.Bandit, Any], None]) -> None:
    bandit, other = _bandit(), _bandit()
    mine, theirs = bandit.decide(np.ones(C)), other.decide(np.ones(C))
    token = mine.id.rpartition("-")[0]
    garbage = ["", "-", "x", "a\nb", f"{token}-2", f"{token}-0", f"{token}-01", f"{token}--1", f"{token}-{'9' * 5000}"]
    for ticket in [theirs, theirs.id, *garbage]:
        with unchanged(bandit), refused(ValueError, "Bandit", "decision"):
            call(bandit, ticket)
    for ticket in [None, 1, 1.5, b"x", mine.id.encode(), [mine]]:
        with unchanged(bandit), refused(TypeError, "Bandit", "decision", type(ticket).__name__):
            call(bandit, ticket)


def test_forgetting_drops_a_round() -> None:
    bandit, without = _bandit(), _bandit()
    dropped = bandit.decide(np.ones(C))
    bandit.forget(dropped)
    assert not bandit.state.pending.open
    with unchanged(bandit), refused(ValueError, "Bandit", dropped.id):
        bandit.learn(dropped, 1.0)
    bandit.learn(bandit.decide(np.arange(C)), 2.0)
    without.learn(without.decide(np.arange(C)), 2.0)
    _agree(bandit.estimate(np.ones(C)), without.estimate(np.ones(C)))


@pytest.mark.parametrize(
    ("reward", "kind"),
    [
        (math.nan, ValueError),
        (math.inf, ValueError),
        (-math.inf, ValueError),
        ("x", TypeError),
        ("1.0", TypeError),
        (None, TypeError),
        (1j, TypeError),
        ([1.0, 2.0], TypeError),
        (np.eye(2), TypeError),
        (10**400, TypeError),
    ],
)
def test_bad_rewards(reward: Any, kind: type[Exception]) -> None:
    bandit = _bandit()
    decision = bandit.decide(np.ones(C))
    for context in (None, np.ones(C)):
        with unchanged(bandit), refused(kind, "Bandit", "reward"):
            bandit.learn(decision, reward, context=context)
    bandit.learn(decision, 1.0)


@pytest.mark.parametrize(
    ("context", "kind"),
    [
        (np.ones(C + 1), ValueError),
        (1.0, ValueError),
        ([1.0, math.nan, 0.0], ValueError),
        ([1.0, math.inf, 0.0], ValueError),
        (np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]), ValueError),
        (np.ones((1, C)), ValueError),
        ([[1.0], [2.0, 3.0]], ValueError),
        ([], ValueError),
        ("x", TypeError),
        (["a", "b", "c"], TypeError),
        ([None] * C, TypeError),
    ],
)
def test_bad_contexts(context: Any, kind: type[Exception]) -> None:
    bandit = _bandit()
    decision = bandit.decide(np.ones(C))
    with unchanged(bandit), refused(kind, "Bandit", "context"):
        bandit.learn(decision, 1.0, context=context)
    bandit.learn(decision, 1.0)


def test_a_context_of_one_dimension_may_be_a_number() -> None:
    first, second = (oc.Bandit(["a", "b"], oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0)) for _ in range(2))
    first.learn(first.decide(0.5), 1.0, context=2.0)
    second.learn(second.decide([0.5]), 1.0, context=[2.0])
    _agree(first.estimate(1.0), second.estimate(1.0))


@pytest.mark.parametrize("samples", [None, 5, "t"])
def test_beliefs_of_another_dimension(samples: Any) -> None:
    bandit = _bandit(Bilinear(), samples=samples)
    bandit.learn(bandit.decide(np.ones(C)), 1.0)
    for call in (bandit.decide, bandit.estimate):
        with unchanged(bandit), refused(ValueError, "Bandit", "dimension 3", "2"):
            call(oc.Gaussian([0.0, 1.0], 1.0))


@pytest.mark.parametrize("samples", [None, 5])
def test_a_first_belief_that_does_not_fit_leaves_the_bandit_fresh(samples: Any) -> None:
    bandit = _bandit(samples=samples)
    for call in (bandit.decide, bandit.estimate):
        with unchanged(bandit), refused(ValueError, "Quadratic", "3 and 2"):
            call(oc.Gaussian([0.0, 1.0], 1.0))
        with unchanged(bandit), refused(TypeError, "as_belief"):
            call("sunny")
        with unchanged(bandit), refused(ValueError, "PointMass", "finite"):
            call([1.0, math.nan, 0.0])
    assert bandit.decide(np.ones(C)).index == _bandit(samples=samples).decide(np.ones(C)).index


def test_samplers_that_return_garbage() -> None:
    def broken(n: int, rng: np.random.Generator) -> Array:
        rng.normal(size=100)
        raise RuntimeError("no weather today")

    garbage: list[Callable[[int, np.random.Generator], Any]] = [
        lambda n, rng: rng.normal(size=(n, C + 1)),
        lambda n, rng: rng.normal(size=n),
        lambda n, rng: np.full((n, C), rng.normal() * math.nan),
        lambda n, rng: [["x"] * C] * (n + 0 * int(rng.integers(2))),
        lambda n, rng: rng.normal(size=(n + 1, C)),
    ]
    bandit = _bandit(samples=5)
    bandit.learn(bandit.decide(np.ones(C)), 1.0)
    for draw in garbage:
        for call in (bandit.decide, bandit.estimate):
            with unchanged(bandit), refused((ValueError, TypeError), "Sampler", "draw"):
                call(oc.Sampler(draw, C))
    for call in (bandit.decide, bandit.estimate):
        with unchanged(bandit), pytest.raises(RuntimeError, match="no weather today"):
            call(oc.Sampler(broken, C))


@pytest.mark.parametrize("samples", [None, 5])
def test_functions_that_fail(samples: Any) -> None:
    mood = {"now": "fine"}

    def fn(x: Array, c: Array) -> Array:
        if mood["now"] == "raise":
            raise RuntimeError("out of memory")
        out: Array = x.sum(axis=1)[:, None, None] * c.sum(axis=1)[None, :, None]
        return out[..., 0] if mood["now"] == "shape" else out * (math.nan if mood["now"] == "nan" else 1.0)

    bandit = _bandit(Function(fn, 1), samples=samples)
    waiting = bandit.decide(np.ones(C))
    for mood["now"], kind, words in (
        ("raise", RuntimeError, "out of memory"),
        ("shape", ValueError, "^Function: fn's result must have shape"),
        ("nan", ValueError, "^Function: fn's result must be finite"),
    ):
        for call in (bandit.decide, bandit.estimate):
            with unchanged(bandit), pytest.raises(kind, match=words):
                call(np.ones(C))
        with unchanged(bandit), pytest.raises(kind, match=words):
            bandit.learn(waiting, 1.0, context=np.zeros(C))
    mood["now"] = "fine"
    bandit.learn(waiting, 1.0, context=np.zeros(C))


class _Restless(Policy):
    """Draws from the generator, then fails."""

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        assert isinstance(rng, np.random.Generator)
        rng.normal(size=10)
        raise RuntimeError("policy failed")


def test_policies_that_fail_leave_the_generator_where_it_was() -> None:
    for samples in (None, 5):
        bandit = oc.Bandit(ACTIONS, oc.LinearModel(Quadratic(), ridge=1.0), _Restless(), samples=samples)
        with unchanged(bandit), pytest.raises(RuntimeError, match="policy failed"):
            bandit.decide(oc.Gaussian(np.zeros(C), 1.0))
        bandit = oc.Bandit(ACTIONS, oc.LinearModel(Quadratic(), ridge=1.0), oc.UCB(lambda t: math.nan), samples=samples)
        with unchanged(bandit), refused(ValueError, "UCB", "beta(1)", "nan"):
            bandit.decide(oc.Gaussian(np.zeros(C), 1.0))


def test_failed_calls_leave_the_saved_file_as_it_was(tmp_path: Path) -> None:
    bandit = _bandit(samples=5)
    decision = bandit.decide(oc.Gaussian(np.ones(C), 1.0))
    bandit.learn(bandit.decide(oc.Gaussian(np.ones(C), 1.0)), 1.0)
    bandit.save(tmp_path / "before")
    for call in (
        lambda: bandit.decide([1.0]),
        lambda: bandit.estimate([1.0]),
        lambda: bandit.decide(np.ones(C), available=[9]),
        lambda: bandit.decide(oc.Sampler(lambda n, rng: rng.normal(size=n), C)),
        lambda: bandit.learn(decision, math.nan),
        lambda: bandit.learn(decision, 1.0, context=[1.0]),
        lambda: bandit.learn("nothing", 1.0),
        lambda: bandit.forget("nothing"),
        lambda: bandit.merge(bandit),
        lambda: bandit.merge(_bandit(Bilinear())),
    ):
        with pytest.raises(ValueError, match=r"^\w+: [^\n]+$"):
            call()
    bandit.save(tmp_path / "after")
    assert _arrays(tmp_path / "before") == _arrays(tmp_path / "after")


def _arrays(path: Path) -> dict[str, bytes]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name].tobytes() for name in file.files}


@pytest.mark.parametrize(
    ("features", "actions"),
    [(Quadratic(), ACTIONS), (Bilinear(), ACTIONS), (Disjoint(3), np.eye(3)), (Function(_ratio, C), ACTIONS)],
)
def test_parts_learnt_apart_equal_one_that_saw_all(features: FeatureMap, actions: Array) -> None:
    rng = np.random.default_rng(10)
    parts = [_bandit(features, actions) for _ in range(3)]
    reference = Reference(features.size(actions.shape[1], C))
    for part in parts:
        for _ in range(15):
            c = rng.normal(size=C)
            decision, reward = part.decide(c), float(rng.normal())
            part.learn(decision, reward)
            reference.learn(features(actions, c[None])[decision.index, 0], reward)
    whole = _bandit(features, actions)  # has not decided yet
    for part in parts:
        with unchanged(part):
            whole.merge(part)
    c = rng.normal(size=C)
    _agree(whole.estimate(c), reference.estimate(features(actions, c[None])[:, 0]))
    parts[0].merge(_bandit(features, actions))  # nothing learnt: nothing changes
    parts[0].merge(parts[1])
    parts[0].merge(parts[2])
    _agree(parts[0].estimate(c), whole.estimate(c))


def test_open_decisions_survive_a_merge() -> None:
    first, second = _bandit(), _bandit()
    mine, theirs = first.decide(np.ones(C)), second.decide(np.arange(C))
    second.learn(second.decide(np.zeros(C)), 3.0)
    first.merge(second)
    first.learn(mine, 1.0)
    with unchanged(first), refused(ValueError, "Bandit", "another"):
        first.learn(theirs, 1.0)
    reference = Reference(3 * C)
    reference.learn(_quadratic(ACTIONS[mine.index], np.ones(C)), 1.0)
    index, _ = Reference(3 * C).decide(np.array([_quadratic(x, np.zeros(C)) for x in ACTIONS]))
    reference.learn(_quadratic(ACTIONS[index], np.zeros(C)), 3.0)
    psi = np.array([_quadratic(x, np.ones(C)) for x in ACTIONS])
    _agree(first.estimate(np.ones(C)), reference.estimate(psi))


def test_bad_merges() -> None:
    bandit = _bandit(Bilinear())
    bandit.learn(bandit.decide(np.ones(C)), 1.0)
    narrow = _bandit(Bilinear())
    narrow.decide(np.ones(2))
    others: list[tuple[Any, type[Exception], str]] = [
        (bandit, ValueError, "itself"),
        (_bandit(Linear()), ValueError, "model"),
        (oc.Bandit(ACTIONS, oc.LinearModel(Bilinear(), 2.0), oc.UCB(BETA)), ValueError, "model"),
        (_bandit(Bilinear(), ACTIONS + 1), ValueError, "actions"),
        (_bandit(Bilinear(), NAMED), ValueError, "actions"),
        (narrow, ValueError, "dimension 3"),
        (None, TypeError, "NoneType"),
        (bandit.state.learner, TypeError, "Learner"),
    ]
    for other, kind, word in others:
        with unchanged(bandit), refused(kind, "Bandit", "merge", word):
            bandit.merge(other)


def test_actions_as_array_mapping_table_and_names() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(ACTIONS, index=list("abcde"))
    arrays, mapping, frame = _bandit(), _bandit(actions=NAMED), _bandit(actions=table)
    rng = np.random.default_rng(11)
    for _ in range(10):
        c, reward = rng.normal(size=C), float(rng.normal())
        decisions = [bandit.decide(c) for bandit in (arrays, mapping, frame)]
        index = decisions[0].index
        assert [decision.index for decision in decisions] == [index] * 3
        np.testing.assert_array_equal(decisions[0].action, ACTIONS[index])
        assert [decision.action for decision in decisions[1:]] == ["abcde"[index]] * 2
        for bandit, decision in zip((arrays, mapping, frame), decisions, strict=True):
            bandit.learn(decision, reward)
    names, units = _bandit(Bilinear(), ["x", "y"]), _bandit(Bilinear(), {"x": [1, 0], "y": [0, 1]})
    assert names.actions == units.actions
    assert names.decide([1.0]).action == "x"


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"samples": 0}, ValueError, "samples"),
        ({"samples": -3}, ValueError, "samples"),
        ({"samples": 1.5}, TypeError, "samples"),
        ({"samples": True}, TypeError, "samples"),
        ({"samples": "T"}, ValueError, "samples"),
        ({"samples": np.eye(2)}, TypeError, "samples"),
        ({"seed": -1}, ValueError, "seed"),
        ({"seed": 1.0}, TypeError, "seed"),
        ({"seed": None}, TypeError, "seed"),
        ({"actions": np.zeros(3)}, ValueError, "actions"),
        ({"actions": np.zeros((0, 3))}, ValueError, "actions"),
        ({"actions": [[1.0, math.nan]]}, ValueError, "actions"),
        ({"actions": [[1.0], [1.0, 2.0]]}, ValueError, "actions"),
        ({"actions": {}}, ValueError, "empty"),
        ({"actions": {"a": [1.0], "b": [1.0, 2.0]}}, ValueError, "one length"),
        ({"actions": {"a": [[1.0], [1.0, 2.0]]}}, ValueError, "actions['a']"),
        ({"actions": {"a": ["x"]}}, TypeError, "actions['a']"),
        ({"actions": ["a", "b", "a"]}, ValueError, "'a' twice"),
        ({"actions": None}, TypeError, "actions"),
    ],
)
def test_bad_options(options: dict[str, Any], kind: type[Exception], words: str) -> None:
    with refused(kind, "Bandit", words):
        _bandit(**options)


@pytest.mark.parametrize("odd", [None, "UCB", np.eye(3), oc.UCB, 1.0])
def test_model_and_policy_must_be_what_they_are(odd: Any) -> None:
    with refused(TypeError, "Bandit", "model", "LinearModel"):
        oc.Bandit(ACTIONS, odd, oc.UCB(1.0))
    with refused(TypeError, "Bandit", "policy", "UCB"):
        oc.Bandit(ACTIONS, oc.LinearModel(Quadratic(), ridge=1.0), odd)


def test_a_context_measured_in_part_is_a_belief() -> None:
    """The first coordinate is measured, the others stay as forecast: the round counts with their expectation."""
    bandit = _bandit()
    decision = bandit.decide(oc.Gaussian([1.0, 2.0, 3.0], [1.0, 0.5, 0.2]))
    measured = oc.Independent([oc.PointMass([1.5]), oc.Gaussian([2.0, 3.0], [0.5, 0.2])])
    with unchanged(bandit), refused(ValueError, "Bandit", "dimension 3, got 1"):
        bandit.learn(decision, 2.0, context=oc.PointMass([1.0]))
    bandit.learn(decision, 2.0, context=measured)
    reference = Reference(3 * C)
    x = ACTIONS[decision.index]
    reference.learn(_expected_quadratic(x, np.array([1.5, 2.0, 3.0]), np.array([0.0, 0.5, 0.2])), 2.0)
    psi = np.array([_quadratic(x, np.ones(C)) for x in ACTIONS])
    _agree(bandit.estimate(np.ones(C)), reference.decide(psi)[1])


def test_clicks_count_as_one_and_zero() -> None:
    clicks, numbers = _bandit(), _bandit()
    rewards: list[Any] = [True, np.False_, np.True_]
    for reward in rewards:
        for bandit, value in ((clicks, reward), (numbers, float(reward))):
            bandit.learn(bandit.decide([1.0, 2.0, 3.0]), value)
    np.testing.assert_array_equal(clicks.estimate([1.0, 0.0, 0.0]).mean, numbers.estimate([1.0, 0.0, 0.0]).mean)


class _Scores(Policy):
    def __init__(self, scores: Any) -> None:
        self._scores = scores

    def scores(self, outlook: Outlook, progress: Any, rng: Any) -> Any:
        rng.random()
        return self._scores


@pytest.mark.parametrize(
    "scores", [None, 1.0, [1.0] * len(ACTIONS), np.ones(len(ACTIONS) + 1), np.ones((1, len(ACTIONS)))]
)
def test_scores_of_another_shape_are_refused(scores: Any) -> None:
    bandit = oc.Bandit(ACTIONS, oc.LinearModel(Quadratic(), ridge=1.0), _Scores(scores))
    with unchanged(bandit), refused(ValueError, "Policy", "scores must be an array of shape"):
        bandit.decide(np.ones(C))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(value: float) -> None:
    bandit = oc.Bandit(ACTIONS, oc.LinearModel(Quadratic(), ridge=1.0), _Scores(np.full(len(ACTIONS), value)))
    with unchanged(bandit), refused(ValueError, "Policy", "highest score must be finite"):
        bandit.decide(np.ones(C))


def test_numbers_that_overflow_are_refused() -> None:
    bandit = _bandit(samples=3)
    with np.errstate(all="ignore"), unchanged(bandit), refused(ValueError, "Policy", "highest score must be finite"):
        bandit.decide(oc.Gaussian([1e200, 1.0, 1.0], 1.0))
    decision = bandit.decide(np.ones(C))
    with np.errstate(all="ignore"), unchanged(bandit), refused(ValueError, "LinearModel", "scale the contexts"):
        bandit.learn(decision, 1.0, context=[1e200, 1.0, 1.0])
    with unchanged(bandit), refused(ValueError, "Bandit", "reward must be of size 1e+150"):
        bandit.learn(decision, 1e200)


def test_it_says_what_it_is() -> None:
    bandit = _bandit(samples=3)
    bandit.decide(np.ones(C))
    assert repr(bandit) == (
        f"Bandit({len(ACTIONS)} actions, {bandit.model}, {bandit.policy}, samples=3; 1 decisions, 1 open)"
    )


def test_a_failed_merge_leaves_a_fresh_bandit_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh, taught = _bandit(), _bandit()
    taught.learn(taught.decide(np.ones(C)), 1.0)

    def fails(*_: Any) -> None:
        raise ValueError("no room")

    monkeypatch.setattr(type(taught.state.learner), "merge", fails)
    with unchanged(fresh), pytest.raises(ValueError, match="no room"):
        fresh.merge(taught)


def test_a_failed_outcome_of_one_block_touches_no_block() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0))
    decision = bandit.decide([1.0, 2.0])
    with unchanged(bandit), refused(ValueError, "LinearModel", "scale the contexts"):
        bandit.learn(decision, 1.0, context=[1e300, 1e300])
    bandit.learn(decision, 1.0)


@pytest.mark.parametrize("name", ["model", "actions", "recalibrated", "samples", "learnt"])
def test_what_a_bandit_is_made_of_cannot_be_replaced(name: str) -> None:
    bandit = _bandit()
    decision = bandit.decide(np.ones(C))
    with unchanged(bandit), pytest.raises(AttributeError):
        setattr(bandit, name, getattr(bandit, name))
    bandit.learn(decision, 1.0)


def test_another_policy_goes_on_with_what_was_learnt(tmp_path: Path) -> None:
    bandit = _bandit()
    for _ in range(5):
        bandit.learn(bandit.decide(np.ones(C)), 1.0)
    before = bandit.estimate(np.ones(C))
    bandit.policy = oc.Greedy()
    assert bandit.decide(np.ones(C)).index == int(np.argmax(before.mean))
    bandit.save(tmp_path / "bandit")
    assert oc.Bandit.load(tmp_path / "bandit").policy == oc.Greedy()
    with unchanged(bandit), refused(TypeError, "Bandit", "policy must be a policy such as UCB(beta)"):
        bandit.policy = "greedy"  # type: ignore[assignment]


def test_what_was_learnt_can_be_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    bandit = oc.Bandit(np.eye(2), oc.LinearModel(Bilinear()), oc.UCB())
    assert bandit.learnt._asdict() == {"rounds": 0, "open": 0, "noise": None, "ridge": None, "theta": None}
    theta = [3.0, -1.0, 0.5, 2.0]
    for _ in range(300):
        context = rng.normal(size=2)
        decision = bandit.decide(oc.Gaussian(context, 0.0))
        reward = np.dot(theta[2 * decision.index : 2 * decision.index + 2], context)
        bandit.learn(decision, float(reward) + 0.1 * rng.normal())
    bandit.decide(np.ones(2))
    learnt = bandit.learnt
    assert (learnt.rounds, learnt.open) == (300, 1)
    assert learnt.theta is not None
    assert learnt.noise is not None
    assert learnt.ridge is not None
    assert list(learnt.theta) == ["x1 c1", "x1 c2", "x2 c1", "x2 c2"]
    # 0.1 / sqrt(300 / 2 / 2) is the largest standard error, and six of them are exceeded with probability below 1e-7.
    np.testing.assert_allclose(np.array(list(learnt.theta.values())), theta, atol=6 * 0.012)
    assert learnt.noise == pytest.approx(0.1, abs=6 * 0.1 / np.sqrt(2 * 300))
    assert learnt.ridge == pytest.approx(1.0 / bandit.state.learner.fit.prior[0, 0])  # type: ignore[union-attr]
    bandit.save(tmp_path / "bandit")
    assert oc.Bandit.load(tmp_path / "bandit").learnt == learnt


def test_merged_rounds_are_counted_together() -> None:
    one, two = _bandit(), _bandit()
    for bandit, n in ((one, 3), (two, 4)):
        for _ in range(n):
            bandit.learn(bandit.decide(np.ones(C)), 1.0)
    one.forget(one.decide(np.ones(C)))
    one.merge(two)
    assert (one.learnt.rounds, one.learnt.open) == (7, 0)


@pytest.mark.parametrize(
    ("model", "known"),
    [
        (oc.LinearModel(Quadratic(), ridge=2.0), ["ridge", "theta"]),
        (oc.LinearModel(Quadratic(), ridge=2.0, noise=0.1), ["noise", "ridge", "theta"]),
        (oc.LinearModel(Quadratic()), ["noise", "ridge", "theta"]),
        (oc.KernelModel(oc.kernels.RBF(1.0), ridge=0.5), ["ridge"]),
        (models.MeanContext(oc.LinearModel(Quadratic())), ["noise", "ridge", "theta"]),
        (models.FixedProfile(Quadratic()), ["ridge"]),
        (models.NoisyContext(Quadratic()), ["ridge", "theta"]),
        (models.Exp4(Quadratic(), 5), []),
    ],
    ids=repr,
)
def test_each_model_tells_what_it_knows(model: Model, known: list[str]) -> None:
    bandit = oc.Bandit(ACTIONS, model, oc.UCB(1.0))
    bandit.learn(bandit.decide(np.ones(C)), 1.0)
    learnt = bandit.learnt._asdict()
    assert [name for name in ("noise", "ridge", "theta") if learnt[name] is not None] == known


@pytest.mark.parametrize("policy", [oc.UCB(1.0), oc.Thompson(), oc.Repeated(oc.Thompson(), 5)])
@pytest.mark.parametrize("samples", [None, 3])
def test_a_proposal_follows_from_state_seed_and_id_and_is_not_remembered(policy: Policy, samples: int | None) -> None:
    bandit = oc.Bandit(ACTIONS, oc.LinearModel(Bilinear(), ridge=1.0), policy, samples, seed=3)
    belief = oc.Gaussian(np.ones(C), 1.0)
    bandit.learn(bandit.decide(belief), 1.0)
    with unchanged(bandit):
        proposals = [bandit.propose(belief, id=f"{i}") for i in range(40)]
        again = [bandit.propose(belief, id=f"{i}") for i in range(40)]
    assert [one.to_json() | {"time": 0} for one in proposals] == [one.to_json() | {"time": 0} for one in again]
    assert len({one.seed for one in proposals}) == 40
    assert len({one.index for one in proposals}) > 1 or not policy.random
    bandit.adopt(proposals[7])
    bandit.adopt(oc.Decision.from_json(proposals[8].to_json()))
    assert bandit.learnt.open == 2
    with pytest.raises(ValueError, match="open decisions"):
        bandit.propose(belief, id="7")


def test_a_proposal_is_what_decide_would_choose_if_nothing_is_drawn() -> None:
    bandit = oc.Bandit(ACTIONS, oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0))
    for i in range(5):
        belief = oc.Gaussian(np.full(C, i - 2.0), 1.0)
        proposal = bandit.propose(belief, [0, 2, 3], id="x")
        decision = bandit.decide(belief, [0, 2, 3])
        for name in ("index", "mean", "width", "score", "probability", "round", "available"):
            assert getattr(proposal, name) == getattr(decision, name)
        bandit.learn(decision, float(i))
