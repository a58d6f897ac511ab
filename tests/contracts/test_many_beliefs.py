"""Every model with every feature map: a learner asked about n beliefs at once gives what it gives for each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import examples
from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, NoClosedForm, PointMass
from overcast.beliefs.stacked import Catalogue
from overcast.models import LastingLearner, Model

C = 2
RNG = np.random.default_rng(0)
NORMAL: list[Belief] = [Gaussian(mean, sd=[0.4, 0.7]) for mean in RNG.normal(size=(8, C))]
FINITE: list[Belief] = [Ensemble(RNG.normal(size=(3, C))) for _ in range(8)]
CERTAIN: list[Belief] = [PointMass(context) for context in RNG.normal(size=(8, C))]


def _cases() -> list[tuple[Model, Array]]:
    """Return the examples of all models; those with a feature map also with each of the other maps."""
    out = list(examples.examples("models"))
    for model, _ in examples.examples("models"):
        given: Any = model
        if hasattr(given, "features"):
            out += [(replace(given, features=features), actions) for features, actions in examples.examples("features")]
    return out


each_case = pytest.mark.parametrize(("model", "actions"), _cases(), ids=examples.label)


def _beliefs(model: Model, learner: LastingLearner) -> list[Belief]:
    """Return beliefs that the model takes without draws."""
    for beliefs in (NORMAL, FINITE):
        try:
            model.view(learner, beliefs[0])
        except NoClosedForm:
            continue
        return beliefs
    return CERTAIN


def _numbers(learner: LastingLearner, points: Any, view: Any) -> dict[str, Array]:
    mean, width = learner.estimate(points, view)
    rng = np.random.default_rng(3)
    moved = {"draw": learner.draw(points, view, rng)} if _draws_jointly(learner) else {}
    return {"mean": mean, "width": width, "prior": learner.prior(points, view)} | moved


def _draws_jointly(learner: LastingLearner) -> bool:
    """Return whether one theta moves all actions under all beliefs, so that a draw about several is one about each."""
    return hasattr(learner, "theta")


@each_case
@pytest.mark.parametrize("rounds", [0, 1, 4, 25])
def test_many_beliefs_are_each_of_them(model: Model, actions: Array, rounds: int) -> None:
    """As many as there are features, contexts or actions too, so that no axis passes for another one."""
    vectors = np.asarray(actions, dtype=float)
    learner = model.start(vectors, C)
    points, beliefs = learner.at(vectors), _beliefs(model, learner)
    for t in range(rounds):
        view = model.view(learner, beliefs[t % 5] if t % 3 else CERTAIN[t % 5])
        learner.learn(learner.evidence(points, view, t * t % len(vectors)), float(np.sin(3.0 * t)) + t % 2)
    for n in sorted({1, 2, C, len(vectors), _features_of(model, vectors)}):
        several = [beliefs[i % len(beliefs)] for i in range(n)]
        many = _numbers(learner, points, model.view(learner, Catalogue(several).pick(np.arange(n))))
        each = [_numbers(learner, points, model.view(learner, belief)) for belief in several]
        for name, value in many.items():
            assert value.shape == (n, len(vectors)), name
            single = np.stack([one[name] for one in each])
            np.testing.assert_allclose(value, single, rtol=1e-10, atol=1e-10 * np.abs(single).max(), err_msg=name)


@each_case
def test_each_of_many_beliefs_is_drawn_from_by_its_own_generator(model: Model, actions: Array) -> None:
    vectors, n = np.asarray(actions, dtype=float), 3
    learner = model.start(vectors, C)
    points, stack = learner.at(vectors), Catalogue(NORMAL).pick(np.arange(n))
    many = learner.estimate(points, model.view(learner, stack, 4, [np.random.default_rng(i) for i in range(n)]))
    for i in range(n):
        one = learner.estimate(points, model.view(learner, NORMAL[i], 4, np.random.default_rng(i)))
        for got, expected in zip(many, one, strict=True):
            np.testing.assert_allclose(got[i], expected, rtol=1e-10, atol=1e-12)


def _features_of(model: Model, vectors: Array) -> int:
    """Return d, or that of a block."""
    features = getattr(getattr(model, "model", model), "features", None)
    if features is None:
        return int(vectors.shape[1]) * C
    return C if model.labels else int(features.size(vectors.shape[1], C))
