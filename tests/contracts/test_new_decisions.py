"""A kind of action and a kind of goal that the package does not have, written outside of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array
from overcast.objectives import Mean, Objective
from overcast.spaces import Space

MODELS = [oc.LinearModel(oc.features.Polynomial(2)), oc.KernelModel()]
POLICIES = [oc.UCB(), oc.Thompson()]


class UnitSquare(Space):
    """Any vector in [0, 1]^2: a grid, then ever smaller squares around the best point."""

    candidates = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 7)] * 2), axis=-1).reshape(-1, 2)

    def refine(self, start: Array, score: Callable[[Array], Array]) -> Array:
        for step in 0.5 ** np.arange(3.0, 9.0):
            near = np.clip(start + step * (2.0 * self.candidates - 1.0), 0.0, 1.0)
            start = near[score(near).argmax()]
        return start


class WorstMember(Objective):
    """The reward in the context that is worst for the action."""

    def of(self, values: Array, weights: Array) -> Array:
        return np.asarray(values.min(axis=-2))


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_a_box_is_searched(model: Any, policy: Any) -> None:
    """The reward is highest at an action that lies on no grid and depends on the forecast."""
    bandit, rng, late = oc.Bandit(UnitSquare(), model, policy), np.random.default_rng(1), []
    for t in range(60):
        target = np.array([0.31 + 0.3 * (t % 2), 0.57])
        decision = bandit.decide(oc.Gaussian([float(t % 2)], 0.01))
        if t % 3 == 2:  # decided elsewhere, and known from its record
            bandit.forget(decision)
            bandit.adopt(oc.Decision.from_json(decision.to_json()))
        loss = float(((decision.action - target) ** 2).sum())
        bandit.learn(decision, 5.0 - 20.0 * loss + 0.1 * rng.normal(), context=[float(t % 2)])
        late.append(loss)
    bandit.observe(np.array([[0.2, 0.9], [0.4, 0.4]]), [[0.0], [1.0]], [1.0, 4.0])
    assert (decision.index, bandit.learnt.rounds, len(decision.top(5))) == (None, 62, 5)
    assert not (UnitSquare.candidates == decision.action).all(axis=-1).any()
    assert np.mean(late[-10:]) < 0.01


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_the_worst_case_over_members_decides(model: Any, policy: Any) -> None:
    """On average the bold action earns 1.7 and the safe one 1; in the worst member it loses 1."""
    actions, weather = {"safe": [0.0], "bold": [1.0]}, oc.Ensemble([[1.0], [0.0]], weights=[0.9, 0.1])
    found = {}
    for name, objective in (("mean", Mean()), ("worst", WorstMember())):
        bandit, rng = oc.Bandit(actions, model, policy, objective=objective), np.random.default_rng(2)
        for _ in range(60):
            context = weather.sample(1, rng)[0]
            decision = bandit.decide(weather)
            reward = 1.0 if decision.action == "safe" else 3.0 * context[0] - 1.0
            bandit.learn(decision, reward + 0.1 * rng.normal(), context=context)
        found[name] = bandit.decide(weather)
    assert (found["mean"].action, found["worst"].action) == ("bold", "safe")
    assert found["mean"].value == found["mean"].mean
    safe, bold = found["worst"].top(2)
    assert abs(safe.value - 1.0) < 0.3
    assert bold.value < 0.0 < bold.mean
