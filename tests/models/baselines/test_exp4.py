"""EXP4 against the textbook, its bound, and its numbers in long runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array
from overcast.environments import Synthetic
from overcast.features import Bilinear, Quadratic
from overcast.models import Exp4, Model, Parameters
from support import refused

POINTS = np.random.default_rng(0).normal(size=(6, 2))
EXAMPLES: list[tuple[Model, Array]] = [
    (Exp4(Bilinear(), experts=8), POINTS[:3]),
    (Exp4(Bilinear(), experts=8, low=-2.0, high=3.0), POINTS[:3]),
]

ACTIONS = np.random.default_rng(0).normal(size=(5, 2))
EXPERTS = np.random.default_rng(1).normal(size=(7, 4))


def _textbook(
    k: int, past: list[tuple[list[int], int, float, float]], low: float, high: float, advice: list[int]
) -> Array:
    """Return p_t from the rounds so far, each (advice, action, probability, reward), by plain products of weights."""
    n, t = len(advice), len(past) + 1
    eta = math.sqrt(math.log(n) / (min(k, n) * t))
    gamma = min(0.5, eta)
    weights = [1.0] * n
    for advised, action, p, y in past:
        for j in range(n):
            estimate = (high - y) / (high - low) / p if advised[j] == action else 0.0
            weights[j] *= math.exp(-eta * estimate)
    total = sum(weights)
    return np.array(
        [
            (1 - gamma) * sum(w for w, a in zip(weights, advice, strict=True) if a == x) / total + gamma / k
            for x in range(k)
        ]
    )


@pytest.mark.parametrize("given", [(-3.0, 2.0), None])
def test_it_is_the_textbook_algorithm(given: tuple[float, float] | None) -> None:
    low, high = given or (None, None)
    bandit = oc.Bandit(ACTIONS, Exp4(Bilinear(), EXPERTS, low, high), oc.Proportional(), seed=3)
    rng = np.random.default_rng(2)
    past: list[tuple[list[int], int, float, float]] = []
    for _ in range(60):
        belief = oc.Gaussian(rng.normal(size=2), 1.0)
        psi = Bilinear().expected(ACTIONS, belief)
        advice = [int(np.argmax(psi @ theta)) for theta in EXPERTS]
        seen = [y for *_, y in past]
        ends = given or ((min(seen), max(seen)) if len(set(seen)) > 1 else (0.0, 1.0))
        p = _textbook(5, past if given or len(set(seen)) > 1 else [], *ends, advice)
        if given is None and len(set(seen)) < 2:  # no range yet: equal weights, at the rate of the round
            gamma = min(0.5, math.sqrt(math.log(7) / (5 * (len(past) + 1))))
            p = (1 - gamma) * np.bincount(advice, minlength=5) / 7 + gamma / 5
        np.testing.assert_allclose(np.exp(bandit.estimate(belief).mean), p, rtol=1e-9)
        assert p.sum() == pytest.approx(1.0)
        decision = bandit.decide(belief)
        assert decision.width == 0.0
        reward = float(rng.uniform(-3.0, 2.0)) + 0.1 * decision.index
        bandit.learn(decision, reward)
        past.append((advice, decision.index, float(p[decision.index]), min(reward, 2.0) if given else reward))


class _Toy:
    """Rewards 0 or 1 with odds by action; expert j always advises action j."""

    def __init__(self, seed: int, odds: list[float]) -> None:
        self.k, self.odds = len(odds), np.array(odds)
        self.rng = np.random.default_rng(seed)
        model = Exp4(Bilinear(), np.eye(self.k), low=0.0, high=1.0)
        self.learner = model.start(np.eye(self.k), 1)
        self.points = self.learner.at(np.eye(self.k))
        self.view = self.learner.view(oc.PointMass([1.0]))

    def play(self, rounds: int) -> Array:
        """Return the expected regret of each round."""
        regret = np.empty(rounds)
        for t in range(rounds):
            p = np.exp(self.learner.estimate(self.points, self.view).mean)
            x = min(int(np.searchsorted(p.cumsum(), self.rng.random())), self.k - 1)
            self.learner.learn(
                self.learner.evidence(self.points, self.view, x), float(self.rng.random() < self.odds[x])
            )
            regret[t] = self.odds.max() - self.odds[x]
        return regret


def test_regret_against_the_best_expert_is_sublinear_and_within_the_bound() -> None:
    """The bound is on the expectation; the average over 5 runs is far below it. Deterministic by the seeds."""
    n = k = 4
    runs = np.cumsum([_Toy(seed, [0.2, 0.8, 0.4, 0.5]).play(4000) for seed in range(5)], axis=1).mean(axis=0)
    t = np.arange(1, 4001)
    bound = 3 * np.sqrt(k * t * math.log(n)) + 2 * np.sqrt(t * math.log(n) / k)
    assert (runs <= bound).all()
    assert runs[-1] < 0.6 * 4 * runs[999]


def test_numbers_stay_finite_over_100_000_rounds() -> None:
    toy = _Toy(0, [0.0, 1.0])
    toy.play(100_000)
    estimate = toy.learner.estimate(toy.points, toy.view)
    assert np.isfinite(estimate.mean).all()
    assert np.isfinite(toy.learner.weights).all()
    assert toy.learner.weights[1] > 0.999
    assert estimate.mean[0] < -5.0


def test_the_range_learnt_does_not_depend_on_shift_or_scale() -> None:
    bandits = [oc.Bandit(ACTIONS, Exp4(Bilinear(), EXPERTS), oc.Proportional(), seed=3) for _ in range(2)]
    rng = np.random.default_rng(2)
    for _ in range(30):
        belief, noise = oc.Gaussian(rng.normal(size=2), 1.0), rng.normal()
        for bandit, scale in zip(bandits, (1.0, 100.0), strict=True):
            decision = bandit.decide(belief)
            bandit.learn(decision, 7.0 * scale + scale * (decision.index + noise))
    np.testing.assert_allclose(bandits[0].estimate(belief).mean, bandits[1].estimate(belief).mean, rtol=1e-9)


def test_rewards_beyond_the_range_count_as_its_ends() -> None:
    means = []
    for reward in (1.0, 50.0):
        bandit = oc.Bandit(ACTIONS, Exp4(Bilinear(), EXPERTS, low=0.0, high=1.0), oc.Proportional())
        bandit.learn(bandit.decide([1.0, 2.0]), reward)
        means.append(bandit.estimate([1.0, 2.0]).mean)
    np.testing.assert_array_equal(means[0], means[1])


def test_random_experts_follow_from_the_seed() -> None:
    one, two, other = (Exp4(Quadratic(), 6, seed=seed).directions(15) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, other)
    np.testing.assert_allclose(np.linalg.norm(one, axis=1), 1.0)


@pytest.mark.parametrize("samples", [None, 3])
def test_lock_step_equals_trials_of_their_own(samples: int | None) -> None:
    env = Synthetic(k=4, dim=2)
    together, alone = (
        oc.simulate(env, Exp4(env.features, 5), oc.Proportional(), samples, steps=15, trials=n) for n in (3, 1)
    )
    np.testing.assert_array_equal(together.choices[:1], alone.choices)


@pytest.mark.parametrize("experts", [EXPERTS, 5])
def test_save_load_and_merge(experts: Any, tmp_path: Path) -> None:
    model = Exp4(Bilinear(), experts, rate=2.0)
    bandit = oc.Bandit(ACTIONS, model, oc.Proportional())
    rng = np.random.default_rng(1)
    for t in range(12):
        bandit.learn(bandit.decide(oc.Gaussian(rng.normal(size=2), 0.3)), float(t))
    waiting = bandit.decide(oc.Gaussian(rng.normal(size=2), 0.3))
    bandit.save(tmp_path / "bandit")
    loaded = oc.Bandit.load(tmp_path / "bandit")
    assert loaded.model == model
    at = oc.Gaussian([0.1, 0.2], 1.0)
    for each in (bandit, loaded):
        each.learn(waiting.id, 2.0)
    np.testing.assert_array_equal(loaded.estimate(at), bandit.estimate(at))
    assert [loaded.decide(at).index for _ in range(9)] == [bandit.decide(at).index for _ in range(9)]
    fresh = oc.Bandit(ACTIONS, model, oc.Proportional())
    fresh.merge(oc.Bandit(ACTIONS, model, oc.Proportional()))
    fresh.merge(bandit)
    np.testing.assert_array_equal(fresh.estimate(at), bandit.estimate(at))
    fresh.save(tmp_path / "fresh")  # with nothing open
    np.testing.assert_array_equal(oc.Bandit.load(tmp_path / "fresh").estimate(at), bandit.estimate(at))


def test_parts_learnt_apart_add_up_in_the_range_of_both() -> None:
    parts = [oc.Bandit(ACTIONS, Exp4(Bilinear(), EXPERTS), oc.Proportional(), seed=seed) for seed in (0, 1)]
    for part, rewards in zip(parts, ([3.0, 4.0], [-1.0, 0.0]), strict=True):
        for reward in rewards:
            part.learn(part.decide([1.0, -1.0]), reward)
    parts[0].merge(parts[1])
    learner: Any = parts[0].state.learner
    assert learner._range == (-1.0, 4.0)
    assert learner._rounds == 4


def test_available_actions_alone_are_drawn() -> None:
    bandit = oc.Bandit(ACTIONS, Exp4(Bilinear(), EXPERTS), oc.Proportional())
    for _ in range(50):
        decision = bandit.decide([1.0, 2.0], available=[1, 3])
        assert decision.index in (1, 3)
        bandit.learn(decision, 1.0)


def test_refusals() -> None:
    with refused(TypeError, "Exp4", "features must be a feature map such as"):
        Exp4(3, 5)  # type: ignore[arg-type]
    with refused(ValueError, "Exp4", "experts must be >= 2, got 1"):
        Exp4(Bilinear(), 1)
    with refused(ValueError, "Exp4", "number of experts must be >= 2, got 1"):
        Exp4(Bilinear(), [[1.0, 2.0]])
    with refused(ValueError, "Exp4", "experts must have the 4 dimensions of the features, got 3"):
        oc.Bandit(ACTIONS, Exp4(Bilinear(), np.ones((2, 3))), oc.Proportional()).decide([1.0, 2.0])
    with refused(ValueError, "Exp4", "low and high must both be given or both be None, got None and 1.0"):
        Exp4(Bilinear(), 5, high=1.0)
    with refused(ValueError, "Exp4", "high must be > 1, got 1.0"):
        Exp4(Bilinear(), 5, low=1.0, high=1.0)
    with refused(ValueError, "Exp4", "rate must be > 0"):
        Exp4(Bilinear(), 5, rate=0.0)


def test_a_revealed_context_changes_nothing() -> None:
    told, untold = (oc.Bandit(np.eye(2), Exp4(Bilinear(), 4), oc.Proportional()) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(20):
        belief, reward = oc.Gaussian(rng.normal(size=2), 1.0), float(rng.normal())
        one, two = told.decide(belief), untold.decide(belief)
        assert one.index == two.index
        np.testing.assert_array_equal(told.estimate(belief).mean, untold.estimate(belief).mean)
        told.learn(one, reward, context=[1.0, 2.0])
        untold.learn(two, reward)
    decision = told.decide(oc.Gaussian([0.0, 0.0], 1.0))
    with refused(ValueError, "Bandit", "context"):
        told.learn(decision, 1.0, context=[1.0, 2.0, 3.0])
    env = oc.environments.CoinFlip()
    hidden, observed = (
        oc.simulate(env, Exp4(env.features, 4), oc.Proportional(), steps=20, trials=3, setting=setting)
        for setting in ("hidden", "observed")
    )
    np.testing.assert_array_equal(hidden.choices, observed.choices)


def test_odds_have_no_uncertainty() -> None:
    learner = Exp4(Bilinear(), EXPERTS).start(ACTIONS, 2)
    points = learner.at(ACTIONS)
    view, rng = learner.view(oc.PointMass([1.0, 2.0])), np.random.default_rng(0)
    for zeros in (
        learner.prior(points, view),
        learner.draw(points, view, rng),
        learner.perturb(points, view, rng),
        learner.estimate(points, view).width,
    ):
        np.testing.assert_array_equal(zeros, np.zeros(5))
    np.testing.assert_array_equal(learner.noise(points, view), np.ones(5))


def test_evidence_needs_no_estimate_before_it() -> None:
    """Estimates of this view, or of another one, do not change the evidence."""
    model = Exp4(Bilinear(), EXPERTS)
    asked, unasked = (model.start(ACTIONS, 2) for _ in range(2))
    points, same = asked.at(ACTIONS), unasked.at(ACTIONS)
    rng = np.random.default_rng(0)
    for t in range(12):
        belief, other = (oc.Gaussian(rng.normal(size=2), 0.5) for _ in range(2))
        view = asked.view(belief)
        odds = np.exp(asked.estimate(points, view).mean)
        asked.estimate(points, asked.view(other))
        index, reward = int(rng.integers(5)), float(rng.normal())
        one, two = asked.evidence(points, view, index), unasked.evidence(same, unasked.view(belief), index)
        np.testing.assert_array_equal(one.advisers, two.advisers)
        np.testing.assert_array_equal(one.advisers, asked._advice(points, view) == index)
        assert one.probability == two.probability
        assert one.probability == pytest.approx(float(odds[index]), rel=1e-12)
        for learner, evidence in ((asked, one), (unasked, two)):
            learner.learn(evidence, reward)
        np.testing.assert_array_equal(asked.weights, unasked.weights)
        assert t == 0 or len(set(asked.weights)) > 1


def test_no_parameters_are_learnt() -> None:
    assert Exp4(Bilinear(), EXPERTS).start(ACTIONS, 2).parameters == Parameters()
