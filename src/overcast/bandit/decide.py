"""Decide: choose an action, record a decision, adopt one that was made elsewhere."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from overcast import _check
from overcast._random import Stream, drawn_by
from overcast.bandit.forecast import check_dim, correct, in_order
from overcast.bandit.pending import OpenDecision
from overcast.bandit.state import State
from overcast.beliefs import Belief, PointMass
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
    question, stream : what was asked, and the random numbers it was answered with, to ask alike about another belief;
        None if the decision came from a record
    """

    decision: Decision
    given: Belief
    belief: Belief
    learner: LastingLearner
    points: Any
    waiting: OpenDecision
    question: Question | None = None
    stream: Stream | None = None


def ask(state: State, points: Any, belief: Belief, mask: Mask | None, t: int, before: int | None = None) -> Question:
    """Return the question of decision t under a belief, corrected and with dimensions in order.

    before : number of a decision, to leave out it and later ones from those that wait for rewards; None for all
    """
    waiting, share = state.pending.awaited(before)
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
    return Proposal(out, given, belief, learner, points, waiting, question, stream)


def record_decision(state: State, proposal: Proposal) -> None:
    """Update climatology, history and what follows from the first decision; if something fails, nothing changes.

    The pending decisions are left to the caller.
    """
    decision, given, belief, learner, points, waiting, *_ = proposal
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


def choice_at_mean(state: State, decision: Decision, bandit: Any) -> int:
    """Choose for the mean of the forecast of a proposal, as corrected and taken for certain, with the same draws.

    Return the index of the action. Raise ValueError if the forecast has no mean, if nothing can be chosen for it, or
    unless the bandit proposed the decision and is as it was then.
    """
    basis = decision.basis_of(bandit)
    if basis is None:
        raise ValueError("Bandit: decision must be one that it just proposed, got another one")
    proposal = Proposal(decision, *basis)
    assert proposal.question is not None
    assert proposal.stream is not None
    if proposal.belief.certain:
        return int(decision.index)  # what was decided for
    question = proposal.question._replace(beliefs=PointMass(proposal.belief.mean()))
    with state.threads():
        return int(answer(question, state.model, proposal.learner, state.policy, proposal.stream).action)


def adopt(state: State, decision: Any, bandit: Any = None) -> Proposal:
    """Rebuild the evidence of a decision that was made elsewhere from its record; the state stays as it is.

    bandit : whose state it is; what it proposed itself, and is as it was then, needs no rebuilding
    """
    if not isinstance(decision, Decision):
        raise TypeError(f"Bandit: decision must be a Decision, got {_check.short(decision)}")
    if decision.id in state.pending.open:
        raise ValueError(f"Bandit: decision must not be open already, got {_check.short(decision.id)}")
    t, basis = state.pending.made + 1, decision.basis_of(bandit)
    if basis is not None:
        proposal = Proposal(decision, *basis)
        known = state.learner is None or state.learner is proposal.learner
        if known and in_order(state, proposal.given) is proposal.given:  # names of dimensions may have come since
            return proposal._replace(waiting=proposal.waiting._replace(round=t))
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
    waiting = OpenDecision(index, t, evidence, stated, vector)
    return Proposal(decision, given, belief, learner, points, waiting)
