"""Decide: choose an action, record a decision, adopt one that was made elsewhere."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from overcast import _check
from overcast._random import Stream, drawn_by
from overcast.bandit.forecast import check_dim, correct, in_order
from overcast.bandit.pending import OpenDecision
from overcast.bandit.state import State
from overcast.beliefs import Belief
from overcast.decisions.climatology import known_mean
from overcast.decisions.history import summary
from overcast.decisions.record import Decision, Ranking
from overcast.models.base import LastingLearner, Mask
from overcast.round import Question, answer, draws
from overcast.spaces import Actions


class Proposal(NamedTuple):
    """A decision that is not recorded yet.

    given : the forecast as it came, its dimensions in order
    belief : the one that was decided by
    learner, points : that decided; fresh ones before the first decision
    waiting : what will be learnt from
    """

    decision: Decision
    given: Belief
    belief: Belief
    learner: LastingLearner
    points: Any
    waiting: OpenDecision


def ask(state: State, points: Any, belief: Belief, mask: Mask | None, t: int) -> Question:
    """Return the question of decision t under a belief, corrected and with dimensions in order."""
    waiting, share = state.pending.awaited(before=t)
    search = None if isinstance(state.actions, Actions) else state.actions
    return Question(belief, points, t, draws(state.samples, t), mask, state.objective, waiting, share, search)


def propose(state: State, given: Belief, mask: Mask | None, ticket: str, stream: Stream) -> Proposal:
    """Choose an action under a belief whose dimensions are in order; the state stays as it is."""
    belief, stated, move = correct(state, given)
    check_dim(state, belief)
    t = state.pending.made + 1
    learner, points = state.start(belief.dim)
    question = ask(state, points, belief, mask, t)
    with state.threads():
        chosen = answer(question, state.model, learner, state.policy, stream)
        place, vector = int(chosen.action), chosen.vector
        evidence = learner.evidence(chosen.points, chosen.view, place)
    ranking = Ranking(state.actions, chosen.estimate, chosen.values, chosen.scores, state.policy, vector)
    drawn = (stream.key, stream.number(t), chosen.repetition), question.samples
    out = Decision(ticket, time.time(), given, move, mask, ranking, place, chosen.probability, *drawn, t)
    waiting = OpenDecision(place if vector is None else None, t, evidence, stated, vector)
    return Proposal(out, given, belief, learner, points, waiting)


def record_decision(state: State, proposal: Proposal) -> None:
    """Update climatology, history and what follows from the first decision; if something fails, nothing changes.

    The pending decisions are left to the caller.
    """
    decision, given, belief, learner, points, waiting = proposal
    mean, kept = known_mean(belief), None if state.journal is None else summary(belief)
    if state.learner is None:
        state.begin(learner, points, given.dim)
    if state.context is None and given.names:
        state.context = given.names
    if mean is not None:
        state.climatology.add(mean)
    if state.journal is not None and kept is not None:
        assert waiting.action is not None
        state.journal.record_decision(decision, waiting.action, waiting.round, kept)


def adopt(state: State, decision: Any) -> Proposal:
    """Rebuild the evidence of a decision that was made elsewhere from its record; the state stays as it is."""
    if not isinstance(decision, Decision):
        raise TypeError(f"Bandit: decision must be a Decision, got {_check.short(decision)}")
    if decision.id in state.pending.open:
        raise ValueError(f"Bandit: decision must not be open already, got {_check.short(decision.id)}")
    index, vector = state.actions.locate_recorded(decision.index, decision.action)
    moved = decision.belief if decision.move is None else decision.belief.moved(*decision.move)
    given, belief = in_order(state, decision.belief), in_order(state, moved)
    check_dim(state, given)
    stated = None if state.recalibrated is None else given.stated_error()
    (learner, points), samples = state.start(belief.dim), decision.samples
    with state.threads():
        rng = None if samples is None else drawn_by(decision.seed)
        view = state.model.view(learner, belief, samples, rng)
        points_taken, i = state.row(learner, points, index, vector)
        evidence = learner.as_decided(learner.evidence(points_taken, view, i), decision.mean)
    waiting = OpenDecision(index, state.pending.made + 1, evidence, stated, vector)
    return Proposal(decision, given, belief, learner, points, waiting)
