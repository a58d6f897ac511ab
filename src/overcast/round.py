"""One decision round, for a bandit and for simulated trials alike: view, outlook, scores, choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Beliefs, Generators
from overcast.features.design import Index
from overcast.models.base import Estimate, Learner, Mask, Model, Progress
from overcast.models.stack import LearnerStack
from overcast.policies.base import Policy
from overcast.policies.outlook import Outlook

Samples = int | Literal["t"] | None

# Equal scores come out of BLAS a few rounding errors apart, in an order that depends on the machine.
TIE = 1e-12


class Choice(NamedTuple):
    """What a round decided.

    action : the index of the action taken; (r,) in lock-step
    view : what the learner saw, to make evidence of
    estimate : mean and width of all actions, (..., k)
    scores : (..., k), -inf for actions that are not available
    progress : what the confidence width depended on
    """

    action: Index
    view: Any
    estimate: Estimate
    scores: Array
    progress: Progress


def choose(
    model: Model,
    learner: Learner,
    policy: Policy,
    beliefs: Beliefs,
    t: int,
    samples: Samples,
    rng: Generators,
    available: Mask | None = None,
    waiting: Sequence[Any] = (),
    share: float = 1.0,
) -> Choice:
    """Decide round t under a belief, or that of each trial in lock-step.

    waiting : the evidence of decisions whose rewards are still to come, of which a `share` is expected to come
    """
    view = model.view(learner, beliefs, draws(samples, t), rng)
    if waiting and not policy.random:
        learner = learner.awaiting(waiting, share)
    outlook = Outlook(learner, view, available)
    mean = outlook.mean
    progress = Progress(t, learner.log_det, model.theory_ridge, mean.shape[-1])
    if mean.ndim == 1 or policy.lockstep:
        scores = _checked(policy.scores(outlook, progress, rng), mean.shape)
    else:
        scores = _trial_by_trial(policy, learner, view, outlook.estimate, progress, rng)
    if available is not None:
        scores = np.where(available, scores, -np.inf)
    return Choice(highest(scores), view, outlook.estimate, scores, progress)


def draws(samples: Samples, t: int) -> int | None:
    """Return how many draws of the belief round t takes; None for the exact expectation."""
    return t if samples == "t" else samples


def start(model: Model, policy: Policy, actions: Array, context_dim: int, trials: int) -> Learner:
    """Return a learner for trials in lock-step; one per trial if the policy asks trial by trial."""
    if policy.lockstep:
        return model.start_all(actions, context_dim, trials)
    return LearnerStack.of(model, actions, context_dim, trials)


def _trial_by_trial(
    policy: Policy, learner: Learner, view: Any, estimate: Estimate, progress: Progress, rng: Generators
) -> Array:
    assert isinstance(learner, LearnerStack)
    assert isinstance(rng, Sequence)
    each = zip(learner.learners, view, estimate.mean, estimate.width, rng, strict=True)
    found = []
    for own, seen, mean, width, generator in each:
        outlook = Outlook(own, seen, None, Estimate(mean, width))
        scores = policy.scores(outlook, progress._replace(log_det=own.log_det), generator)
        found.append(_checked(scores, mean.shape))
    return np.stack(found)


def _checked(scores: Array, shape: tuple[int, ...]) -> Array:
    """Return the scores if they are numbers in an array of this shape."""
    if getattr(scores, "shape", None) != shape or scores.dtype.kind not in "fiu":
        raise ValueError(f"Policy: scores must be an array of shape {shape} of numbers, got {_check.short(scores)}")
    return scores


def highest(scores: Array) -> Index:
    """Return the index of the highest score along the last axis, the lowest of those that tie up to rounding."""
    if scores.ndim == 1:
        best = float(scores[scores.argmax()])  # NaN where there is one
        if math.isfinite(best):
            return int((scores >= best - TIE * abs(best)).argmax())
    else:
        top = scores.max(axis=-1, keepdims=True)
        if math.isfinite(top.sum()) or np.isfinite(top).all():
            return np.asarray((scores >= top - TIE * np.abs(top)).argmax(axis=-1))
        best = float(top[~np.isfinite(top)][0])
    raise ValueError(f"Policy: the highest score must be finite, got {best}; scale the contexts")


def check_samples(owner: str, samples: Any) -> Samples:
    """Return `samples` if it is None, a whole number or "t"."""
    if samples is None:
        return None
    if isinstance(samples, str):
        if samples == "t":
            return "t"
        raise ValueError(f'{owner}: samples must be None, a whole number or "t", got {samples!r}')
    return _check.integer(owner, "samples", samples, at_least=1)


def check_pair(owner: str, model: Any, policy: Any) -> None:
    """Raise unless these are a model and a policy that go together."""
    if not isinstance(model, Model):
        raise TypeError(f"{owner}: model must be a model such as LinearModel(features), got {_check.short(model)}")
    if not isinstance(policy, Policy):
        raise TypeError(f"{owner}: policy must be a policy such as UCB(beta), got {_check.short(policy)}")
    if policy.confidence is not None and model.theory_ridge is None:
        raise ValueError(
            f"{owner}: the paper's confidence width {type(policy.confidence).__name__} must go with KernelModel with "
            f"a ridge, or with LinearModel with a ridge and no other number, got {model!r:.80}; take a policy such as "
            "UCB()"
        )
