"""One decision round, for a bandit and for simulated trials alike: question, view, outlook, scores, answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from overcast import _check, _guesses
from overcast._check import Array
from overcast._random import BELIEF, Stream
from overcast.beliefs.base import Beliefs
from overcast.beliefs.stacked import PointStack
from overcast.features.design import Index
from overcast.models.base import Estimate, Learner, Mask, Model, Progress
from overcast.models.stack import LearnerStack
from overcast.objectives import Mean, Objective
from overcast.policies.base import Policy, highest
from overcast.policies.outlook import Outlook, Prospects
from overcast.spaces import Space

Samples = int | Literal["t"] | None


MEAN = Mean()


class Question(NamedTuple):
    """A decision to make: under which belief, among which actions, to what end.

    beliefs : what is known about the context; in lock-step one belief for each trial
    points : the candidates, as `Learner.at` returns them
    round : t, counting from 1; the draws of the round follow from it and the streams alone
    samples : L, the number of draws of the belief; None for the exact expectation
    available : (k,) which candidates may be taken; None for all
    objective : what is maximised
    waiting, share : the evidence of decisions whose rewards are still to come, and the share of them expected to come
    search : the space to search from the best candidate on; None if the candidates are all actions
    """

    beliefs: Beliefs
    points: Any
    round: int
    samples: int | None = None
    available: Mask | None = None
    objective: Objective = MEAN
    waiting: Sequence[Any] = ()
    share: float = 1.0
    search: Space | None = None


class Answer(NamedTuple):
    """The action that was chosen, and what the choice rests on.

    action : its index among the points; (r,) in lock-step
    points : the candidates; and after them the action that a search found
    view : what the learner saw, to make evidence of
    estimate : mean and width of the expected reward of each point, (..., k)
    values : what the objective makes of the means, (..., k)
    scores : (..., k), -inf for actions that are not available
    progress : what the confidence width depended on
    probability : with which the action was taken; None if it is not known, or in lock-step
    repetition : which of several answers was taken
    vector : (a,) of the action in a space that was searched; None otherwise
    """

    action: Index
    points: Any
    view: Any
    estimate: Estimate
    values: Array
    scores: Array
    progress: Progress
    probability: float | None = None
    repetition: int = 0
    vector: Array | None = None


def answer(
    question: Question, model: Model, learner: Learner, policy: Policy, streams: Stream | Sequence[Stream]
) -> Answer:
    """Decide a round, for one bandit or for each trial.

    streams : of random numbers; one, or one for each trial
    """
    if not isinstance(streams, Stream) and not policy.lockstep:
        assert isinstance(learner, LearnerStack)
        each = zip(learner.learners, question.points, question.beliefs.singles(), streams, strict=True)
        return _together(
            [
                answer(
                    question._replace(beliefs=belief, points=points, waiting=[one[i] for one in question.waiting]),
                    *(model, trial, policy, stream),
                )
                for i, (trial, points, belief, stream) in enumerate(each)
            ]
        )
    turn = _Turn(question, model, learner, policy, streams)
    pick = policy.choose(turn)
    action, scores, probability, _, repetition = pick
    outlook, points, vector = turn.outlook(repetition), question.points, None
    if question.search is not None:
        points, outlook, vector = turn.found(int(action), outlook)
    estimate, progress = outlook.estimate, turn.progress
    return Answer(action, points, turn.view, estimate, outlook.mean, scores, progress, probability, repetition, vector)


def revealed_evidence(model: Model, learner: Learner, points: Any, index: Index, contexts: Beliefs) -> Any:
    """Return the evidence of a round whose context was revealed (Algorithm 2), for one bandit or for each trial.

    contexts : what is known of the contexts now, as beliefs
    """
    return learner.evidence(points, model.view(learner, contexts), index)


class _Turn:
    """A question as a policy sees it (`policies.turn`). It keeps the latest view of the belief, and its outlook."""

    __slots__ = (
        *("_asked", "_best", "_learner", "_model", "_outlook", "_prospects", "_question", "_repetition", "_streams"),
        *("exact", "progress", "searched", "view"),
    )

    def __init__(
        self, question: Question, model: Model, learner: Learner, policy: Policy, streams: Stream | Sequence[Stream]
    ) -> None:
        self._question, self._model, self._learner, self._streams = question, model, learner, streams
        waiting = question.waiting
        self._asked = learner.awaiting(waiting, question.share) if waiting and not policy.random else learner
        self.exact, self.searched = question.samples is None, question.search is not None
        self._best: tuple[Any, Outlook, Array] | None = None  # what `refine` found
        self._look(0)
        self.progress = Progress(question.round, self._asked.log_det, model.theory_ridge, self._outlook.mean.shape[-1])

    def _look(self, repetition: int) -> None:
        """View the belief, exactly or from its draws for a repetition, and ask about the candidates."""
        question = self._question
        rng = None if self.exact else self.rng(BELIEF, repetition)
        self.view = self._model.view(self._learner, question.beliefs, question.samples, rng)
        self._repetition = repetition
        # A class of the user may derive from `Mean`, and is then asked.
        self._prospects = None if type(question.objective) is Mean else self._look_ahead(question.objective)
        self._outlook = self._outlook_at(question.points, question.available)

    def _outlook_at(self, points: Any, available: Mask | None = None) -> Outlook:
        return Outlook(self._asked, points, self.view, available, None, self._prospects)

    def _look_ahead(self, objective: Objective) -> Prospects:
        """View the contexts that the belief allows: its support, or draws in its place; L of them with samples."""
        (belief,), samples = self._question.beliefs.singles(), self._question.samples
        if samples is None:
            contexts, weights = belief.stand_in()
        else:
            contexts = belief.sample(samples, self.rng(BELIEF, self._repetition))
            weights = np.full(samples, 1.0 / samples)
        return Prospects(objective, self._model.view(self._learner, PointStack(contexts)), weights)

    def outlook(self, repetition: int = 0) -> Outlook:
        if not self.exact and repetition != self._repetition:
            self._look(repetition)
        return self._outlook

    def refine(
        self, index: int, scores: Callable[[Outlook, Progress, Any], Array], kind: int | None, repetition: int = 0
    ) -> tuple[int, Array]:
        space = self._question.search
        assert space is not None
        self.outlook(repetition)
        candidates = np.asarray(space.candidates)
        k, dim = candidates.shape

        def checked(vectors: Any, shape: tuple[int | str, ...]) -> Array:
            return _check.array(type(space).__name__, "actions of refine", vectors, shape)

        def ask(vectors: Array) -> tuple[Any, Outlook, Array]:
            # Beside the candidates, so that scores which compare actions, and joint draws, are those of one question.
            points = self._learner.at(np.concatenate([candidates, vectors]))
            outlook = self._outlook_at(points)
            rng = None if kind is None else self.rng(kind, repetition)
            return points, outlook, scores(outlook, self.progress, rng)

        best = space.refine(candidates[index].copy(), lambda vectors: ask(checked(vectors, ("n", dim)))[2][k:])
        best = checked(best, (dim,))
        points, outlook, scored = ask(best[None])
        if (candidates == best).all(axis=-1).any() or scored[k] < scored[:k].max():
            return int(highest(scored[:k])), scored[:k]  # no better action than a candidate
        self._best = points, outlook, best
        return k, scored

    def found(self, index: int, outlook: Outlook) -> tuple[Any, Outlook, Array]:
        """Return the points, the outlook and the vector (a,) of what was picked from a space that is searched."""
        space = self._question.search
        assert space is not None
        vectors, points = np.asarray(space.candidates), self._question.points
        if self._best is not None:
            points, outlook, best = self._best
            vectors = np.concatenate([vectors, best[None]])
        return points, outlook, _check.read_only(np.array(vectors[index]))

    def rng(self, kind: int, repetition: int = 0) -> Any:
        return _generators(self._streams, self._question.round, repetition, kind)


def _generators(streams: Stream | Sequence[Stream], t: int, repetition: int, kind: int) -> Any:
    if isinstance(streams, Stream):
        return streams.at(t, repetition, kind)
    return [stream.at(t, repetition, kind) for stream in streams]


def _together(answers: Sequence[Answer]) -> Answer:
    """Return the answers of single trials as those of trials in lock-step."""
    means, widths = zip(*(one.estimate for one in answers), strict=True)
    return Answer(
        np.array([one.action for one in answers]),
        [one.points for one in answers],
        [one.view for one in answers],
        Estimate(np.stack(means), np.stack(widths)),
        np.stack([one.values for one in answers]),
        np.stack([one.scores for one in answers]),
        answers[0].progress._replace(log_det=np.array([one.progress.log_det for one in answers])),
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
