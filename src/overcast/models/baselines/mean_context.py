"""A baseline that plugs in the mean of the context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from overcast import _check
from overcast._linalg import Indices
from overcast._units import Vectors
from overcast.beliefs.base import Beliefs
from overcast.beliefs.stacked import certain
from overcast.models.base import LastingLearner, Learner, Model


@dataclass(frozen=True)
class MeanContext(Model):
    """A model that takes E_mu[c] for the context: f(x, E[c]) in place of E[f(x, c)].

    Both agree if f is linear in c. They differ more the more f is curved and the wider the belief is.

    Parameters
    ----------
    model : the model that takes the mean

    Examples
    --------
    >>> from overcast.features import Bilinear
    >>> from overcast.models import LinearModel
    >>> MeanContext(LinearModel(Bilinear(), ridge=1.0)).model
    LinearModel(features=Bilinear(), ridge=1.0)
    """

    model: Model

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            raise TypeError(
                f"MeanContext: model must be a model such as LinearModel(features), got {_check.short(self.model)}"
            )
        object.__setattr__(self, "batch", self.model.batch)
        object.__setattr__(self, "uses_context", self.model.uses_context)
        object.__setattr__(self, "takes_history", self.model.takes_history)
        object.__setattr__(self, "labels", self.model.labels)
        object.__setattr__(self, "fixed_actions", self.model.fixed_actions)

    def widened(self, a: int) -> MeanContext:
        return MeanContext(self.model.widened(a))

    def size(self, a: int, c: int) -> int | None:
        return self.model.size(a, c)

    def silent(self, actions: Vectors) -> Indices:
        return self.model.silent(actions)

    def start(self, reference: Vectors, context_dim: int) -> LastingLearner:
        return self.model.start(reference, context_dim)

    def start_all(self, reference: Vectors, context_dim: int, trials: int) -> Learner:
        return self.model.start_all(reference, context_dim, trials)

    def view(self, learner: Learner, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> Any:
        mean = beliefs.mean() if samples is None else beliefs.sample_mean(samples, rng)
        return self.model.view(learner, certain(mean))
