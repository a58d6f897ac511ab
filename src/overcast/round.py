"""One decision round, for a bandit and for simulated trials alike: view, outlook, scores, choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from overcast import _check, _guesses
from overcast._check import Array
from overcast._random import BELIEF, POLICY, UNIFORM, Stream
from overcast.beliefs.base import Beliefs
from overcast.features.design import Index
from overcast.models.base import Estimate, Learner, Mask, Model, Progress
from overcast.models.stack import LearnerStack
from overcast.policies.base import Policy, highest
from overcast.policies.outlook import Outlook

Samples = int | Literal["t"] | None


class Choice(NamedTuple):
    """What a round decided.

    action : the index of the action taken; (r,) in lock-step
    view : what the learner saw, to make evidence of
    estimate : mean and width of all actions, (..., k)
    scores : (..., k), -inf for actions that are not available
    progress : what the confidence width depended on
    probability : with which the action was taken; None if it is not known, or in lock-step
    repetition : which of several answers was taken
    """

    action: Index
    view: Any
    estimate: Estimate
    scores: Array
    progress: Progress
    probability: float | None = None
    repetition: int = 0


def choose(
    model: Model,
    learner: Learner,
    policy: Policy,
    points: Any,
    beliefs: Beliefs,
    t: int,
    samples: Samples,
    streams: Stream | Sequence[Stream],
    available: Mask | None = None,
    waiting: Sequence[Any] = (),
    share: float = 1.0,
) -> Choice:
    """Decide round t under a belief, or that of each trial in lock-step.

    points : the actions to choose from, as `Learner.at` returns them
    streams : of random numbers; one, or one for each trial. The draws depend on nothing else but t
    waiting : the evidence of decisions whose rewards are still to come, of which a `share` is expected to come
    """
    if not isinstance(streams, Stream) and not policy.lockstep:
        assert isinstance(learner, LearnerStack)
        rounds = zip(learner.learners, points, beliefs.singles(), streams, strict=True)
        return _together(
            [
                choose(
                    model, own, policy, at, belief, t, samples, stream, available, [one[i] for one in waiting], share
                )
                for i, (own, at, belief, stream) in enumerate(rounds)
            ]
        )
    asked = learner.awaiting(waiting, share) if waiting and not policy.random else learner
    if policy.repeats == 1:
        view = _view(model, learner, beliefs, t, samples, streams, 0)
        outlook = Outlook(asked, points, view, available)
        choice = _answer(model, asked, policy, view, outlook, t, samples, streams, 0)
        if not policy.uniform:
            return choice

        def chance(index: int) -> float | None:
            if choice.probability is None or index == choice.action:
                return choice.probability
            return policy.probability(outlook, choice.progress, index) if policy.random else 0.0

        return _mixed(choice, policy.uniform, t, streams, available, chance)
    assert isinstance(streams, Stream)
    known = None  # nothing but the scores differs between the answers, unless the belief is drawn from

    def answer(repetition: int) -> Choice:
        nonlocal known
        if known is None or samples is not None:
            view = _view(model, learner, beliefs, t, samples, streams, repetition)
            known = view, Outlook(asked, points, view, available)
        return _answer(model, asked, policy, *known, t, samples, streams, repetition)

    actions = [answer(j).action for j in range(policy.repeats)]
    taken = int(streams.at(t, policy.repeats, POLICY).random() * policy.repeats)
    choice = answer(taken)._replace(probability=actions.count(actions[taken]) / policy.repeats)
    if not policy.uniform:
        return choice
    return _mixed(choice, policy.uniform, t, streams, available, lambda index: actions.count(index) / policy.repeats)


def _mixed(
    choice: Choice,
    share: float,
    t: int,
    streams: Any,
    available: Mask | None,
    chance: Callable[[int], float | None],
) -> Choice:
    """Return the choice, or with probability `share` any available action; `chance` is the choice's own law."""
    assert isinstance(streams, Stream)
    found = np.arange(choice.scores.shape[-1]) if available is None else np.flatnonzero(available)
    rng = streams.at(t, 0, UNIFORM)
    action = int(found[rng.integers(len(found))]) if rng.random() < share else int(choice.action)
    own = chance(action)
    probability = None if own is None else share / len(found) + (1.0 - share) * own
    return choice._replace(action=action, probability=probability)


def _view(
    model: Model, learner: Learner, beliefs: Beliefs, t: int, samples: Samples, streams: Any, repetition: int
) -> Any:
    """Return the view of a belief, exactly or from its draws for a repetition."""
    if samples is None:
        return model.view(learner, beliefs)
    return model.view(learner, beliefs, draws(samples, t), _generators(streams, t, repetition, BELIEF))


def _answer(
    model: Model,
    learner: Learner,
    policy: Policy,
    view: Any,
    outlook: Outlook,
    t: int,
    samples: Samples,
    streams: Any,
    repetition: int,
) -> Choice:
    """Return the choice that the policy's draws for a repetition lead to."""
    mean, available = outlook.mean, outlook.available
    progress = Progress(t, learner.log_det, model.theory_ridge, mean.shape[-1])
    rng = _generators(streams, t, repetition, POLICY) if policy.random else None
    scores = _checked(policy.scores(outlook, progress, rng), mean.shape)
    if available is not None:
        scores = np.where(available, scores, -np.inf)
    action, probability = highest(scores), None
    if samples is None and isinstance(action, int):
        probability = policy.probability(outlook, progress, action) if policy.random else 1.0
    return Choice(action, view, outlook.estimate, scores, progress, probability, repetition)


def _generators(streams: Stream | Sequence[Stream], t: int, repetition: int, kind: int) -> Any:
    if isinstance(streams, Stream):
        return streams.at(t, repetition, kind)
    return [stream.at(t, repetition, kind) for stream in streams]


def _together(choices: Sequence[Choice]) -> Choice:
    """Return the choices of single trials as those of trials in lock-step."""
    means, widths = zip(*(choice.estimate for choice in choices), strict=True)
    return Choice(
        np.array([choice.action for choice in choices]),
        [choice.view for choice in choices],
        Estimate(np.stack(means), np.stack(widths)),
        np.stack([choice.scores for choice in choices]),
        choices[0].progress._replace(log_det=np.array([choice.progress.log_det for choice in choices])),
    )


def draws(samples: Samples, t: int) -> int | None:
    """Return how many draws of the belief round t takes, up to `MAX_SAMPLES`; None for the exact expectation."""
    return min(t, _check.MAX_SAMPLES) if samples == "t" else samples


def start(model: Model, policy: Policy, reference: Array, context_dim: int, trials: int) -> Learner:
    """Return a learner for trials in lock-step; one per trial if the policy asks trial by trial."""
    if policy.lockstep:
        return model.start_all(reference, context_dim, trials)
    return LearnerStack.of(model, reference, context_dim, trials)


def _checked(scores: Array, shape: tuple[int, ...]) -> Array:
    """Return the scores if they are numbers in an array of this shape."""
    if getattr(scores, "shape", None) != shape or scores.dtype.kind not in "fiu":
        raise ValueError(f"Policy: scores must be an array of shape {shape} of numbers, got {_check.short(scores)}")
    return scores


def check_samples(owner: str, samples: Any) -> Samples:
    """Return `samples` if it is None, a whole number or "t"."""
    if samples is None:
        return None
    if isinstance(samples, str):
        if samples == "t":
            return "t"
        raise ValueError(f'{owner}: samples must be None, a whole number or "t", got {samples!r}')
    return _check.samples(owner, samples)


def check_pair(owner: str, model: Any, policy: Any) -> None:
    """Raise unless these are a model and a policy that go together."""
    for name, value, base in (("model", model, Model), ("policy", policy, Policy)):
        if isinstance(value, type) and issubclass(value, base):
            write = f"write {_guesses.instance(value)}"
            raise TypeError(f"{owner}: {name} must be an instance, got the class {value.__name__}; {write}")
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
