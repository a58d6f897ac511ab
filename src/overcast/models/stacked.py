"""Learners of many trials side by side, for models whose trials have nothing to share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.stacked import BeliefStack
from overcast.models.base import Estimate, Generators, Index, Learner


class LearnerStack(Learner):
    """One learner a trial; views and evidence are lists, one entry a trial."""

    def __init__(self, learners: Sequence[Learner]) -> None:
        self._learners = learners

    def encode(self, belief: Belief | BeliefStack) -> list[Any]:
        assert isinstance(belief, BeliefStack)
        return [learner.encode(belief[i]) for i, learner in enumerate(self._learners)]

    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> list[Any]:
        assert isinstance(belief, BeliefStack)
        assert isinstance(rng, Sequence)
        return [learner.encode_sampled(belief[i], samples, rng[i]) for i, learner in enumerate(self._learners)]

    def estimate(self, view: list[Any]) -> Estimate:
        estimates = [learner.estimate(own) for learner, own in zip(self._learners, view, strict=True)]
        return Estimate(np.stack([e.mean for e in estimates]), np.stack([e.width for e in estimates]))

    def prior(self, view: list[Any]) -> Array:
        return np.stack([learner.prior(own) for learner, own in zip(self._learners, view, strict=True)])

    def noise(self, view: list[Any]) -> Array:
        return np.stack([learner.noise(own) for learner, own in zip(self._learners, view, strict=True)])

    def draw(self, view: list[Any], rng: Generators) -> Array:
        assert isinstance(rng, Sequence)
        each = zip(self._learners, view, rng, strict=True)
        return np.stack([learner.draw(own, generator) for learner, own, generator in each])

    def perturb(self, view: list[Any], rng: Generators) -> Array:
        assert isinstance(rng, Sequence)
        each = zip(self._learners, view, rng, strict=True)
        return np.stack([learner.perturb(own, generator) for learner, own, generator in each])

    def evidence(self, view: list[Any], index: Index) -> list[Any]:
        each = zip(self._learners, view, np.asarray(index), strict=True)
        return [learner.evidence(own, int(i)) for learner, own, i in each]

    def learn(self, evidence: list[Any], reward: float | Array) -> None:
        for learner, own, y in zip(self._learners, evidence, np.asarray(reward), strict=True):
            learner.learn(own, float(y))

    def norm(self, evidence: list[Any]) -> Array:
        return np.array([learner.norm(own) for learner, own in zip(self._learners, evidence, strict=True)])

    @property
    def log_det(self) -> Array:
        return np.array([learner.log_det for learner in self._learners])

    @property
    def slack(self) -> Array | None:
        each = [learner.slack for learner in self._learners]
        return None if any(slack is None for slack in each) else np.array(each)
