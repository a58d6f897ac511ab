"""A stack of learners, one per trial, for models without lock-step learners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from overcast._check import Array
from overcast._units import Vectors
from overcast.beliefs.base import Beliefs, Generators
from overcast.features.design import Index
from overcast.models.base import Estimate, Learner, Model


class LearnerStack(Learner):
    """One learner per trial; views and evidence are lists with one entry per trial."""

    def __init__(self, learners: Sequence[Learner]) -> None:
        self.learners, self.leading = learners, (len(learners),)

    @classmethod
    def of(cls, model: Model, reference: Vectors, context_dim: int, trials: int) -> LearnerStack:
        """Start a learner per trial; the reference set is (k, a), or (r, k, a) for r trials."""
        return cls([model.start(actions, context_dim) for actions in _sets(reference, trials)])

    def _each(self, ask: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return `ask(learner, ...)` for each trial, with the trial's entry of each argument."""
        return [ask(learner, *entries) for learner, *entries in zip(self.learners, *arguments, strict=True)]

    def at(self, vectors: Vectors) -> list[Any]:
        return self._each(lambda learner, actions: learner.at(actions), _sets(vectors, len(self.learners)))

    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> list[Any]:
        rngs = [None] * len(self.learners) if rng is None else rng
        return self._each(lambda learner, belief, g: learner.view(belief, samples, g), beliefs.singles(), rngs)

    def estimate(self, points: list[Any], view: list[Any]) -> Estimate:
        each = self._each(
            lambda learner, trial_points, trial_view: learner.estimate(trial_points, trial_view), points, view
        )
        means, widths = zip(*each, strict=True)
        return Estimate(np.stack(means), np.stack(widths))

    def evidence(self, points: list[Any], view: list[Any], index: Index) -> list[Any]:
        chosen = np.asarray(index)
        return self._each(
            lambda learner, trial_points, trial_view, i: learner.evidence(trial_points, trial_view, int(i)),
            points,
            view,
            chosen,
        )

    def learn(self, evidence: list[Any], reward: float | Array) -> None:
        self._each(
            lambda learner, trial_evidence, y: learner.learn(trial_evidence, float(y)), evidence, np.asarray(reward)
        )

    def awaiting(self, evidence: Sequence[list[Any]], share: float = 1.0) -> LearnerStack:
        return LearnerStack(
            self._each(lambda learner, rounds: learner.awaiting(rounds, share), zip(*evidence, strict=True))
        )

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

    def prior(self, points: list[Any], view: list[Any]) -> Array:
        return np.stack(
            self._each(lambda learner, trial_points, trial_view: learner.prior(trial_points, trial_view), points, view)
        )

    def noise(self, points: list[Any], view: list[Any]) -> Array:
        return np.stack(
            self._each(lambda learner, trial_points, trial_view: learner.noise(trial_points, trial_view), points, view)
        )

    def draw(self, points: list[Any], view: list[Any], rng: Generators) -> Array:
        return np.stack(
            self._each(
                lambda learner, trial_points, trial_view, g: learner.draw(trial_points, trial_view, g),
                points,
                view,
                rng,
            )
        )

    def perturb(self, points: list[Any], view: list[Any], rng: Generators) -> Array:
        return np.stack(
            self._each(
                lambda learner, trial_points, trial_view, g: learner.perturb(trial_points, trial_view, g),
                points,
                view,
                rng,
            )
        )

    def norm(self, evidence: list[Any]) -> Array:
        return np.array(self._each(lambda learner, trial_evidence: learner.norm(trial_evidence), evidence))

    def distance(self, theta: Array) -> Array:
        each = theta if theta.ndim == 2 else [theta] * len(self.learners)
        return np.array(self._each(lambda learner, trial_theta: learner.distance(trial_theta), each))


def _sets(vectors: Vectors, trials: int) -> Sequence[Vectors]:
    """Return the actions of each trial from (k, a) or (r, k, a)."""
    return list(np.asarray(vectors)) if vectors.ndim == 3 else [vectors] * trials
