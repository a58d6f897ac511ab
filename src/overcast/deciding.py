"""Decisions: how one is made, and what a bandit remembers of it."""

from __future__ import annotations

import time
from typing import NamedTuple

from overcast._memory import Memory
from overcast._random import Stream
from overcast.beliefs import Belief
from overcast.decision import Decision, Ranking
from overcast.history import summary
from overcast.models.base import LastingLearner, Mask
from overcast.reading import begun, corrected, learner_for, threads_for
from overcast.round import choose, draws
from overcast.tickets import Waiting
from overcast.usual import known_mean


class Made(NamedTuple):
    """A decision, and what it was made with.

    given : the forecast as it came
    belief : the one that was decided by
    waiting : what will be learnt from
    """

    decision: Decision
    given: Belief
    belief: Belief
    learner: LastingLearner
    waiting: Waiting


def decided(memory: Memory, given: Belief, mask: Mask | None, ticket: str, stream: Stream) -> Made:
    """Decide under a belief whose dimensions are in order; nothing changes."""
    belief, stated, move = corrected(memory, given)
    model, policy, samples, t = memory.model, memory.policy, memory.samples, memory.tickets.made + 1
    learner = learner_for(memory, belief)
    waiting, share = memory.tickets.awaited()
    with threads_for(learner):
        choice = choose(model, learner, policy, belief, t, samples, stream, mask, waiting, share)
        index = int(choice.action)
        evidence = learner.evidence(choice.view, index)
    ranking = Ranking(memory.actions, choice.estimate, choice.scores, policy)
    seed, drawn = (stream.key, stream.number(t), choice.repetition), draws(samples, t)
    out = Decision(ticket, time.time(), given, move, mask, ranking, index, choice.probability, seed, drawn, t)
    return Made(out, given, belief, learner, Waiting(index, t, evidence, stated))


def counted(memory: Memory, made: Made) -> Memory:
    """Return what a bandit remembers once a decision is made, but for its ticket; if something fails, nothing changes.

    The tally of forecasts and the history change in place, in the last steps.
    """
    decision, given, belief, learner, waiting = made
    mean, kept = known_mean(belief), None if memory.journal is None else summary(belief)
    out = begun(memory, learner, given)
    if mean is not None:
        memory.tally.add(mean)
    if memory.journal is not None and kept is not None:
        memory.journal.decided(decision, waiting.action, waiting.round, kept)
    return out
