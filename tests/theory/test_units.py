"""A model that learns its scales depends neither on units nor, where its functions allow for it, on zero points.

Each example drives two bandits through the same rounds, one of them in other units or from other zero points. Both
learn the same actions, and everything that a policy may ask is compared in every round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import overcast as oc
from overcast._check import Array
from overcast.beliefs import Belief
from overcast.decisions.record import Decision
from overcast.features import FeatureMap
from overcast.models.linear import LinearLearner
from support import linear_map

#: errors, beside the largest mean or width of the round
TOLERANCE = 1e-6
DETERMINISTIC = (oc.UCB(), oc.UCB(1.5), oc.IDS(), oc.MostlyGreedy(), oc.Greedy())

EXAMPLES = 8
examples = settings(derandomize=True, deadline=None, max_examples=EXAMPLES, database=None)
Maker = Callable[[np.random.Generator], Array]


class Happening(NamedTuple):
    """One round: a belief, the context and the reward that came, and whether the context was revealed."""

    kind: str
    mean: Array
    root: Array  # (c, c), or (n, c) members around the mean
    context: Array
    taken: int
    reward: float
    revealed: bool

    def belief(self, scale: Array, shift: Array) -> Belief:
        mean = shift + scale * self.mean
        if self.kind == "point":
            return oc.PointMass(shift + scale * self.context)
        if self.kind == "ensemble":
            return oc.Ensemble(shift + scale * (self.mean + self.root))
        root = scale[:, None] * self.root
        return oc.Gaussian(mean, root @ root.T if self.kind == "correlated" else (root**2).sum(axis=1))


@dataclass(repr=False)
class World:
    """Actions (k, a) and rounds; `fixed` says which coordinates of the contexts are always the same."""

    features: FeatureMap
    actions: Array
    rounds: list[Happening]
    fixed: list[int]

    @property
    def c(self) -> int:
        return len(self.rounds[0].mean)


class Change(NamedTuple):
    """Other units and zero points: actions and contexts by coordinate, and rewards."""

    actions: tuple[Array, Array]  # scale and shift
    contexts: tuple[Array, Array]
    rewards: tuple[float, float]

    @classmethod
    def none(cls, world: World) -> Change:
        a, c = world.actions.shape[1], world.c
        return cls((np.ones(a), np.zeros(a)), (np.ones(c), np.zeros(c)), (1.0, 0.0))


def _world(
    features: FeatureMap, actions: Array, seed: int, n: int, hidden: str, kinds: str, c: int, constant: int | None
) -> World:
    """Return rounds of a world whose rewards are linear in the features, with coordinates of many sizes."""
    rng = np.random.default_rng(seed)
    size, centre = np.exp(rng.normal(size=c)), 2.0 * rng.normal(size=c)
    fixed = [] if constant is None else [constant]
    size[fixed], centre[fixed] = 0.0, 1.0
    theta = rng.normal(size=features.size(actions.shape[1], c))
    noise = np.exp(rng.normal()) * 0.3
    rounds = []
    for _ in range(n):
        kind = str(rng.choice(["normal", "correlated", "ensemble", "point"])) if kinds == "mixed" else kinds
        mean = centre + size * rng.normal(size=c)
        root = 0.5 * size[:, None] * rng.normal(size=(c, c))
        if kind == "ensemble":
            root = 0.5 * size * rng.normal(size=(5, c))
        context = mean + (root[rng.integers(5)] if kind == "ensemble" else root @ rng.normal(size=c))
        context[fixed] = 1.0
        index = int(rng.integers(len(actions)))
        signal = features(actions[[index]], context[None])[0, 0] @ theta
        revealed = hidden == "observed" or (hidden == "mixed" and bool(rng.integers(2)))
        rounds.append(Happening(kind, mean, root, context, index, float(signal + noise * rng.normal()), revealed))
    return World(features, actions, rounds, fixed)


def _vectors(rng: np.random.Generator, k: int = 5, a: int = 2) -> Array:
    return 2.0 * rng.normal(size=a) + np.exp(rng.normal(size=a)) * rng.normal(size=(k, a))


def _with_one(rng: np.random.Generator) -> Array:
    return np.insert(_vectors(rng), int(rng.integers(3)), 1.0, axis=1)


def _mixtures(rng: np.random.Generator) -> Array:
    return np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])


def _units(rng: np.random.Generator) -> Array:
    return np.eye(3)


#: map, actions, dimension of contexts, and whether a coordinate of the contexts is constant
Case = tuple[FeatureMap, Maker, int, bool]
BILINEAR: dict[str, Case] = {
    "bilinear": (oc.features.Bilinear(), _vectors, 3, False),
    "bilinear, constant context": (oc.features.Bilinear(), _vectors, 3, True),
    "bilinear, constant action": (oc.features.Bilinear(), _with_one, 2, False),
    "bilinear, both constant": (oc.features.Bilinear(), _with_one, 3, True),
    "varieties": (oc.features.Bilinear(), _mixtures, 3, True),
}
POLYNOMIAL: dict[str, Case] = {
    "quadratic polynomial": (oc.features.Polynomial(2), _vectors, 2, False),
    "cubic polynomial": (oc.features.Polynomial(3), lambda rng: _vectors(rng, a=1), 1, False),
}
DISJOINT: dict[str, Case] = {
    "disjoint": (oc.features.Disjoint(3), _units, 2, False),
    "disjoint, constant context": (oc.features.Disjoint(3), _units, 3, True),
}
LINEAR: dict[str, Case] = {
    "linear": (oc.features.Linear(), _vectors, 2, False),
    "linear, constant action": (oc.features.Linear(), _with_one, 2, False),
    "linear, constant context": (oc.features.Linear(), _vectors, 2, True),
}
QUADRATIC: dict[str, Case] = {"quadratic": (oc.features.Quadratic(), _vectors, 2, False)}
ALL = BILINEAR | POLYNOMIAL | DISJOINT | LINEAR | QUADRATIC
WITH_CONSTANT = POLYNOMIAL | {
    name: ALL[name]
    for name in (
        "bilinear, both constant",
        "varieties",
        "disjoint, constant context",
        "linear, constant action",
        "linear, constant context",
    )
}


@st.composite
def worlds(draw: st.DrawFn, case: Case) -> World:
    features, make, c, constant = case
    seed = draw(st.integers(0, 2**32 - 1))
    return _world(
        features,
        make(np.random.default_rng(seed)),
        seed,
        draw(st.integers(10, 60)),
        draw(st.sampled_from(["hidden", "observed", "mixed"])),
        draw(st.sampled_from(["mixed", "normal", "correlated", "ensemble", "point"])),
        c,
        draw(st.integers(0, c - 1)) if constant else None,
    )


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    """Return powers of ten between two exponents."""
    return st.floats(low, high).map(lambda exponent: float(10.0**exponent))


def _options(decision: Decision, k: int) -> Array:
    """Return mean, width and score of all actions, (3, k)."""
    options = sorted(decision.top(k), key=lambda option: option.index)
    return np.array([[getattr(option, name) for option in options] for name in ("mean", "width", "score")])


def _close(got: Array, expected: Array, scale: float) -> None:
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=TOLERANCE * scale)


class Pair:
    """A bandit and the same one in other units, both driven through the rounds of a world."""

    def __init__(self, world: World, change: Change, samples: int | None = None) -> None:
        self.world, self.changes = world, (Change.none(world), change)
        self.bandits = [
            oc.Bandit(
                change.actions[1] + change.actions[0] * world.actions,
                oc.LinearModel(world.features),
                oc.UCB(),
                samples=samples,
            )
            for change in self.changes
        ]

    def run(self) -> None:
        for t, now in enumerate(self.world.rounds):
            beliefs = [now.belief(*change.contexts) for change in self.changes]
            self._compare(DETERMINISTIC[t % len(DETERMINISTIC)], beliefs)
            for bandit, belief, change in zip(self.bandits, beliefs, self.changes, strict=True):
                bandit.policy = oc.Greedy()
                decision = bandit.decide(belief, available=[now.taken])
                context = change.contexts[1] + change.contexts[0] * now.context if now.revealed else None
                bandit.learn(decision, change.rewards[1] + change.rewards[0] * now.reward, context)

    def _compare(self, policy: oc.policies.Policy, beliefs: list[Belief]) -> None:
        k, decisions = len(self.world.actions), []
        for bandit, belief in zip(self.bandits, beliefs, strict=True):
            bandit.policy = policy
            decisions.append(bandit.decide(belief))
            bandit.forget(decisions[-1])
        one, two = (_options(decision, k) for decision in decisions)
        unit, zero = self.changes[1].rewards
        finite = one[2][np.isfinite(one[2])]
        if self.bandits[0].learnt.noise is None:  # rewards have given no unit yet
            _close(two[1] / two[1].max(), one[1] / one[1].max(), 1.0)
            close = np.isclose(one[2], one[2].max(), rtol=TOLERANCE, atol=TOLERANCE * one[1].max())
        else:
            shifts = np.array([[zero], [0.0], [0.0 if isinstance(policy, oc.IDS) else zero]])
            two = (two - shifts) / unit
            scale = float(max(np.abs(one[0]).max(), one[1].max()))
            _close(two[0], one[0], scale)
            _close(two[1], one[1], one[1].max())
            size = max(scale, float(np.abs(finite).max()))
            _close(two[2][np.isfinite(one[2])], finite, size)
            close = one[2] >= one[2].max() - 2.0 * TOLERANCE * size
        if decisions[0].index != decisions[1].index:
            assert close[decisions[1].index], "another action that is not as good"


def _run(world: World, change: Change) -> None:
    """Compare bandits in every round, and at the end what random policies draw from."""
    pair = Pair(world, change)
    pair.run()
    one, two = (_law(*each, world.rounds[0]) for each in zip(pair.bandits, pair.changes, strict=True))
    for name, expected in one.items():
        _close(two[name], expected, float(np.abs(expected).max()))


def _law(bandit: oc.Bandit, change: Change, now: Happening) -> dict[str, Array]:
    """Return the covariances of draws and perturbations, the noise and the prior, in the original unit."""
    learner, unit = bandit.state.learner, change.rewards[0]
    assert isinstance(learner, LinearLearner)
    points = learner.at(bandit.actions.candidates)
    view, d = learner.view(now.belief(*change.contexts)), learner.theta.size
    draws = linear_map(lambda rng: learner.draw(points, view, rng), d) / unit
    moved = linear_map(lambda rng: learner.perturb(points, view, rng), d) / unit
    return {
        "draw": draws.T @ draws,
        "perturb": moved.T @ moved,
        "noise": learner.noise(points, view) / unit,
        "prior": learner.prior(points, view) / unit,
    }


def of_each(cases: dict[str, Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases.keys())


@of_each(ALL)
@examples
@given(data=st.data())
def test_units_do_not_matter(case: Case, data: st.DataObject) -> None:
    world = data.draw(worlds(case))
    a, c = world.actions.shape[1], world.c
    scales = [np.array(data.draw(st.lists(powers(-3, 3), min_size=n, max_size=n))) for n in (a, c)]
    if isinstance(world.features, oc.features.Disjoint):
        scales[0] = np.ones(a)
    of_rewards = data.draw(powers(-6, 6))
    _run(world, Change((scales[0], np.zeros(a)), (scales[1], np.zeros(c)), (of_rewards, 0.0)))


def _shifts(data: st.DataObject, spread: Array, units: float = 1000.0) -> Array:
    """Return shifts of coordinates, up to 50 standard deviations or `units`; none of those without a spread."""
    n = len(spread)
    times = np.array(data.draw(st.lists(st.floats(-1.0, 1.0), min_size=n, max_size=n)))
    return np.asarray(times * (units if data.draw(st.booleans()) else 50.0 * spread) * (spread > 0.0))


def _spread_of_contexts(world: World) -> Array:
    spread: Array = np.array([now.context for now in world.rounds]).std(axis=0)
    spread[world.fixed] = 0.0
    return spread


@of_each(POLYNOMIAL | {name: case for name, case in (BILINEAR | DISJOINT).items() if case[3]})
@examples
@given(data=st.data())
def test_zero_points_of_contexts_do_not_matter(case: Case, data: st.DataObject) -> None:
    world = data.draw(worlds(case))
    none, spread = Change.none(world), _spread_of_contexts(world)
    # The sixth powers that cubic functions need of a hidden context lose all digits a thousand deviations away.
    cubic = world.features == oc.features.Polynomial(3)
    shifts = _shifts(data, spread, 50.0 * float(spread.min()) if cubic else 1000.0)
    _run(world, none._replace(contexts=(none.contexts[0], shifts)))


@of_each(POLYNOMIAL | {name: BILINEAR[name] for name in ("bilinear, constant action", "bilinear, both constant")})
@examples
@given(data=st.data())
def test_zero_points_of_actions_do_not_matter(case: Case, data: st.DataObject) -> None:
    world = data.draw(worlds(case))
    none = Change.none(world)
    _run(world, none._replace(actions=(none.actions[0], _shifts(data, world.actions.std(axis=0)))))


@of_each(WITH_CONSTANT)
@examples
@given(data=st.data())
def test_the_zero_point_of_rewards_does_not_matter(case: Case, data: st.DataObject) -> None:
    world = data.draw(worlds(case))
    spread = float(np.std([now.reward for now in world.rounds]))
    unit = data.draw(powers(-6, 6))
    _run(world, Change.none(world)._replace(rewards=(unit, unit * float(_shifts(data, np.array([spread]))[0]))))
