"""One decision round, for a bandit and for simulated trials alike: view, outlook, scores, choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from overcast import _check, _guesses
from overcast._check import Array
from overcast._random import BELIEF, Stream
from overcast.beliefs.base import Beliefs
from overcast.features.design import Index
from overcast.models.base import Estimate, Learner, Mask, Model, Progress
from overcast.models.stack import LearnerStack
from overcast.policies.base import Policy
from overcast.policies.outlook import Outlook

Samples = int | Literal["t"] | None


class Choice(NamedTuple):
    """The result of a round.

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
    turn = _Turn(model, learner, asked, points, beliefs, t, samples, streams, available)
    pick = policy.choose(turn)
    _, view, outlook = turn.seen(pick.repetition)
    return Choice(pick.action, view, outlook.estimate, pick.scores, turn.progress, pick.probability, pick.repetition)


class _Turn:
    """One decision to make, as a policy sees it (`policies.turn`).

    learner : that views beliefs
    asked : the learner that answers, for which decisions whose rewards are still to come count
    """

    __slots__ = (
        *("_asked", "_available", "_beliefs", "_draws", "_learner", "_model", "_points", "_seen", "_streams", "_t"),
        *("exact", "progress"),
    )

    def __init__(
        self,
        model: Model,
        learner: Learner,
        asked: Learner,
        points: Any,
        beliefs: Beliefs,
        t: int,
        samples: Samples,
        streams: Stream | Sequence[Stream],
        available: Mask | None,
    ) -> None:
        self._model, self._learner, self._asked, self._points = model, learner, asked, points
        self._beliefs, self._t, self._streams, self._available = beliefs, t, streams, available
        self._draws, self.exact = draws(samples, t), samples is None
        self._seen = self._see(0)
        self.progress = Progress(t, asked.log_det, model.theory_ridge, self._seen[2].mean.shape[-1])

    def _see(self, repetition: int) -> tuple[int, Any, Outlook]:
        """View the belief, exactly or from its draws for a repetition, and ask about the points."""
        rng = None if self.exact else self.rng(BELIEF, repetition)
        view = self._model.view(self._learner, self._beliefs, self._draws, rng)
        return repetition, view, Outlook(self._asked, self._points, view, self._available)

    def seen(self, repetition: int) -> tuple[int, Any, Outlook]:
        """Return whose draws of the belief the view rests on, the view and the outlook; keep the latest ones."""
        if not self.exact and self._seen[0] != repetition:
            self._seen = self._see(repetition)
        return self._seen

    def outlook(self, repetition: int = 0) -> Outlook:
        return self.seen(repetition)[2]

    def rng(self, kind: int, repetition: int = 0) -> Any:
        return _generators(self._streams, self._t, repetition, kind)


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
