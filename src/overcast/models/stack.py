"""Learners of many trials side by side, for models without a lock-step of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Beliefs, Generators
from overcast.features.design import Index
from overcast.models.base import Estimate, Learner, Model


class LearnerStack(Learner):
    """One learner per trial; views and evidence are lists with one entry per trial."""

    def __init__(self, learners: Sequence[Learner]) -> None:
        self.learners = learners

    @classmethod
    def of(cls, model: Model, actions: Array, context_dim: int, trials: int) -> LearnerStack:
        """Return fresh learners of a model for actions (k, a) or (r, k, a)."""
        sets = actions if actions.ndim == 3 else [actions] * trials
        return cls([model.start(np.asarray(own), context_dim) for own in sets])

    def _each(self, ask: Callable[..., Any], *given: Any) -> list[Any]:
        return [ask(learner, *own) for learner, *own in zip(self.learners, *given, strict=True)]

    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> list[Any]:
        rngs = [None] * len(self.learners) if rng is None else rng
        return self._each(lambda learner, own, g: learner.view(own, samples, g), beliefs.singles(), rngs)

    def estimate(self, view: list[Any]) -> Estimate:
        means, widths = zip(*self._each(lambda learner, own: learner.estimate(own), view), strict=True)
        return Estimate(np.stack(means), np.stack(widths))

    def evidence(self, view: list[Any], index: Index) -> list[Any]:
        return self._each(lambda learner, own, i: learner.evidence(own, int(i)), view, np.asarray(index))

    def learn(self, evidence: list[Any], reward: float | Array) -> None:
        self._each(lambda learner, own, y: learner.learn(own, float(y)), evidence, np.asarray(reward))

    def awaiting(self, evidence: Sequence[list[Any]], share: float = 1.0) -> LearnerStack:
        return LearnerStack(self._each(lambda learner, own: learner.awaiting(own, share), zip(*evidence, strict=True)))

    @property
    def log_det(self) -> Array:
        return np.array([learner.log_det for learner in self.learners])

    @property
    def residual_share(self) -> Array | None:
        each = [learner.residual_share for learner in self.learners]
        return None if any(share is None for share in each) else np.array(each)

    @property
    def even_variance(self) -> Array | None:
        each = [learner.even_variance for learner in self.learners]
        return None if any(variance is None for variance in each) else np.array(each)

    @property
    def diversity(self) -> Array | None:
        each = [learner.diversity for learner in self.learners]
        return None if any(share is None for share in each) else np.array(each)

    def prior(self, view: list[Any]) -> Array:
        return np.stack(self._each(lambda learner, own: learner.prior(own), view))

    def noise(self, view: list[Any]) -> Array:
        return np.stack(self._each(lambda learner, own: learner.noise(own), view))

    def draw(self, view: list[Any], rng: Generators) -> Array:
        return np.stack(self._each(lambda learner, own, g: learner.draw(own, g), view, rng))

    def perturb(self, view: list[Any], rng: Generators) -> Array:
        return np.stack(self._each(lambda learner, own, g: learner.perturb(own, g), view, rng))

    def norm(self, evidence: list[Any]) -> Array:
        return np.array(self._each(lambda learner, own: learner.norm(own), evidence))

    def distance(self, theta: Array) -> Array:
        each = theta if theta.ndim == 2 else [theta] * len(self.learners)
        return np.array(self._each(lambda learner, own: learner.distance(own), each))
