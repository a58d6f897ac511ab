"""A model that plugs in the mean of the context: the shortcut that the method improves on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.point import PointMass
from overcast.beliefs.stacked import BeliefStack, PointStack
from overcast.models.base import Estimate, Generators, Index, LastingLearner, Learner, Model


@dataclass(frozen=True)
class MeanContext(Model):
    """The model as if the context were E_mu[c] for certain: f(x, E[c]) in place of E[f(x, c)].

    The two agree where f is linear in c, and differ the more f is curved and the belief is wide.

    Parameters
    ----------
    model : what it would be given certainty

    Examples
    --------
    >>> from overcast.features import Bilinear
    >>> from overcast.models import LinearModel
    >>> MeanContext(LinearModel(Bilinear(), ridge=1.0)).ridge
    1.0
    """

    model: Model

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            raise TypeError(
                f"MeanContext: model must be a model such as LinearModel(features), got {_check.short(self.model)}"
            )
        object.__setattr__(self, "ridge", self.model.ridge)
        object.__setattr__(self, "block", self.model.block)
        object.__setattr__(self, "uses_context", self.model.uses_context)

    @property
    def theory_ridge(self) -> float | None:
        return self.model.theory_ridge

    def start(self, actions: Array, context_dim: int) -> LastingLearner:
        return _LastingMean(self.model.start(actions, context_dim))

    def start_all(self, actions: Array, context_dim: int, trials: int) -> Learner:
        return _Mean(self.model.start_all(actions, context_dim, trials))


class _Mean(Learner):
    """Hands on everything but the beliefs."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    def encode(self, belief: Belief | BeliefStack) -> Any:
        return self._learner.encode(_certain(belief, belief.mean()))

    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> Any:
        return self._learner.encode(_certain(belief, belief.sample_mean(samples, rng)))  # type: ignore[arg-type]

    def estimate(self, view: Any) -> Estimate:
        return self._learner.estimate(view)

    def prior(self, view: Any) -> Array:
        return self._learner.prior(view)

    def noise(self, view: Any) -> Array:
        return self._learner.noise(view)

    def draw(self, view: Any, rng: Generators) -> Array:
        return self._learner.draw(view, rng)

    def perturb(self, view: Any, rng: Generators) -> Array:
        return self._learner.perturb(view, rng)

    def evidence(self, view: Any, index: Index) -> Any:
        return self._learner.evidence(view, index)

    def learn(self, evidence: Any, reward: float | Array) -> None:
        self._learner.learn(evidence, reward)

    def norm(self, evidence: Any) -> Array:
        return self._learner.norm(evidence)

    @property
    def log_det(self) -> float | Array:
        return self._learner.log_det

    @property
    def slack(self) -> float | Array | None:
        return self._learner.slack


class _LastingMean(_Mean, LastingLearner):
    _learner: LastingLearner

    def state(self) -> dict[str, Array]:
        return self._learner.state()

    def restore(self, state: dict[str, Array]) -> None:
        self._learner.restore(state)

    def pack(self, evidence: Sequence[Any]) -> dict[str, Array]:
        return self._learner.pack(evidence)

    def unpack(self, arrays: dict[str, Array]) -> Sequence[Any]:
        return self._learner.unpack(arrays)

    def merge(self, other: _LastingMean) -> None:
        self._learner.merge(other._learner)


def _certain(belief: Belief | BeliefStack, mean: Array) -> Belief | BeliefStack:
    return PointMass(mean) if isinstance(belief, Belief) else PointStack(mean)
