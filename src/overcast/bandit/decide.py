"""Decide: choose an action, record a decision, adopt one that was made elsewhere."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from overcast import _check
from overcast._random import Stream, drawn_by
from overcast.actions import Actions
from overcast.bandit.forecast import check_dim, correct, in_order
from overcast.bandit.pending import OpenDecision
from overcast.bandit.state import State, padded
from overcast.beliefs import Belief, PointMass
from overcast.decisions.climatology import known_mean
from overcast.decisions.history import summary
from overcast.decisions.record import Decision, Ranking
from overcast.models.base import LastingLearner, Mask
from overcast.round import Samples, choose, draws

#: number of the decision, draws, random numbers, available actions, evidence of open decisions, and their share
Turn = tuple[int, Samples, Stream, Mask | None, list[Any], float]


class Proposal(NamedTuple):
    """A decision that is not recorded yet.

    given : the forecast as it came, its dimensions in order
    belief : the one that was decided by
    learner, points : that decided; fresh ones before the first decision
    waiting : what will be learnt from
    turn : what `choose` took beside the belief, to choose alike under another one; None if it came from a record
    """

    decision: Decision
    given: Belief
    belief: Belief
    learner: LastingLearner
    points: Any
    waiting: OpenDecision
    turn: Turn | None = None


def propose(state: State, given: Belief, mask: Mask | None, ticket: str, stream: Stream) -> Proposal:
    """Choose an action under a belief whose dimensions are in order; the state stays as it is."""
    belief, stated, move = correct(state, given)
    check_dim(state, belief)
    policy, samples, t = state.policy, state.samples, state.pending.made + 1
    learner, points = state.start(belief.dim)
    waiting, share = state.pending.awaited()
    turn = t, samples, stream, mask, waiting, share
    with state.threads():
        choice = choose(state.model, learner, policy, points, belief, *turn)
        index = int(choice.action)
        evidence = learner.evidence(points, choice.view, index)
    ranking = Ranking(state.actions, choice.estimate, choice.scores, policy)
    seed, drawn = (stream.key, stream.number(t), choice.repetition), draws(samples, t)
    out = Decision(ticket, time.time(), given, move, mask, ranking, index, choice.probability, seed, drawn, t)
    return Proposal(out, given, belief, learner, points, OpenDecision(index, t, evidence, stated), turn)


def record_decision(state: State, proposal: Proposal) -> None:
    """Update climatology, history and what follows from the first decision; if something fails, nothing changes.

    The pending decisions are left to the caller.
    """
    decision, given, belief, learner, points, waiting, _ = proposal
    mean, kept = known_mean(belief), None if state.journal is None else summary(belief)
    if state.learner is None:
        state.begin(learner, points, given.dim)
    if state.context is None and given.names:
        state.context = given.names
    if mean is not None:
        state.climatology.add(mean)
    if state.journal is not None and kept is not None:
        state.journal.record_decision(decision, waiting.action, waiting.round, kept)


def choice_at_mean(state: State, decision: Decision, bandit: Any) -> int:
    """Choose for the mean of the forecast of a proposal, as corrected and taken for certain, with the same draws.

    Raise ValueError if the forecast has no mean, if nothing can be chosen for it, or unless the bandit proposed the
    decision and is as it was then.
    """
    basis = decision.basis_of(bandit)
    if basis is None:
        raise ValueError("Bandit: decision must be one that it just proposed, got another one")
    proposal = Proposal(decision, *basis)
    assert proposal.turn is not None
    if proposal.belief.certain:
        return decision.index  # what was decided for
    with state.threads():
        mean = PointMass(proposal.belief.mean())
        choice = choose(state.model, proposal.learner, state.policy, proposal.points, mean, *proposal.turn)
    return int(choice.action)


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
    item = decision.index if state.actions.names is None else decision.action
    index = state.actions.find("decision", item)
    if state.actions.names is None and not _has_vector(state.actions, index, decision.action):
        got = f"{_check.short(decision.action)} for index {index}"
        raise ValueError(f"Bandit: decision must be about one of the bandit's own actions, got {got}")
    moved = decision.belief if decision.move is None else decision.belief.moved(*decision.move)
    given, belief = in_order(state, decision.belief), in_order(state, moved)
    check_dim(state, given)
    stated = None if state.recalibrated is None else given.stated_error()
    (learner, points), samples = state.start(belief.dim), decision.samples
    with state.threads():
        rng = None if samples is None else drawn_by(decision.seed)
        view = state.model.view(learner, belief, samples, rng)
        evidence = learner.as_decided(learner.evidence(points, view, index), decision.mean)
    waiting = OpenDecision(index, t, evidence, stated)
    return Proposal(decision, given, belief, learner, points, waiting)


def _has_vector(actions: Actions, index: int, action: Any) -> bool:
    """Return whether an action without a name has this vector; those from before may be shorter."""
    own = np.asarray(actions.coordinates[index])
    short = np.ndim(action) == 1 and len(action) <= len(own)
    return short and np.array_equal(padded(np.asarray(action, dtype=float)[None], len(own))[0], own)
