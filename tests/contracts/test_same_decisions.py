"""A bandit and a simulation take the same decisions from the same seeds, for every model and policy that there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import examples
import overcast as oc
from overcast._check import Array
from overcast.beliefs import NoClosedForm
from overcast.environments.base import Round
from overcast.models import Model
from overcast.policies import Policy
from overcast.round import check_pair

STEPS, TRIALS, SEED = 12, 3, 5
POINTS = np.random.default_rng(0).normal(size=(6, 2))


@dataclass(frozen=True)
class _World:
    """Normal forecasts of contexts among the points, for the actions of an example."""

    actions: Any

    def start(self, rng: np.random.Generator) -> _Trial:
        return _Trial(np.array(self.actions, dtype=float), rng)


class _Trial:
    def __init__(self, actions: Array, rng: np.random.Generator) -> None:
        self.actions, self._rng = actions, rng

    def step(self, past: NDArray[np.intp]) -> Round:
        centre = POINTS[self._rng.integers(len(POINTS))]
        belief = oc.Gaussian(centre, [0.3, 0.2])
        rewards = self._rng.normal(size=len(self.actions))
        return Round(belief, belief.sample(1, self._rng)[0], rewards, rewards, 0.1)


def _pairs() -> list[Any]:
    """Return every model with every policy that goes with it."""
    out = []
    for model, actions in examples.examples("models"):
        for policy in examples.examples("policies"):
            try:
                check_pair("here", model, policy)
            except ValueError:  # the paper's widths, for a model that they do not cover
                continue
            out.append(pytest.param(model, actions, policy, id=f"{examples.label(model)} {examples.label(policy)}"))
    return out


@pytest.mark.parametrize(("model", "actions", "policy"), _pairs())
def test_a_bandit_and_a_simulation_decide_alike(model: Model, actions: Any, policy: Policy) -> None:
    world, samples = _World(actions), None
    try:
        model.view(model.start(np.array(actions, dtype=float), 2), oc.Gaussian([1.0, 2.0], 0.1))
    except NoClosedForm:
        samples = 2
    runs = oc.simulate(world, model, policy, samples, STEPS, TRIALS, "observed", SEED, revealed=0.5)
    seeds = [[np.random.SeedSequence(SEED, spawn_key=(i, stream)) for stream in range(3)] for i in range(TRIALS)]
    for choices, streams in zip(runs.choices, seeds, strict=True):
        of_world, of_learner, of_revealed = streams
        trial = world.start(np.random.default_rng(of_world))
        shown = np.random.default_rng(of_revealed).random(STEPS) < 0.5
        bandit = oc.Bandit(actions, model, policy, samples, seed=of_learner)
        decided: list[int] = []
        for t in range(STEPS):
            now = trial.step(np.array(decided, dtype=np.intp))
            decision = bandit.decide(now.belief)
            decided.append(decision.index)
            bandit.learn(decision, now.reward(decision.index), now.context if shown[t] else None)
        assert decided == choices.tolist()
